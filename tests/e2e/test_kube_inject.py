"""tacho-katib inject: the webhook as a process, against the API-server double."""
import base64
import json
import os
import resource
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request

from cluster import KATIB, KUBE, TRIALS
from injection import ADMISSION, EXEC, LABEL, InjectCase, container, shape
from registry_double import Registry
from support import SANITIZED, until

LOGGER = "metrics-logger-and-collector"


class TestKubeInject(InjectCase):
    def test_pod_level_end_to_end(self):
        hook = self.start_inject()
        self.kube.webhooks.append({"plurals": ["pods"], "url": hook.url + "/mutate-pod?timeout=5s", "ca": hook.ca})
        parts = self.load("random")
        pod = self.kube.create("v1", "pods", "team", parts["pod"], {})
        self.assertIsNotNone(container(pod, LOGGER))
        self.assertEqual(container(pod, "training-container")["futureField"], {"kept": [1.5, None]})
        self.assertEqual(pod["metadata"]["annotations"], {"tacho/collector-injected": "pod"})
        self.assertEqual(self.kube.webhooks[0].get("warnings"), [])
        dry, answer = self.admit(hook, parts["pod"])
        self.assertEqual(dry["spec"], pod["spec"], "the same answer again")
        self.assertNotIn("warnings", answer)

    def test_job_level_end_to_end(self):
        hook = self.start_inject()
        self.kube.webhooks.append({"plurals": ["jobs", "tfjobs"], "url": hook.url + "/mutate-job", "ca": hook.ca})
        parts = self.load("tfjob", ns="other")
        self.kube.drop("kubeflow.org/v1", "tfjobs", "other", parts["job"]["metadata"]["name"])
        job = self.kube.create("kubeflow.org/v1", "tfjobs", "other", parts["job"], {})
        template = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]
        self.assertIn("TACHO_REPLICA_INDEX=0", container(template, "metrics-collector")["args"])
        # The label comes before the pods do: the pod hook finds the mark.
        self.kube.put("v1", "namespaces", {"metadata": {"name": "other", "labels": {LABEL: "enabled"}}})
        pod = json.loads(json.dumps(parts["pods"]["worker-0"]))
        pod["spec"] = template["spec"]
        pod["metadata"]["annotations"] = template["metadata"]["annotations"]
        pod["metadata"]["labels"].update(template["metadata"]["labels"])
        self.assertEqual(self.admit(hook, pod, ns="other")[0], pod)

    def test_the_injected_command_runs(self):
        """Without a kubelet: the init container's copy and the wrapped command, with the volumes as folders."""
        hook = self.start_inject()
        parts = self.load("random")
        words = ["sh", "-c", "echo \"accuracy=0.9 $0\"; echo done >&2", "it's $HOME"]
        parts["pod"]["spec"]["containers"][0]["command"] = words
        pod, _ = self.admit(hook, parts["pod"])
        tools, shared = self.path("tacho"), self.path("katib")
        os.mkdir(shared)
        installer = container(pod, "tacho-launcher", "initContainers")["command"]
        self.assertEqual(installer[:3], ["tacho-katib", "exec", "--install"])
        self.assertEqual(self.spawn("--install", tools, program=EXEC).wait(30), 0)
        command = [word.replace("/var/log/katib", shared).replace("/tacho/exec", tools + "/exec") for word in container(pod, "training-container")["command"]]
        process = self.spawn(*command[1:], program=command[0])
        out, err = process.communicate(timeout=30)
        self.assertEqual((process.returncode, out, err), (0, "accuracy=0.9 it's $HOME\n", "done\n"))
        self.assertEqual(self.read("katib/metrics.log").count("\n"), 2)
        self.assertEqual(self.read(f"katib/{process.pid}.pid"), "completed\n")

    def test_bad_input(self):
        hook = self.start_inject(files=True)
        good = self.review(shape("random")["pod"])
        for change in ({"apiVersion": "admission.k8s.io/v1beta1"}, {"kind": "Review"}, {"request": None}, {"request": {}}):
            self.assertEqual(self.post(hook, "/mutate-pod", {**good, **change})[0], 400, change)
        for body in (b"", b"[]", b"null", b"{", b'{"kind": "AdmissionReview"', b"[" * 1_000_000, b'{"a":' * 400_000, b"\xff\xfe{}",
                     json.dumps(good).encode().replace(b"training", b"\xc3\x28raining")):
            self.assertEqual(self.post(hook, "/mutate-pod", body)[0], 400, body[:40])
        self.assertEqual(self.post(hook, "/mutate-pod", b" " * (3 << 20) + b"{}")[0], 413)
        self.assertEqual(self.post(hook, "/elsewhere", good)[0], 404)
        context = ssl.create_default_context(cafile=hook.ca)
        with self.assertRaises(urllib.error.HTTPError) as got:
            urllib.request.urlopen(hook.url + "/mutate-pod", timeout=10, context=context)
        self.assertEqual((got.exception.code, got.exception.headers["Allow"]), (405, "POST"))
        got.exception.close()
        for change in ({"operation": "DELETE", "object": None}, {"resource": {"resource": "services"}}, {"subResource": "status"}):
            review = {**good, "request": {**good["request"], **change}}
            status, answer = self.post(hook, "/mutate-pod", review)
            self.assertEqual((status, sorted(answer["response"])), (200, ["allowed", "uid"]), change)
        for odd in ({"kind": "Pod"}, {"kind": "Pod", "metadata": 5, "spec": []}, {"kind": "Pod", "metadata": {"ownerReferences": [1, None, {"kind": 7}]}},
                    {"kind": "Pod", "metadata": {"ownerReferences": {}}, "spec": {"containers": {"name": "x"}}}):
            for path in ("/mutate-pod", "/mutate-job"):
                status, answer = self.post(hook, path, self.review(odd))
                self.assertEqual((status, answer["response"]["allowed"]), (200, True), odd)
        parts = self.load("random")
        for name, other in (("c1", "c2"), ("c2", "c1")):
            self.kube.put("batch/v1", "jobs", {"metadata": {"name": name, "namespace": "team", "uid": name, "ownerReferences": [
                {"apiVersion": "batch/v1", "kind": "Job", "name": other, "uid": other}]}})
        circle, gone, other = (json.loads(json.dumps(parts["pod"])) for _ in range(3))
        circle["metadata"]["ownerReferences"] = [{"apiVersion": "batch/v1", "kind": "Job", "name": "c1", "uid": "c1"}]
        gone["metadata"]["ownerReferences"] = [{"apiVersion": TRIALS, "kind": "Trial", "name": "no-more", "uid": "n"}]
        other["spec"]["containers"][0]["name"] = "another"
        for pod in (circle, gone, other) * 3:
            self.assertEqual(self.admit(hook, pod)[0], pod)
        log = self.read("inject-a.log")
        for words in ("nested too deeply", "its body is larger than 3145728 bytes", "go in a circle", "no-more is gone", "without the container training-container"):
            self.assertEqual(log.count(words), 1, words + " is said once\n" + log)
        self.assertEqual(self.plain(hook.health + "/healthz")[0], 200)

    def test_client_certificate(self):
        hook = self.start_inject("--client-ca", self.path("ca.pem"), files=True)
        body = json.dumps(self.review(shape("random")["pod"])).encode()
        with self.assertRaises((OSError, urllib.error.URLError)):
            self.post(hook, "/mutate-pod", body)
        with self.assertRaises((OSError, urllib.error.URLError)):
            self.post(hook, "/mutate-pod", body)
        self.assertTrue(until(lambda: "handshake: peer did not return a certificate" in self.read("inject-a.log")), self.read("inject-a.log"))
        self.assertEqual(self.read("inject-a.log").count("handshake"), 1, "said once")
        for version in ("--http1.1", "--http2"):
            done = subprocess.run(["curl", "-sS", version, "--cacert", hook.ca, "--cert", self.path("client.pem"), "--key", self.path("client.key"), "-d", "@-",
                                   "-o", "/dev/null", "-w", "%{http_code} %{http_version}", hook.url + "/mutate-pod"], input=body, capture_output=True, check=True)
            self.assertEqual(done.stdout.decode(), "200 1.1", "HTTP/1.1 whatever else is offered")
        context = ssl.create_default_context(cafile=hook.ca)
        context.load_cert_chain(self.path("client.pem"), self.path("client.key"))
        context.set_alpn_protocols(["h2"])
        with socket.create_connection(("127.0.0.1", int(hook.url.rsplit(":", 1)[1])), timeout=20) as plain:
            with self.assertRaisesRegex(ssl.SSLError, "(?i)no.application.protocol"):
                context.wrap_socket(plain, server_hostname="127.0.0.1")

    def test_slow_api_server(self):
        hook = self.start_inject()
        parts = self.load("random")
        self.admit(hook, parts["pod"])
        # An owner that no cache knows, and an API server that does not answer.
        self.kube.rules.replace([{"match": {"path": "/apis/batch/v1/namespaces/team/jobs/unknown"}, "action": {"delay_s": 8}}])
        pod = json.loads(json.dumps(parts["pod"]))
        pod["metadata"]["ownerReferences"] = [{"apiVersion": "batch/v1", "kind": "Job", "name": "unknown", "uid": "u"}]
        began = time.monotonic()
        same, answer = self.admit(hook, pod)
        self.assertLess(time.monotonic() - began, 5)
        self.assertEqual((same, answer["allowed"]), (pod, True))
        self.assertTrue(all(len(text) < 120 for text in answer["warnings"]), answer)
        self.kube.put("v1", "configmaps", {"metadata": {"name": "tacho-config", "namespace": "kubeflow"}, "data": {"deadlinePolicy": "refuse"}})
        self.assertTrue(until(lambda: not self.admit(hook, pod)[1]["allowed"]), "by the configured policy")
        self.assertIsNotNone(container(self.admit(hook, parts["pod"])[0], LOGGER), "the caches still serve")

    def test_many_reviews_while_the_server_is_in_trouble(self):
        """Of a group that nobody knows yet: whoever waits for a turn at the API server is answered in time all the same."""
        hook = self.start_inject("--deadline", "300ms")
        self.kube.rules.replace([{"match": {"path": "/apis/nowhere.test/v1"}, "action": {"status": 503}}])
        pod = self.load("random")["pod"]
        pod["metadata"]["ownerReferences"] = [{"apiVersion": "nowhere.test/v1", "kind": "Job", "name": "unknown", "uid": "u"}]
        threads = [threading.Thread(target=self.admit, args=(hook, pod)) for _ in range(100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        lines = dict(line.rsplit(" ", 1) for line in self.plain(hook.metrics)[1].splitlines())
        counts = [lines['tacho_webhook_duration_seconds_bucket{hook="pod",result="warned",le="%s"}' % limit] for limit in ("2", "+Inf")]
        self.assertEqual(counts, ["100", "100"], "the time limit is 0.3 s")
        # What is no version of an API is not asked for.
        asked = len(self.kube.log)
        pod["metadata"]["ownerReferences"][0]["apiVersion"] = "v1/namespaces/kube-system/secrets?x="
        self.assertEqual(self.admit(hook, pod)[0], pod)
        self.assertFalse([entry for entry in self.kube.log[asked:] if "secrets?x" in entry["path"]])

    def test_one_review_asks_for_few_objects(self):
        """Whoever makes pods must not make the API server work: 400 owners were 400 requests."""
        hook = self.start_inject()
        pod = self.load("random")["pod"]
        pod["metadata"]["ownerReferences"] = [{"apiVersion": "batch/v1", "kind": "Job", "name": f"unknown-{number}", "uid": f"u{number}"} for number in range(400)]
        before = len(self.kube.log)
        same, answer = self.admit(hook, pod)
        self.assertEqual((same, answer["allowed"]), (pod, True))
        self.assertEqual(len(answer["warnings"]), 1)
        asked = [entry for entry in self.kube.log[before:] if "/jobs/unknown" in entry["path"]]
        self.assertLessEqual(len(asked), 16)

    @staticmethod
    def cpu_s(process):
        with open(f"/proc/{process.pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def test_large_reviews_are_bounded(self):
        """300,000 keys are let through at once; ten of 2 MB neither take the memory nor keep a small one waiting."""
        hook = self.start_inject(files=True, name="large")
        parts = self.load("random")
        small = self.review(parts["pod"])
        wide = json.loads(json.dumps(parts["pod"]))
        wide["metadata"]["annotations"] = {str(number): "" for number in range(200_000)}
        body = json.dumps(self.review(wide), separators=(",", ":")).encode()
        self.assertLess(len(body), 3 << 20)
        before = self.cpu_s(hook)
        status, answer = self.post(hook, "/mutate-pod", body, timeout=60)
        self.assertEqual((status, answer["response"]["allowed"], len(answer["response"]["warnings"])), (200, True, 1))
        self.assertLess(self.cpu_s(hook) - before, 2, "it took over eight seconds")
        large = json.loads(json.dumps(parts["pod"]))
        large["spec"]["containers"][0]["env"] = [{"name": f"VARIABLE_{number}", "value": "x" * 100} for number in range(18_000)]
        body = json.dumps(self.review(large)).encode()
        self.assertTrue((2 << 20) < len(body) < (3 << 20), len(body))
        answers, lock = [], threading.Lock()

        def ask():
            got = self.post(hook, "/mutate-pod", body, timeout=60)
            with lock:
                answers.append(got)
        threads = [threading.Thread(target=ask) for _ in range(10)]
        for thread in threads:
            thread.start()
        beside = [self.post(hook, "/mutate-pod", small, timeout=60) for _ in range(3)]
        for thread in threads:
            thread.join()
        self.assertTrue(all(status == 200 and "patch" in answer["response"] for status, answer in beside))
        self.assertTrue(all(status == 200 and answer["response"]["allowed"] for status, answer in answers), answers)
        self.assertTrue(all("patch" in answer["response"] or answer["response"]["warnings"] for _, answer in answers))
        self.assertTrue(any("patch" in answer["response"] for _, answer in answers), "some had their turn")
        if not SANITIZED:
            with open(f"/proc/{hook.pid}/status", encoding="ascii") as file:
                peak = int(next(line.split()[1] for line in file if line.startswith("VmHWM"))) / 1024
            self.assertLess(peak, 160, "four took 288 MB")

    def test_what_others_say_stays_in_its_line(self):
        hook = self.start_inject()
        evil = "no\nsuch thing\r\n\x1b[2Jtacho: all is well \u202e \u009b31m" + "x" * 10_000
        self.kube.rules.replace([{"match": {"path": "/apis/batch/v1/namespaces/team/jobs/unknown"}, "action": {"status": 403, "code": "Forbidden", "message": evil}}])
        pod = self.load("random")["pod"]
        pod["metadata"]["ownerReferences"] = [{"apiVersion": "batch/v1", "kind": "Job", "name": "unknown", "uid": "u"}]
        self.admit(hook, pod)
        self.assertTrue(until(lambda: "such thing" in self.read("inject-a.log")), self.read("inject-a.log"))
        for line in self.read("inject-a.log").split("\n"):
            self.assertFalse(line.startswith("tacho: all is well"))
            self.assertLess(len(line), 4200)
            self.assertFalse([letter for letter in line if ord(letter) < 32 or ord(letter) in (0x7f, 0x9b, 0x202e)], repr(line[:200]))

    def test_settings_are_followed(self):
        hook = self.start_inject()
        parts = self.load("random")
        self.kube.put("v1", "configmaps", {"metadata": {"name": "tacho-config", "namespace": "kubeflow"}, "data": {"wrap": "shell"}})
        self.assertTrue(until(lambda: container(self.admit(hook, parts["pod"])[0], "training-container")["command"] == ["sh", "-c"]))
        self.kube.put("v1", "configmaps", {"metadata": {"name": "tacho-config", "namespace": "kubeflow"}, "data": {"wrap": "wrong"}})
        self.assertTrue(until(lambda: self.admit(hook, parts["pod"]) and "tacho-config is not usable" in self.read("inject-a.log")))
        self.assertEqual(container(self.admit(hook, parts["pod"])[0], "training-container")["command"], ["sh", "-c"])
        self.kube.drop("v1", "configmaps", "kubeflow", "tacho-config")
        self.assertTrue(until(lambda: container(self.admit(hook, parts["pod"])[0], "training-container")["command"][0] == "/tacho/exec"),
                        "removed: the defaults again")

    def test_kinds_of_katib_config_are_kept(self):
        parts = self.load("argo")
        hook = self.start_inject(files=True)

        def asked(word, watch):
            return [entry for entry in list(self.kube.log) if word in entry["path"] and ("watch=1" in entry["path"]) == watch]
        self.assertTrue(until(lambda: asked("/workflows", True)), self.read("inject-a.log"))
        pod = next(pod for pod in parts["pods"].values() if "katib.kubeflow.org/model-training" in pod["metadata"].get("labels", {}))
        self.assertTrue(until(lambda: "tacho/collector-injected" in self.admit(hook, pod)[0]["metadata"].get("annotations", {})))
        self.assertFalse(asked("/workflows/argo-x1", False))

    def test_the_probe_of_a_native_sidecar_without_a_launcher(self):
        """It passes once the collector watches the log; it waited for a launcher that never came."""
        env = {"TACHO_READY_FILE": self.path("ready"), "TACHO_SIDECAR": "native"}
        ask = lambda: self.spawn("collect", "--ready", program=KATIB, env=env).wait(30)  # noqa: E731
        self.assertEqual(ask(), 1)
        collector = self.spawn("collect", "-t", "one", "-m", "accuracy", "-o-type", "maximize", "-s-db", "127.0.0.1:1", "-path", self.path("metrics.log"), "-format", "TEXT",
                               program=KATIB, env=env)
        self.assertTrue(until(lambda: ask() == 0))
        collector.kill()
        collector.wait()

    def test_a_good_answer_that_is_something_else(self):
        """A proxy's 200 to anything was taken for a job without an owner, for an empty Secret, and for a server that knows no Trials."""
        self.kube.rules.replace([{"match": {"path": "/apis/kubeflow.org/v1beta1"}, "action": {"status": 200, "body": "<html>"}}])
        hook = self.start_inject(ready=False)
        self.assertTrue(until(lambda: "no list of resources" in self.read("inject-a.log")), self.logs())
        self.assertEqual(self.plain(hook.health + "/readyz"), (503, "the caches are not filled yet\n"))
        self.kube.rules.replace([])
        self.assertTrue(until(lambda: self.plain(hook.health + "/readyz")[0] == 200), self.logs())
        parts, secret = self.load("random"), self.kube.get("v1", "secrets", "kubeflow", "tacho-webhook-cert")
        self.kube.set_silent(True)  # the caches are behind
        pod = parts["pod"]
        for number, body in enumerate(("{}", "[]", "<html>", json.dumps({"kind": "Status", "status": "Success"}))):
            late = {"name": f"late-{number}", "uid": f"late-{number}"}
            job = self.kube.get("batch/v1", "jobs", "team", parts["job"]["metadata"]["name"])
            job["metadata"].update(late)
            self.kube.put("batch/v1", "jobs", job)
            pod["metadata"]["ownerReferences"][0].update(late)
            self.kube.rules.replace([{"match": {"path": ".*/jobs/late-.*", "nth": 1}, "action": {"status": 200, "body": body}}])
            changed, answer = self.admit(hook, pod)
            self.assertIsNotNone(container(changed, LOGGER), (body, answer))
        self.kube.set_silent(False)
        self.kube.rules.replace([{"match": {"path": ".*/secrets/tacho-webhook-cert", "from": 1, "to": 100}, "action": {"status": 200, "body": "{}"}}])

        def set_back(configuration):
            configuration["webhooks"][0]["clientConfig"].pop("caBundle", None)
        self.kube.change(ADMISSION, "mutatingwebhookconfigurations", "", "tacho.katib.kubeflow.org", set_back)
        self.assertTrue(until(lambda: "not the object that was asked for" in self.read("inject-a.log")), self.logs())
        self.assertEqual(self.kube.get("v1", "secrets", "kubeflow", "tacho-webhook-cert"), secret)

    def test_the_signal_does_not_wait_for_the_api_server(self):
        """Half a minute later, when the caBundle's write had failed, the kubelet had killed it with its requests."""
        hook = self.start_inject()
        self.kube.rules.replace([{"match": {"path": ".*/mutatingwebhookconfigurations/.*", "method": "PATCH"}, "action": {"delay_s": 100}}])
        seen = len(self.kube.log)

        def set_back(configuration):
            configuration["webhooks"][0]["clientConfig"].pop("caBundle", None)
        self.kube.change(ADMISSION, "mutatingwebhookconfigurations", "", "tacho.katib.kubeflow.org", set_back)
        self.assertTrue(until(lambda: any("/secrets/" in entry["path"] for entry in self.kube.log[seen:])), self.logs())
        time.sleep(0.5)
        begun = time.monotonic()
        hook.terminate()
        self.assertEqual(hook.wait(60), 0, self.logs())
        self.assertLess(time.monotonic() - begun, 15)

    def test_metrics_and_health(self):
        hook = self.start_inject()
        self.admit(hook, self.load("random")["pod"])
        self.post(hook, "/mutate-pod", b"x")
        status, text = self.plain(hook.metrics)
        self.assertEqual(status, 200)
        for line in ('tacho_webhook_requests_total{hook="pod",result="injected"} 1', 'tacho_webhook_requests_total{hook="pod",result="error"} 1',
                     'tacho_webhook_duration_seconds_count{hook="pod",result="injected"} 1', "# TYPE tacho_webhook_duration_seconds histogram",
                     "tacho_webhook_cache_misses_total", "tacho_image_lookups_total", "tacho_watch_restarts_total", "tacho_watch_relists_total"):
            self.assertIn(line, text)
        left = next(float(line.split()[1]) for line in text.splitlines() if line.startswith("tacho_certificate_expiry_seconds"))
        self.assertAlmostEqual(left, 365 * 86400, delta=3600)

    def test_events_beside_warnings(self):
        hook = self.start_inject()
        parts = self.load("random")
        self.kube.put(TRIALS, "trials", {**parts["trial"], "spec": {**parts["trial"]["spec"], "metricsCollector": {"collector": {"kind": "Odd"}}}})
        self.assertTrue(until(lambda: "warnings" in self.post(hook, "/mutate-pod", self.review(parts["pod"], dryRun=True))[1]["response"]))
        for _ in range(3):
            self.admit(hook, parts["pod"])
        self.assertTrue(until(lambda: self.kube.all("v1", "events")), self.logs())
        pod = json.loads(json.dumps(parts["pod"]))
        pod["metadata"]["ownerReferences"] = [{"apiVersion": "batch/v1", "kind": "Job", "name": "unknown", "uid": "u"}]
        self.admit(hook, pod)
        self.assertTrue(any(line.startswith('tacho_webhook_cache_misses_total{kind="Job"} ') for line in self.plain(hook.metrics)[1].splitlines()))
        hook.terminate()
        self.assertEqual(hook.wait(30), 0)
        events = self.kube.all("v1", "events")
        self.assertEqual([(event["reason"], event["type"], event["involvedObject"]["kind"], event["involvedObject"]["name"]) for event in events],
                         [("NotInjected", "Warning", "Trial", "random-x1")], "told once, and a dry run leaves no trace")
        self.assertIn("Odd", events[0]["message"])

    def test_stops_gracefully(self):
        hook = self.start_inject("--stop-delay", "1500ms")
        pod = self.load("random")["pod"]
        hook.terminate()
        self.assertTrue(until(lambda: self.plain(hook.health + "/readyz") == (503, "stopping\n"), 5))
        self.assertIsNotNone(container(self.admit(hook, pod)[0], LOGGER), "still answering")
        context = ssl.create_default_context(cafile=hook.ca)
        request = urllib.request.Request(hook.url + "/mutate-pod", json.dumps(self.review(pod)).encode())
        with urllib.request.urlopen(request, timeout=20, context=context) as reply:
            self.assertEqual(reply.headers["Connection"], "close", "the client goes elsewhere with its next review")
        self.assertEqual(hook.wait(30), 0)

    def test_a_review_under_way_is_answered_after_the_signal(self):
        hook = self.start_inject()
        pod = self.load("random")["pod"]
        body = json.dumps(self.review(pod)).encode()
        context = ssl.create_default_context(cafile=hook.ca)
        port = int(hook.url.rsplit(":", 1)[1])
        with context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=30), server_hostname="127.0.0.1") as half:
            half.sendall(b"POST /mutate-pod HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body[:100])
            self.admit(hook, pod)  # by now the half one has been read
            hook.terminate()
            self.assertTrue(until(lambda: not self.listens(port)))
            half.sendall(body[100:])
            answer = b""
            while part := half.recv(65536):
                answer += part
        self.assertIn(b" 200 OK\r\n", answer)
        self.assertIn(b"connection: close\r\n", answer)
        self.assertIn(b'"patch"', answer)
        self.assertEqual(hook.wait(30), 0)

    @staticmethod
    def listens(port):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    def test_idle_connections_keep_nobody_out(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 4096), hard), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        hook = self.start_inject()
        pod = self.load("random")["pod"]
        idle = []
        self.addCleanup(lambda: [one.close() for one in idle])
        for url, count in ((hook.health, 150), (hook.metrics.rpartition("/")[0], 150), (hook.url, 2100)):
            port = int(url.rsplit(":", 1)[1])
            for number in range(count):
                idle.append(socket.create_connection(("127.0.0.1", port), timeout=30))
                if number % 2 and url != hook.url:
                    idle[-1].sendall(b"GET /healthz HTTP/1.1\r\nX: ")
        # Each would have to wait for ten seconds if it had to wait for those to end.
        begun = time.monotonic()
        self.assertEqual(self.plain(hook.health + "/healthz"), (200, "ok\n"))
        self.assertEqual(self.plain(hook.metrics)[0], 200)
        self.assertIsNotNone(container(self.admit(hook, pod)[0], LOGGER))
        self.assertLess(time.monotonic() - begun, 9)
        hook.terminate()
        self.assertEqual(hook.wait(30), 0)

    def test_bad_options(self):
        for words in (["--no-such"], ["--listen"], ["--cert-file", "x"], ["word"], ["--deadline", "soon"], ["--workers=0"], ["--listen", "x"],
                      ["--listen", "127.0.0.1:99999"], ["--health-address", "nowhere"]):
            process = self.spawn("inject", *words, program=KUBE)
            _, err = process.communicate(timeout=30)
            self.assertEqual(process.returncode, 2, (words, err))
            self.assertIn("--help", err)


class TestKubeCertificates(InjectCase):
    def served(self, hook):
        port = hook.url.rsplit(":", 1)[1]
        return ssl.get_server_certificate(("127.0.0.1", int(port)))

    def secret(self):
        return self.kube.get("v1", "secrets", "kubeflow", "tacho-webhook-cert")

    def test_made_and_shared_by_two_replicas(self):
        first = self.start_inject(name="a")
        second = self.start_inject(name="b")
        self.assertEqual(sorted(self.secret()["data"]), ["ca.crt", "ca.key", "tls.crt", "tls.key"])
        self.assertEqual(self.served(first), self.served(second))
        text = subprocess.run(["openssl", "x509", "-noout", "-text"], input=self.served(first), text=True, capture_output=True, check=True).stdout
        for word in ("DNS:katib-controller.kubeflow.svc,", "DNS:katib-controller.kubeflow.svc.cluster.local", "DNS:katib-controller,", "IP Address:127.0.0.1",
                     "prime256v1", "O = katib, CN = katib-ca", "TLS Web Server Authentication"):
            self.assertIn(word, text)
        self.admit(second, self.load("random")["pod"])
        self.assertEqual(os.stat(self.path("cert-a", "tls.key")).st_mode & 0o777, 0o600)

    def test_configuration_that_is_set_back(self):
        self.start_inject()
        bundle = self.bundle()

        def set_back(configuration):
            for hook in configuration["webhooks"]:
                hook["clientConfig"].pop("caBundle", None)
        self.kube.change(ADMISSION, "mutatingwebhookconfigurations", "", "tacho.katib.kubeflow.org", set_back)
        self.assertTrue(until(lambda: self.bundle() == bundle, 20), self.logs())
        hooks = self.kube.get(ADMISSION, "mutatingwebhookconfigurations", "", "tacho.katib.kubeflow.org")
        self.kube.drop(ADMISSION, "mutatingwebhookconfigurations", "", "tacho.katib.kubeflow.org")
        set_back(hooks)
        self.kube.put(ADMISSION, "mutatingwebhookconfigurations", {"metadata": {"name": "tacho.katib.kubeflow.org"}, "webhooks": hooks["webhooks"]})
        self.assertTrue(until(lambda: self.bundle() == bundle, 20), self.logs())

    def test_a_damaged_secret_is_made_anew(self):
        first = self.start_inject(name="a")
        old = self.bundle()
        first.terminate()
        first.wait(30)

        def damage(secret):
            secret["data"]["ca.key"] = "AAAA"
        self.kube.change("v1", "secrets", "kubeflow", "tacho-webhook-cert", damage)
        second = self.start_inject(name="b")
        self.assertIn(old, self.bundle(), "the old CA stays while a certificate of it may be served")
        self.assertEqual(self.bundle().count("BEGIN CERTIFICATE"), 2)
        self.admit(second, self.load("random")["pod"])

    def test_new_files_without_a_failed_review(self):
        hook = self.start_inject(files=True)
        parts = self.load("random")
        body = json.dumps(self.review(parts["pod"])).encode()
        failures, served, stop = [], [0], threading.Event()

        def ask():
            while not stop.is_set():
                try:
                    status, answer = self.post(hook, "/mutate-pod", body)
                    if status != 200 or "patch" not in answer["response"]:
                        failures.append((status, answer))
                    served[0] += 1
                except OSError as error:
                    failures.append(error)
        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        before = self.served(hook)
        subprocess.run("openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout new.key -out new.csr -subj /CN=new && "
                       "openssl x509 -req -in new.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out new.pem -extfile server.ext && "
                       "mv new.key server.key && mv new.pem server.pem", shell=True, cwd=self.dir, check=True, capture_output=True)
        self.assertTrue(until(lambda: self.served(hook) != before, 20))
        stop.set()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.assertGreater(served[0], 10)


class TestKubeImages(InjectCase):
    def start(self, registry, *args):
        self.addCleanup(registry.close)
        return self.start_inject("--plain-registry", registry.address, *args)

    def trial_with(self, image, secrets=()):
        parts = self.load("no_command")
        pod_spec = {"containers": [{"name": "training-container", "image": image, "args": ["--lr", "0.1"]}],
                    "imagePullSecrets": [{"name": name} for name in secrets]}
        parts["trial"]["spec"]["runSpec"] = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": {"spec": pod_spec}}}
        parts["pod"]["spec"] = pod_spec
        self.kube.put(TRIALS, "trials", parts["trial"])
        return parts["pod"]

    def wrapped(self, hook, pod):
        return container(self.admit(hook, pod)[0], "training-container").get("command")

    def test_known_before_the_pod_comes(self):
        registry = Registry()
        hook = self.start(registry)
        pod = self.trial_with(registry.image)
        self.assertTrue(until(lambda: (self.wrapped(hook, pod) or [])[-3:] == ["/entry", "--lr", "0.1"]))
        asked = len(registry.requests)
        self.wrapped(hook, pod)
        self.assertEqual(len(registry.requests), asked, "no registry on the admission path")

    def test_logins(self):
        for auth in ("bearer", "basic"):
            registry = Registry(auth=auth)
            config = {"auths": {registry.address: {"auth": base64.b64encode(b"me:pw").decode()}}}
            self.kube.put("v1", "secrets", {"metadata": {"name": "pull", "namespace": "team"}, "type": "kubernetes.io/dockerconfigjson",
                                            "data": {".dockerconfigjson": base64.b64encode(json.dumps(config).encode()).decode()}})
            hook = self.start_inject("--plain-registry", registry.address, name=auth)
            self.addCleanup(registry.close)
            pod = self.trial_with(registry.image, secrets=["pull"])
            self.assertTrue(until(lambda: self.wrapped(hook, pod)), auth)
            self.assertNotIn("pw", self.read(f"inject-{auth}.log"))

    def test_fallback(self):
        registry = Registry(auth="basic")
        hook = self.start(registry)
        pod = self.trial_with(registry.image)
        self.assertTrue(until(lambda: registry.requests))
        same, answer = self.admit(hook, pod)
        self.assertTrue(answer["allowed"])
        self.assertTrue(answer["warnings"])
        self.assertNotIn("command", container(same, "training-container"))
        self.assertIsNotNone(container(same, "tacho-log"), "the log is read through the API")

    def test_slow_registry(self):
        registry = Registry(delay_s=1.5)
        hook = self.start(registry)
        pod = self.trial_with(registry.image)
        self.assertTrue(until(lambda: registry.requests))
        began = time.monotonic()
        _, answer = self.admit(hook, pod)
        self.assertLess(time.monotonic() - began, 2)
        self.assertTrue(answer["allowed"])
        self.assertTrue(until(lambda: self.wrapped(hook, pod), 20), "later it is known")

    def test_one_slow_registry_delays_nobody_else(self):
        slow, quick = Registry(delay_s=15), Registry()
        self.addCleanup(slow.close)
        self.addCleanup(quick.close)
        hook = self.start_inject("--plain-registry", slow.address, "--plain-registry", quick.address)
        parts = self.load("no_command")
        for number in range(20):  # one after the other they would take minutes
            trial = json.loads(json.dumps(parts["trial"]))
            trial["metadata"].update(name=f"slow-{number}", uid=f"slow-{number}")
            trial["spec"]["runSpec"] = {"spec": {"template": {"spec": {"containers": [{"name": "training-container", "image": f"{slow.image}-{number}"}]}}}}
            self.kube.put(TRIALS, "trials", trial)
        self.assertTrue(until(lambda: len(slow.requests) >= 1))
        pod = self.trial_with(quick.image)
        self.assertTrue(until(lambda: self.wrapped(hook, pod), 10), "its image is known although the slow ones are not")
        self.assertLessEqual(len(slow.requests), 4, "two at a time")

    def test_damaged_answer_is_not_believed(self):
        registry = Registry(damage=True)
        hook = self.start(registry)
        pod = self.trial_with(registry.image)
        self.assertTrue(until(lambda: "something else than was asked for" in self.read("inject-a.log")))
        self.assertIsNone(self.wrapped(hook, pod))

    def test_kept_over_a_restart(self):
        registry = Registry()
        hook = self.start(registry, "--image-cache", self.path("images"))
        pod = self.trial_with(registry.image)
        self.assertTrue(until(lambda: self.wrapped(hook, pod)))
        hook.terminate()
        hook.wait(30)
        asked = len(registry.requests)
        again = self.start_inject("--plain-registry", registry.address, "--image-cache", self.path("images"), name="again")
        self.assertTrue(self.wrapped(again, pod))
        self.assertEqual(len(registry.requests), asked)

