"""Odd pods and odd Trials, asked of the real API server: whatever the server takes without tacho it takes with tacho, and a pod that cannot carry a collector is
let through with a warning."""
import copy
import json

from common import check, until
from kube_injection import owner
from kube_shapes import KATIB_CONFIG, LABEL, Api, a_spec, a_trial

MARK = "tacho/collector-injected"
NS = "odd-pods"


def put(where, value):
    """An edit of the pod: `where` is a path of keys and indices."""
    def edit(pod):
        at = pod
        for step in where[:-1]:
            at = at[step] if isinstance(step, int) else at.setdefault(step, {})
        at[where[-1]] = value
    return edit


def both(*edits):
    def edit(pod):
        for one in edits:
            one(pod)
    return edit


def beside(**container):
    return lambda pod: pod["spec"]["containers"].insert(0, {"name": "beside", "image": "x", **container})


MAIN = ("spec", "containers", 0)
CONFINED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
# (what is odd, the edit, whether a collector can be there)
PODS = [
    ("nothing", lambda pod: None, True),
    ("a Windows pod", both(put(("spec", "os"), {"name": "windows"}), put(("spec", "nodeSelector"), {"kubernetes.io/os": "windows"})), False),
    ("a node of Windows by its selector alone", put(("spec", "nodeSelector"), {"kubernetes.io/os": "windows"}), False),
    ("hostPID", put(("spec", "hostPID"), True), False),
    ("no shared processes, said outright", put(("spec", "shareProcessNamespace"), False), True),
    ("user namespaces", put(("spec", "hostUsers"), False), True),
    ("host network", put(("spec", "hostNetwork"), True), True),
    ("a native sidecar of the user's", put(("spec", "initContainers"), [{"name": "proxy", "image": "x", "restartPolicy": "Always"}]), True),
    ("resources of the whole pod, all of them used", both(put(("spec", "resources"), {"requests": {"cpu": "1", "memory": "64Mi"}, "limits": {"cpu": "1", "memory": "64Mi"}}),
                                                           put((*MAIN, "resources"), {"requests": {"cpu": "1", "memory": "64Mi"}})), True),
    ("requests of the whole pod for the CPU alone", both(put(("spec", "resources"), {"requests": {"cpu": "1"}}), put((*MAIN, "resources"), {"requests": {"cpu": "1", "memory": "1Gi"}})), True),
    ("limits of the whole pod below the collector's", put(("spec", "resources"), {"limits": {"cpu": "100m", "memory": "50Mi"}}), True),
    ("a Guaranteed pod", put((*MAIN, "resources"), {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}), True),
    ("annotations up to the last byte", put(("metadata", "annotations"), {"big": "x" * (256 * 1024 - 3)}), False),
    ("annotations with little room", put(("metadata", "annotations"), {"big": "x" * (256 * 1024 - 400)}), True),
    ("the folder is a projected volume", both(put((*MAIN, "volumeMounts"), [{"name": "p", "mountPath": "/var/log/katib", "readOnly": True}]),
                                              put(("spec", "volumes"), [{"name": "p", "projected": {"sources": [{"configMap": {"name": "c"}}]}}])), False),
    ("the folder is a ConfigMap", both(put((*MAIN, "volumeMounts"), [{"name": "p", "mountPath": "/var/log/katib"}]),
                                       put(("spec", "volumes"), [{"name": "p", "configMap": {"name": "c"}}])), False),
    ("the folder is part of a claim", both(put((*MAIN, "volumeMounts"), [{"name": "p", "mountPath": "/var/log/katib/", "subPath": "a/b"}]),
                                           put(("spec", "volumes"), [{"name": "p", "persistentVolumeClaim": {"claimName": "c"}}])), True),
    ("the folder is a path by a variable", both(put((*MAIN, "volumeMounts"), [{"name": "p", "mountPath": "/var/log/katib", "subPathExpr": "$(KATIB_TRIAL_NAME)"}]),
                                                put((*MAIN, "env"), [{"name": "KATIB_TRIAL_NAME", "value": "x"}]), put(("spec", "volumes"), [{"name": "p", "emptyDir": {}}])), False),
    ("the folder is a block device", both(put((*MAIN, "volumeDevices"), [{"name": "p", "devicePath": "/var/log/katib"}]),
                                          put(("spec", "volumes"), [{"name": "p", "persistentVolumeClaim": {"claimName": "c"}}])), False),
    ("/tacho is a block device", both(put((*MAIN, "volumeDevices"), [{"name": "p", "devicePath": "/tacho"}]),
                                      put(("spec", "volumes"), [{"name": "p", "persistentVolumeClaim": {"claimName": "c"}}])), False),
    ("metrics-volume is a claim mounted elsewhere", both(put((*MAIN, "volumeMounts"), [{"name": "metrics-volume", "mountPath": "/data"}]),
                                                         put(("spec", "volumes"), [{"name": "metrics-volume", "persistentVolumeClaim": {"claimName": "c"}}])), False),
    ("an init container named as ours", put(("spec", "initContainers"), [{"name": "tacho-launcher", "image": "x"}]), False),
    ("a read-only root", put((*MAIN, "securityContext"), {"readOnlyRootFilesystem": True}), True),
    ("not root, and no user", put((*MAIN, "securityContext"), {"runAsNonRoot": True}), True),
    ("not root, by number", put((*MAIN, "securityContext"), {"runAsNonRoot": True, "runAsUser": 4711, "runAsGroup": 4711}), True),
    ("rights of the whole pod", put(("spec", "securityContext"), {"runAsNonRoot": True, "runAsUser": 1, "fsGroup": 2, "supplementalGroups": [3]}), True),
    ("a privileged container beside a confined one", both(beside(securityContext={"privileged": True}), put(("spec", "containers", 1, "securityContext"), CONFINED)), True),
    ("capabilities beside a confined one", both(beside(securityContext={"capabilities": {"add": ["SYS_ADMIN"]}}), put(("spec", "containers", 1, "securityContext"), CONFINED)), True),
    ("two containers", beside(command=["sleep", "1"]), True),
    ("a scheduling gate", put(("spec", "schedulingGates"), [{"name": "a.b/c"}]), True),
    ("no time to end", put(("spec", "terminationGracePeriodSeconds"), 0), True),
    ("a policy of its own for pulling", put((*MAIN, "imagePullPolicy"), "Never"), True),
    ("a name that the server makes", lambda pod: (pod["metadata"].pop("name"), pod["metadata"].update(generateName="odd-")), True),
    ("variables in its words", put((*MAIN, "args"), ["$(A) $$(B) $(", "a b"]), True),
    ("no such container", put((*MAIN, "name"), "worker"), False),
]
# Trials of kind Custom as somebody may have written them: the container is the user's, what it lacks would cost the pod.
CUSTOM = [("no name", {"image": "own:1"}), ("no image", {"name": "own"}), ("the trainer's own name", {"name": "main", "image": "own:1"}), ("a name that is none", {"name": "A_b", "image": "own:1"}),
          ("a volume that is not there", {"name": "own", "image": "own:1", "volumeMounts": [{"name": "nowhere", "mountPath": "/x"}]}), ("nothing at all", {}), ("a text", "own:1")]


