"""Every shape of patch, asked of the real API server by a dry run: sidecar mode × wrapper × kind of collector × command known or not × init
containers × security context, at pod level and at job level, also in a namespace that enforces Pod Security "restricted". The same matrix is
checked without a server in src/kube/webhook/mutation_matrix_test.cc."""
import itertools
import json
import ssl
import urllib.error
import urllib.request

from common import check, say, until
from kube_injection import Injection, owner

COLLECTORS = ("StdOut", "File", "TensorFlowEvent", "PrometheusMetric", "Custom")
KATIB_CONFIG = "apiVersion: config.kubeflow.org/v1beta1\nkind: KatibConfig\nruntime:\n  metricsCollectors:\n" + "".join(
    f'    - {{kind: {kind}, image: "tacho-katib:0.1.0"}}\n' for kind in COLLECTORS if kind != "Custom")
RESTRICTED = {"runAsNonRoot": True, "runAsUser": 1000, "readOnlyRootFilesystem": True, "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]},
              "seccompProfile": {"type": "RuntimeDefault"}}
CONTEXTS = {"none": None, "restricted": RESTRICTED, "privileged": {"privileged": True, "runAsUser": 0},
            "pod": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}}  # the rest of it is the pod's
ENOUGH = ("restricted", "pod")
WORDS = {"argv": {"command": ["python", "train.py"], "args": ["--lr", "$(LR) 2"]}, "script": {"command": ["bash", "-ec"], "args": ["echo a\nfalse # end"]}, "unknown": {}}
LABEL = "katib.kubeflow.org/metrics-collector-injection"


class Api:
    """Straight to the server: kubectl takes a second for each of a thousand."""

    def __init__(self, k8s):
        self.url = f"https://127.0.0.1:{k8s.port}"
        self.context = ssl.create_default_context(cafile=str(k8s.dir / "ca.pem"))
        self.context.load_cert_chain(str(k8s.dir / "admin.pem"), str(k8s.dir / "admin.key"))

    def post(self, path, body):
        """(status, answer): the object, or the Status that says why not."""
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=30, context=self.context) as reply:
                return reply.status, json.load(reply)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)


def a_trial(name, ns, kind):
    collector = {"collector": {"kind": kind}}
    if kind == "File":
        collector["source"] = {"fileSystemPath": {"path": "/var/log/m/x.json", "format": "JSON", "kind": "File"}}
    if kind == "TensorFlowEvent":
        collector["source"] = {"fileSystemPath": {"path": "/logs/tf/", "kind": "Directory"}}
    if kind == "PrometheusMetric":
        collector["source"] = {"httpGet": {"port": 9090, "path": "/metrics"}}
    if kind == "Custom":
        collector["collector"]["customCollector"] = {"name": "own", "image": "own:1", "securityContext": RESTRICTED}
        collector["source"] = {"fileSystemPath": {"path": "/custom/out.log", "kind": "File"}}
    return {"apiVersion": "kubeflow.org/v1beta1", "kind": "Trial", "metadata": {"name": name, "namespace": ns, "labels": {"katib.kubeflow.org/experiment": "shapes"}},
            "spec": {"objective": {"type": "maximize", "objectiveMetricName": "accuracy"}, "primaryContainerName": "main", "metricsCollector": collector,
                     "runSpec": {}}}  # names no kind: no controller makes a job of it


def a_spec(words, context, init):
    trainer = {"name": "main", "image": "trainer:1", **WORDS[words]}
    spec = {"restartPolicy": "Never", "containers": [trainer]}
    if init:
        spec["initContainers"] = [{"name": "users", "image": "x"}]
    if context == "pod":
        spec["securityContext"] = {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}}
    if CONTEXTS[context]:
        for one in spec["containers"] + spec.get("initContainers", []):
            one["securityContext"] = CONTEXTS[context]
    return spec


def an_object(trial, spec, level):
    metadata = {"generateName": "shape-", "namespace": trial["metadata"]["namespace"], "ownerReferences": [owner(trial)]}
    if level == "pod":
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": {"spec": spec}}}


REPLICAS = {"PyTorchJob": ("pytorchReplicaSpecs", "Master"), "TFJob": ("tfReplicaSpecs", "Chief"), "XGBoostJob": ("xgbReplicaSpecs", "Master"), "MPIJob": ("mpiReplicaSpecs", "Launcher")}


