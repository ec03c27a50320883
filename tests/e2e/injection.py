"""What the tests of `tacho-katib inject` share: the webhook over the API-server double, reviews, and the shapes of tests/fixtures/kube."""
import base64
import copy
import json
import os
import re
import socket
import ssl
import urllib.error
import urllib.request
import uuid

from cluster import KUBE, TRIALS, ClusterCase, kube_double
from support import BUILD, until

FIXTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures", "kube")
LABEL = "katib.kubeflow.org/metrics-collector-injection"
ADMISSION = "admissionregistration.k8s.io/v1"
EXEC = os.path.join(BUILD, "bin", "tacho-katib-exec")
PLURALS = {"Job": "jobs", "PyTorchJob": "pytorchjobs", "TFJob": "tfjobs", "MPIJob": "mpijobs", "XGBoostJob": "xgboostjobs", "JobSet": "jobsets",
           "TrainJob": "trainjobs", "Workflow": "workflows", "Trial": "trials", "Suggestion": "suggestions", "Pod": "pods", "ConfigMap": "configmaps"}


def shape(name):
    with open(os.path.join(FIXTURES, name + ".json"), encoding="utf-8") as file:
        return json.load(file)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def container(pod, name, where="containers"):
    return next((one for one in pod["spec"].get(where, []) if one["name"] == name), None)


class InjectCase(ClusterCase):
    def setUp(self):
        super().setUp()
        self.kube.put("v1", "namespaces", {"metadata": {"name": "team", "labels": {LABEL: "enabled"}}})
        self.kube.put("v1", "namespaces", {"metadata": {"name": "other", "labels": {}}})
        self.kube.put("v1", "configmaps", shape("katib_config"))
        self.kube.put(ADMISSION, "mutatingwebhookconfigurations", {"metadata": {"name": "tacho.katib.kubeflow.org"}, "webhooks": [
            {"name": "pod.tacho.katib.kubeflow.org", "clientConfig": {"service": {"name": "tacho"}}},
            {"name": "job.tacho.katib.kubeflow.org", "clientConfig": {"service": {"name": "tacho"}}}]})

    def start_inject(self, *args, name="a", files=False, ready=True, port=0):
        log = open(self.path(f"inject-{name}.log"), "w+", encoding="utf-8")
        self.addCleanup(log.close)
        health, metrics = free_port(), free_port()
        certificates = ["--cert-file", self.path("server.pem"), "--key-file", self.path("server.key")] if files else [
            "--extra-name", "127.0.0.1", "--extra-name", "localhost", "--cert-dir", self.path("cert-" + name)]
        process = self.spawn("inject", "--kubeconfig", self.api.config_file, "--listen", f"127.0.0.1:{port or free_port()}", "--health-address",
                             f"127.0.0.1:{health}", "--metrics-address", f"127.0.0.1:{metrics}", "--stop-delay", "0", *certificates, *args, program=KUBE,
                             stdout=log, stderr=log)
        process.health, process.metrics = f"http://127.0.0.1:{health}", f"http://127.0.0.1:{metrics}/metrics"
        found = until(lambda: re.search(r"serving on port (\d+)", self.read(f"inject-{name}.log")))
        self.assertTrue(found, self.read(f"inject-{name}.log"))
        process.url = f"https://127.0.0.1:{found[1]}"
        if ready:
            self.assertTrue(until(lambda: self.plain(process.health + "/readyz")[0] == 200), self.plain(process.health + "/readyz"))
        process.ca = self.path("ca.pem") if files else self.bundle_file()
        return process

    def bundle(self):
        hooks = self.kube.get(ADMISSION, "mutatingwebhookconfigurations", "", "tacho.katib.kubeflow.org")["webhooks"]
        values = {hook["clientConfig"].get("caBundle", "") for hook in hooks}
        self.assertEqual(len(values), 1)
        return base64.b64decode(values.pop()).decode()

    def bundle_file(self):
        return self.write("bundle.pem", self.bundle())

    def plain(self, url):
        try:
            with urllib.request.urlopen(url, timeout=10) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def post(self, process, path, body, timeout=20):
        """(status, JSON or text)."""
        context = ssl.create_default_context(cafile=process.ca)
        request = urllib.request.Request(process.url + path, body if isinstance(body, bytes) else json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=timeout, context=context) as reply:
                return reply.status, json.load(reply)
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(errors="replace")

    @staticmethod
    def review(obj, plural="pods", ns="team", **more):
        return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
            "uid": str(uuid.uuid4()), "namespace": ns, "operation": "CREATE", "kind": {"group": "", "version": "v1", "kind": obj["kind"]},
            "resource": {"group": "", "version": "v1", "resource": plural}, "object": obj, **more}}

    def admit(self, process, obj, path="/mutate-pod", plural="pods", ns="team"):
        """The object after the patch, and the answer."""
        review = self.review(obj, plural, ns)
        status, answer = self.post(process, path, review)
        self.assertEqual(status, 200, answer)
        response = answer["response"]
        self.assertEqual((answer["apiVersion"], answer["kind"], response["uid"]), ("admission.k8s.io/v1", "AdmissionReview", review["request"]["uid"]))
        changed = copy.deepcopy(obj)
        if "patch" in response:
            changed = kube_double.apply_json_patch(changed, json.loads(base64.b64decode(response["patch"])))
        return changed, response

    def load(self, name, ns="team"):
        """Puts the fixture's objects but its pods into the cluster; returns the fixture in that namespace."""
        parts = json.loads(json.dumps(shape(name)).replace('"namespace": "team"', f'"namespace": "{ns}"'))
        for key, part in parts.items():
            if key not in ("pod", "pods") and part["kind"] in PLURALS:
                self.kube.put(part["apiVersion"], PLURALS[part["kind"]], copy.deepcopy(part))
        if "trial" in parts:
            self.assertTrue(until(lambda: self.kube.get(TRIALS, "trials", ns, parts["trial"]["metadata"]["name"])))
        return parts
