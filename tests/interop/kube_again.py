"""Trials that come late, twice and again, with a real API server. No controllers run beside tacho, so that a job whose Trial is gone stays until this script deletes it: what
a slow garbage collector does, for as long as one likes."""
import json
import time

from common import WORK, check, until
from kube_injection import a_pod, owner
from kube_odd import MARK, ask
from kube_shapes import Api


def reasons(k8s, trial):
    events = json.loads(k8s.kubectl("get", "events", "-n", trial["metadata"]["namespace"], "-o", "json"))["items"]
    return {event["reason"]: event["message"] for event in events if event["involvedObject"].get("uid") == trial["metadata"]["uid"]}


def made_again(world, injection, trial):
    """Deleted and made again under its name while the first one's job is still there."""
    k8s, api = world.k8s, Api(world.k8s)
    injection.make(trial("again", "labelled"))
    job = until(lambda: k8s.get("job", "again", "labelled"), 30, "the first one's job")
    world.rows("again")
    k8s.kubectl("delete", "trial", "again", "-n", "labelled", "--timeout=30s")
    second = injection.make(trial("again", "labelled"))
    status = {"conditions": [{"type": "SuccessCriteriaMet", "status": "True"}, {"type": "Complete", "status": "True"}], "startTime": "2026-11-15T09:59:00Z",
              "completionTime": "2026-11-15T10:00:00Z"}
    k8s.kubectl("patch", "job", "again", "-n", "labelled", "--subresource=status", "--type=merge", "-p", json.dumps({"status": status}))
    check("again: the user is told of the first one's job", until(lambda: "ReconcileFailed" in reasons(k8s, second), 30, "the Event"))
    check("again: its end is none of the second one's", world.conditions("again", "labelled") == [("Created", "True")], world.conditions("again", "labelled"))
    accepted, marked, why = ask(api, a_pod(job, "again-1"))
    check("again: a pod of the first one's job is let through, and reports nothing for the second", accepted and not marked, why)
    k8s.kubectl("delete", "job", "again", "-n", "labelled", "--cascade=orphan", "--wait=false")
    remove_finalizers(k8s, "job", "again", "labelled")

    def own_job():
        found = k8s.get("job", "again", "labelled")
        return found if found and found["metadata"]["ownerReferences"][0]["uid"] == second["metadata"]["uid"] else None
    fresh = until(own_job, 60, "the second one's job")
    check("again: then the second one gets its own job", world.reached("again", "Running", "labelled"))
    accepted, marked, why = ask(api, a_pod(fresh, "again-2"))
    check("again: whose pods are injected", accepted and marked, why)


def remove_finalizers(k8s, kind, name, ns):
    """As the controller manager would, which is not there."""
    if k8s.get(kind, name, ns):
        k8s.kubectl("patch", kind, name, "-n", ns, "--type=merge", "-p", '{"metadata":{"finalizers":null}}', rc=None)


def at_once(world, injection, trial):
    """Made again as fast as can be, a few times: the pod that comes right after the job is injected, however far behind the watches are."""
    k8s, api = world.k8s, Api(world.k8s)
    missed = []
    for number in range(8):
        name = "quick"
        k8s.kubectl("create", "-f", "-", stdin=json.dumps({**trial(name, "labelled"), "spec": {**trial(name, "labelled")["spec"], "runSpec": {}}}))
        made = k8s.get("trial", name, "labelled")
        body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "labelled", "ownerReferences": [owner(made)]},
                "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "x", "command": ["true"]}]}}}}
        status, job = api.post("/apis/batch/v1/namespaces/labelled/jobs", body)
        job.update(apiVersion="batch/v1", kind="Job")
        accepted, marked, why = ask(api, a_pod(job, f"quick-{number}")) if status == 201 else (False, False, job.get("message"))
        if not accepted or not marked:
            missed.append((number, accepted, marked, why))
        k8s.kubectl("delete", "job", name, "-n", "labelled", "--cascade=background", "--wait=false")
        remove_finalizers(k8s, "job", name, "labelled")
        k8s.kubectl("delete", "trial", name, "-n", "labelled", "--timeout=30s")
    check("again: made eight times in a row, each one's first pod is injected", not missed, missed)


def late(world, injection, trial):
    """A job and its pod before the Trial that they name: nobody's, until it comes."""
    k8s, api = world.k8s, Api(world.k8s)
    nobody = {"apiVersion": "kubeflow.org/v1beta1", "kind": "Trial", "metadata": {"name": "late", "uid": "00000000-0000-0000-0000-000000000000"}}
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "x", "command": ["true"]}]}}
    job = injection.make({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "late", "namespace": "labelled", "ownerReferences": [owner(nobody)]}, "spec": {"template": template}})
    accepted, marked, why = ask(api, a_pod(job, "late-1"))
    check("late: a pod without its Trial is let through", accepted and not marked, why)
    made = injection.make(trial("late", "labelled"))
    check("late: the Trial does not take the other job for its own", until(lambda: "ReconcileFailed" in reasons(k8s, made), 30, "the Event"), reasons(k8s, made))
    accepted, marked, why = ask(api, a_pod(job, "late-2"))
    check("late: and a pod of that job stays nobody's", accepted and not marked, why)


def deleted_in_the_middle(world, injection, trial):
    """Deleted while it runs, and while its rows are waited for."""
    k8s = world.k8s
    k8s.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "passing"}})
    for name in ("runs", "ends"):
        injection.make(trial(name, "passing"))
        check(f"middle: {name}: Running", world.reached(name, "Running", "passing"))
    k8s.kubectl("delete", "trial", "runs", "-n", "passing", "--timeout=30s")
    check("middle: deleted while it runs", k8s.get("trial", "runs", "passing") is None)
    status = {"conditions": [{"type": "SuccessCriteriaMet", "status": "True"}, {"type": "Complete", "status": "True"}], "startTime": "2026-11-15T09:59:00Z",
              "completionTime": "2026-11-15T10:00:00Z"}
    k8s.kubectl("patch", "job", "ends", "-n", "passing", "--subresource=status", "--type=merge", "-p", json.dumps({"status": status}))
    k8s.kubectl("delete", "trial", "ends", "-n", "passing", "--timeout=30s")
    check("middle: deleted while its rows are waited for", k8s.get("trial", "ends", "passing") is None)
    for name in ("runs", "ends"):
        k8s.kubectl("delete", "job", name, "-n", "passing", "--wait=false", rc=None)
        remove_finalizers(k8s, "job", name, "passing")
    time.sleep(3)
    check("middle: nobody has made their jobs again", [k8s.get("job", name, "passing") for name in ("runs", "ends")] == [None, None])


def cases(world, injection, trial):
    made_again(world, injection, trial)
    at_once(world, injection, trial)
    late(world, injection, trial)
    deleted_in_the_middle(world, injection, trial)
    text = "".join((WORK / name).read_text() for name in ("inject.log", "trials-injection.log"))
    check("again: no right was missing", "403" not in text and "forbidden" not in text.lower(), text[-800:])