def other_kinds(api, trials, ns, mode, wrap):
    """Jobs of the training operator hold a template that nobody looks at until a pod is made of it: it is put to the server as one."""
    refused = []
    for (kind, (specs, role)), collector, words in itertools.product(REPLICAS.items(), COLLECTORS, WORDS):
        trial = trials[("job", collector)]
        metadata = {"generateName": "shape-", "namespace": ns, "ownerReferences": [owner(trial)]}
        body = {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": metadata, "spec": {specs: {role: {"replicas": 1, "template": {"spec": a_spec(words, "pod", True)}}}}}
        status, answer = api.post(f"/apis/kubeflow.org/v1/namespaces/{ns}/{kind.lower()}s?dryRun=All", body)
        template = answer["spec"][specs][role]["template"] if status == 201 else {}
        marked = "tacho/collector-injected" in template.get("metadata", {}).get("annotations", {})
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {**template.get("metadata", {}), "name": "of-a-template", "namespace": ns}, "spec": template.get("spec")}
        as_pod, why = api.post(f"/api/v1/namespaces/{ns}/pods?dryRun=All", pod) if marked else (0, answer)
        if as_pod != 201:
            refused.append((kind, collector, words, status, marked, why.get("message")))
    check(f"shapes: templates of {len(REPLICAS)} kinds of jobs with {mode} and {wrap} make pods", not refused, refused[:3])
    return len(REPLICAS) * len(COLLECTORS) * len(WORDS)


def cases(world, injection=None):
    k8s = world.k8s
    own = injection is None
    injection = injection or Injection(world)
    api = Api(k8s)
    k8s.kubectl("patch", "configmap", "katib-config", "-n", "kubeflow", "--type=merge", "-p", json.dumps({"data": {"katib-config.yaml": KATIB_CONFIG}}))
    places = {"pod": "shapes-pod", "job": "shapes-job", "restricted": "shapes-restricted"}
    enforce = {"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "latest"}
    for place, labels in (("pod", {LABEL: "enabled"}), ("job", {}), ("restricted", {LABEL: "enabled", **enforce})):
        k8s.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": places[place], "labels": labels}})
    trials = {(place, kind): injection.make(a_trial(kind.lower(), ns, kind)) for place, ns in places.items() for kind in COLLECTORS}
    plain = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "plain", "namespace": places["restricted"]}, "spec": a_spec("argv", "none", False)}
    check("shapes: the namespace does refuse what keeps rights", api.post(f"/api/v1/namespaces/{places['restricted']}/pods?dryRun=All", plain)[0] == 403)
    total = 0
    for mode, wrap in itertools.product(("container", "native", "auto"), ("launcher", "shell")):
        k8s.kubectl("patch", "configmap", "tacho-config", "-n", "kubeflow", "--type=merge", "-p", json.dumps({"data": {"tacho-config.yaml": f"sidecarMode: {mode}\nwrap: {wrap}\n"}}))

        def one(place, kind, words, context, init):
            level = "job" if place == "job" else "pod"
            body = an_object(trials[(place, kind)], a_spec(words, context, init), level)
            path = f"/api/v1/namespaces/{places[place]}/pods" if level == "pod" else f"/apis/batch/v1/namespaces/{places[place]}/jobs"
            status, answer = api.post(path + "?dryRun=All", body)
            return status, answer, answer if level == "pod" else answer.get("spec", {}).get("template", {})

        def followed():
            made = one("pod", "StdOut", "argv", "none", False)[2]
            where = "containers" if mode == "container" else "initContainers"
            return (any(container["name"] == "metrics-logger-and-collector" for container in made["spec"].get(where, []))
                    and made["spec"]["containers"][0]["command"][0] == ("/tacho/exec" if wrap == "launcher" else "sh"))
        until(followed, 30, f"the settings {mode}, {wrap}")
        refused, unmarked, count = [], [], 0
        for place, kind, words, context, init in itertools.product(places, COLLECTORS, WORDS, CONTEXTS, (False, True)):
            if place == "restricted" and context not in ENOUGH:
                continue
            status, answer, made = one(place, kind, words, context, init)
            count += 1
            if status != 201:
                refused.append((place, kind, words, context, init, answer.get("message")))
            elif "tacho/collector-injected" not in made["metadata"].get("annotations", {}):
                unmarked.append((place, kind, words, context, init))
        total += count + other_kinds(api, trials, places["job"], mode, wrap)
        check(f"shapes: {count} patches with {mode} and {wrap} are accepted by the server", not refused, refused[:3])
        check(f"shapes: {mode} and {wrap}: every one has its collector", not unmarked, unmarked[:3])
    say(f"{total} shapes of patches were asked of the server")
    if own:
        from common import stop
        stop(injection.process)
