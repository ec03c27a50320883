"""tacho-katib inject as a server: signals, health, certificates, the registry, clients that ask for nothing."""
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

from cluster import KUBE, TRIALS
from injection import ADMISSION, InjectCase, container
from registry_double import Registry
from support import until
from test_kube_inject import LOGGER


class TestKubeServer(InjectCase):
    """The process itself: signals, health, clients that ask for nothing."""

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
