"""tacho cromwell serve: events of Cromwell, callers that prove who they are, and bad weather."""
import base64
import concurrent.futures
import http.client
import json
import signal
import socket
import subprocess
import time

from support import until
from cromwell_case import BATCH, COUNTS, GENOTYPE, PAPI, Cromwell, event, fixture


class Service(Cromwell):
    def start(self, *words, **env):
        self.service = self.spawn("cromwell", "serve", "--port", "0", "--address", "127.0.0.1", *words, env=self.use(**env))
        line = self.service.stderr.readline()
        while line and "listening" not in line:
            line = self.service.stderr.readline()
        self.port = int(line.rpartition(" ")[2])

    def post(self, body, headers=None, method="POST", path="/any/path"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=50)
        data = body if isinstance(body, (bytes, str)) else json.dumps(body)
        connection.request(method, path, data, {"Content-Type": "application/json", **(headers or {})})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def stop(self):
        self.service.send_signal(signal.SIGTERM)
        self.assertEqual(self.service.wait(20), 0)

    def test_events_of_every_kind_upload_once(self):
        self.start()
        self.assertEqual(self.post("", method="GET", path="/healthz")[0], 200)
        log = event(PAPI)
        message = {"attributes": {"eventType": "OBJECT_FINALIZE", "bucketId": "logs", "objectId": log["name"], "objectGeneration": "2"}, "messageId": "77"}
        storage = {"ce-specversion": "1.0", "ce-type": "google.cloud.storage.object.v1.finalized", "ce-source": "//s", "ce-id": "1", "ce-subject": "objects/" + log["name"]}
        envelopes = [
            ({"context": {"eventType": "google.storage.object.finalize"}, "data": log}, {}),
            (log, {}),
            ({**log, "generation": "3"}, storage),
            ({"specversion": "1.0", "type": "google.cloud.storage.object.v1.finalized", "source": "//s", "id": "1", "data": {**log, "generation": "4"}},
             {"Content-Type": "application/cloudevents+json"}),
            ({"message": message, "subscription": "s"}, {}),
            ({"message": {"data": base64.b64encode(json.dumps(event(PAPI, "5")).encode()).decode()}, "subscription": "s"}, {}),
            ({"message": message}, {**storage, "ce-type": "google.cloud.pubsub.topic.v1.messagePublished"}),
            ({"workflowId": PAPI, "state": "Succeeded"}, {}),
        ]
        for body, headers in envelopes:
            status, text = self.post(body, headers)
            self.assertEqual(status, 200, (body, text))
        asked = len(self.asked("/metadata"))
        self.assertEqual(self.post(envelopes[-1][0])[0], 200)
        self.assertEqual(len(self.asked("/metadata")), asked, "it was told of the end already")
        self.assertEqual(self.keys(), GENOTYPE)
        self.assertEqual(len(self.cloud.calls("/insertAll")), 1)
        self.assertEqual(self.cloud.table("metadata").repeated, 0)
        self.stop()
        self.clean()

    def test_nothing_to_do_and_malformed(self):
        self.start()
        for body in ({"bucket": "b", "name": "reads.bam"}, {"context": {"eventType": "google.storage.object.delete"}, "data": event(PAPI)},
                     {"workflowId": PAPI, "state": "Running"}):
            self.assertEqual(self.post(body)[0], 204, body)
        for body in ("", "{", "[]", "{}", {"message": 1, "subscription": "s"}, {"workflowId": "x", "state": "Succeeded"}):
            self.assertEqual(self.post(body)[0], 400, body)
        self.assertEqual(self.post("", method="GET")[0], 405)
        self.assertEqual(self.asked("/api/"), [])
        self.stop()

    def test_large_and_slow_bodies(self):
        self.start()
        try:
            status = self.post("x" * 10_000_000)[0]
        except (BrokenPipeError, ConnectionResetError):
            status = 413  # it did not even wait for the rest
        self.assertEqual(status, 413)
        slow = socket.create_connection(("127.0.0.1", self.port))
        slow.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Le")
        self.assertEqual(self.post("", method="GET", path="/healthz")[0], 200)
        slow.close()
        self.stop()

    def test_try_again_later(self):
        self.start()
        self.double.config["workflows"]["00000000-0000-4000-8000-000000000001"] = {**fixture("batch.json"), "status": "Running"}
        self.assertEqual(self.post(event("00000000-0000-4000-8000-000000000001"))[0], 503)
        self.assertEqual(self.post(event("00000000-0000-4000-8000-00000000ffff"))[0], 503)  # not known yet
        self.assertEqual(self.rows(), [])
        self.double.config["workflows"]["00000000-0000-4000-8000-000000000001"] = fixture("batch.json")
        self.assertEqual(self.post(event("00000000-0000-4000-8000-000000000001"))[0], 200)
        self.assertEqual(self.keys(), COUNTS)
        self.stop()

    def test_sizes_that_cannot_be_had_bring_the_event_back(self):
        self.fault({"status": 503}, "/storage/.*t.csv")
        self.start()
        self.assertEqual(self.post(event(BATCH))[0], 503)
        self.double.rules.replace([])
        self.assertEqual(self.post(event(BATCH))[0], 200)
        self.assertEqual(self.keys(), COUNTS)
        self.assertTrue(all(entry.get("value") for row in self.rows() for entry in row["inputs"] if entry["key"] == "table"))
        self.stop()
        self.clean()

    def test_the_same_workflow_at_once_is_uploaded_once(self):
        import concurrent.futures
        self.fault({"delay_s": 1}, "/api/.*")
        self.start()
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda i: self.post({"workflowId": PAPI, "state": "Failed", "n": i})[0], range(8)))
        self.assertEqual(answers, [200] * 8)
        self.assertEqual(self.keys(), GENOTYPE)
        self.assertEqual(self.cloud.table("metadata").repeated, 0)
        self.stop()

    def test_ends_on_term_whatever_hangs(self):
        self.fault({"delay_s": 30}, "/api/.*")
        self.start()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=50)
        connection.request("POST", "/", json.dumps(event(PAPI)))
        self.assertTrue(until(lambda: self.post("", method="GET", path="/healthz")[0] == 200))
        begun = time.monotonic()
        self.stop()
        self.assertLess(time.monotonic() - begun, 20)
        connection.close()

    def test_metadata_update_of_the_same_generation_is_skipped(self):
        self.start()
        update = {"context": {"eventType": "google.storage.object.metadataUpdate"}, "data": event(PAPI)}
        self.assertEqual(self.post(update)[0], 200)
        fetched = len(self.asked("/api/"))
        self.assertEqual(fetched, 1)
        self.assertEqual(self.post(update)[0], 200)
        self.assertEqual(len(self.asked("/api/")), fetched)
        self.stop()

    def test_shared_token(self):
        self.write("token", "let-me-in\n")
        self.start("--auth-token-file", self.path("token"))
        self.assertEqual(self.post(event(PAPI))[0], 401)
        self.assertEqual(self.post(event(PAPI), {"Authorization": "Bearer wrong"})[0], 401)
        self.assertEqual(self.asked("/api/"), [])
        self.assertEqual(self.post("", method="GET", path="/healthz")[0], 200)
        self.assertEqual(self.post(event(PAPI), {"Authorization": "Bearer let-me-in"})[0], 200)
        self.stop()
        self.assertNotIn("let-me-in", self.service.stderr.read())

    def identity(self, key, kid="k1", **claims):
        def part(data):
            return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
        now = int(time.time())
        text = part(json.dumps({"alg": "RS256", "kid": kid, "typ": "JWT"}).encode()) + "." + part(json.dumps(
            {"iss": "https://accounts.google.com", "aud": "https://me", "email": "push@p.iam", "email_verified": True, "iat": now, "exp": now + 600, **claims}).encode())
        signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", key], input=text.encode(), check=True, capture_output=True).stdout
        return {"Authorization": f"Bearer {text}.{part(signature)}"}

    def test_identity_tokens(self):
        for name in ("key", "other"):
            subprocess.run(["openssl", "genrsa", "-out", self.path(name), "2048"], check=True, capture_output=True)
        modulus = subprocess.run(["openssl", "rsa", "-noout", "-modulus", "-in", self.path("key")], check=True, capture_output=True, text=True).stdout
        number = bytes.fromhex(modulus.strip().partition("=")[2])
        self.double.config["jwks"] = {"keys": [{"kty": "RSA", "alg": "RS256", "kid": "k1", "e": "AQAB",
                                                "n": base64.urlsafe_b64encode(number).rstrip(b"=").decode()}]}
        self.start("--oidc-audience", "https://me", "--oidc-email", "push@p.iam", "--oidc-jwks", self.server.url + "/certs")
        key = self.path("key")
        for headers in ({}, {"Authorization": "Bearer x"}, {"Authorization": "Bearer a.b.c"}, self.identity(self.path("other")), self.identity(key, kid="k2"),
                        self.identity(key, aud="https://you"), self.identity(key, iss="https://evil"), self.identity(key, exp=1700000000)):
            self.assertEqual(self.post(event(PAPI), headers)[0], 401, headers)
        self.assertEqual(self.post(event(PAPI), self.identity(key, email="other@p.iam"))[0], 403)
        self.assertEqual(self.post(event(PAPI), self.identity(key, email_verified=False))[0], 403)
        self.assertEqual(self.asked("/api/"), [])
        self.assertEqual(self.post(event(PAPI), self.identity(key))[0], 200)
        self.assertEqual(self.keys(), GENOTYPE)
        self.assertEqual(len(self.asked("/certs")), 1)  # kept, also against unknown key ids
        self.stop()

    def test_keys_that_do_not_come_stall_nobody(self):
        subprocess.run(["openssl", "genrsa", "-out", self.path("key"), "2048"], check=True, capture_output=True)
        headers = self.identity(self.path("key"))
        self.write("token", "let-me-in\n")
        self.fault({"delay_s": 7}, "/certs")
        self.start("--oidc-audience", "https://me", "--oidc-email", "push@p.iam", "--oidc-jwks", self.server.url + "/certs", "--auth-token-file", self.path("token"))
        with concurrent.futures.ThreadPoolExecutor(60) as pool:
            strangers = [pool.submit(self.post, event(PAPI), headers) for _ in range(60)]
            self.assertTrue(until(lambda: self.asked("/certs")))
            # Before, these waited behind sixty fetches of ten seconds each.
            begun = time.monotonic()
            self.assertEqual(self.post("", method="GET", path="/healthz")[0], 200)
            self.assertEqual(self.post(event(PAPI), {"Authorization": "Bearer let-me-in"})[0], 200)
            self.assertLess(time.monotonic() - begun, 20)
            self.assertEqual({one.result()[0] for one in strangers}, {503})
        self.assertLessEqual(len(self.asked("/certs")), 3)
        self.stop()

    def test_one_odd_document_does_not_end_the_service(self):
        early, odd = "1970-01-01T00:00:00.123456+01:00", "00000000-0000-4000-8000-00000000000e"
        document = json.loads(json.dumps(fixture("batch.json")))
        document["id"] = odd
        document["start"] = document["end"] = early
        for calls in document["calls"].values():
            for call in calls:
                call["start"] = call["end"] = early
        self.double.config["workflows"][odd] = document
        self.start()
        for _ in range(2):
            self.assertEqual(self.post({"workflowId": odd, "state": "Succeeded"})[0], 200)
        for body in ('{"specversion":"1.0","type":"google.cloud.storage.object.v1.finalized","data":' + "[" * 100_000 + "]" * 100_000 + "}",
                     json.dumps({"message": {"data": base64.b64encode(b"[" * 100_000 + b"]" * 100_000).decode()}}), '{"a":' * 100_000):
            self.assertEqual(self.post(body)[0], 400, body[:60])
        self.assertEqual(self.post(event(PAPI))[0], 200)
        self.assertEqual(self.keys(), GENOTYPE)
        self.stop()

    def test_configuration(self):
        done = self.tacho("cromwell", "serve", "--oidc-audience", "https://me", env=self.use())
        self.assertEqual(done.rc, 2, done)
        self.assertIn("--oidc-email", done.err)
        for words, env in (([], {"CROMWELL_BASEURL": None}), ([], {"DATASET_ID": None}), (["--port", "x"], {}), ([], {"PORT": "99999"}), (["--oidc-email", "x"], {}),
                           (["extra"], {}), (["--auth-token-file", "/nowhere"], {}), (["--oidc-audience", "x", "--oidc-email", "y", "--oidc-jwks", "http://example.org/k"], {})):
            self.assertEqual(self.tacho("cromwell", "serve", *words, env={**self.use(), **env}).rc, 2, words)
