"""tacho-katib inject: the webhook as a process, against the API-server double."""
import json
import os
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request

from cluster import KATIB, TRIALS
from injection import ADMISSION, EXEC, LABEL, InjectCase, container, shape
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