def a_pod(trial, edit):
    metadata = {"name": "odd", "namespace": trial["metadata"]["namespace"], "ownerReferences": [owner(trial)]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": copy.deepcopy(a_spec("argv", "none", False))}
    edit(pod)
    return pod


def ask(api, pod):
    """(accepted, marked, message)"""
    status, answer = api.post(f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods?dryRun=All", pod)
    return status == 201, MARK in answer.get("metadata", {}).get("annotations", {}), answer.get("message", "")


def configure(k8s, tacho, katib=KATIB_CONFIG):
    k8s.kubectl("patch", "configmap", "tacho-config", "-n", "kubeflow", "--type=merge", "-p", json.dumps({"data": {"tacho-config.yaml": tacho}}))
    k8s.kubectl("patch", "configmap", "katib-config", "-n", "kubeflow", "--type=merge", "-p", json.dumps({"data": {"katib-config.yaml": katib}}))


def followed(api, trial, mode, copies):
    """Whether the webhook goes by the settings: seen at a pod where they show."""
    pod = a_pod(trial, put((*MAIN, "securityContext"), {"runAsUser": 77}))
    answer = api.post(f"/api/v1/namespaces/{NS}/pods?dryRun=All", pod)[1]
    found = [one for one in answer["spec"].get("initContainers" if mode == "native" else "containers", []) if one["name"] == "metrics-logger-and-collector"]
    return found and (found[0].get("securityContext", {}).get("runAsUser") == 77) == copies


def odd_pods(k8s, api, trial):
    for mode, copies in (("container", False), ("native", False), ("container", True)):
        configure(k8s, f"sidecarMode: {mode}\n", KATIB_CONFIG + ("init:\n  controller:\n    injectSecurityContext: true\n" if copies else ""))
        until(lambda: followed(api, trial, mode, copies), 30, "the settings")
        wrong = []
        for what, edit, possible in PODS:
            accepted, marked, why = ask(api, a_pod(trial, edit))
            without = a_pod(trial, edit)
            del without["metadata"]["ownerReferences"]
            fits = ask(api, without)[0]
            if not fits or not accepted or marked != possible:
                wrong.append(f"{what}: without tacho {fits}, accepted {accepted}, collector {marked}: {why[:600]}")
        check(f"odd: {len(PODS)} pods with {mode}{', contexts copied' if copies else ''}", not wrong, wrong)


def odd_customs(api, injection):
    wrong = []
    for number, (what, container) in enumerate(CUSTOM):
        body = a_trial(f"custom-{number}", NS, "Custom")
        body["spec"]["metricsCollector"]["collector"]["customCollector"] = container
        accepted, marked, why = ask(api, a_pod(injection.make(body), lambda pod: None))
        if not accepted or marked:
            wrong.append(f"{what}: accepted {accepted}, collector {marked}: {why[:400]}")
    check(f"odd: {len(CUSTOM)} Custom collectors that cannot be do not cost the pod", not wrong, wrong)


def cases(world, injection):
    k8s, api = world.k8s, Api(world.k8s)
    k8s.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NS, "labels": {LABEL: "enabled"}}})
    trial = injection.make(a_trial("odd", NS, "StdOut"))
    odd_pods(k8s, api, trial)
    odd_customs(api, injection)
    configure(k8s, "sidecarMode: container\n")
