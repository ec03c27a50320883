#!/usr/bin/env python3
"""scripts/interop kubernetes: tacho's manifests, webhook and trials controller with a real kube-apiserver and etcd; objects are made with
kubectl and read back."""
import json
import pathlib
import re
import signal
import sqlite3
import sys
import time

from common import BIN, ROOT, WORK, case, check, finish, free_port, go_install, run, say, start, stop, until

sys.path[:0] = [str(ROOT / "tests/e2e")]
import kube_servers  # noqa: E402

TRIAL_API = "kubeflow.org/v1beta1"
ROWS = [("2026-11-15 10:00:00.000000", "accuracy", "0.5"), ("2026-11-15 10:00:01.000000", "accuracy", "0.91"), ("2026-11-15 10:00:02.000000", "accuracy", "0.80"),
        ("2026-11-15 10:00:02.000000", "loss", "0.30")]
CONTAINER = {"name": "main", "image": "trainer:1", "command": ["python", "train.py"], "args": ["--lr", "0.1 2"]}


def trial(name, ns, kind="Job", **spec):
    api = "batch/v1" if kind == "Job" else "kubeflow.org/v1"
    template = {"spec": {"restartPolicy": "Never", "containers": [CONTAINER]}}
    body = {"template": template} if kind == "Job" else {"pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": template}}}
    return {"apiVersion": TRIAL_API, "kind": "Trial", "metadata": {"name": name, "namespace": ns, "labels": {"katib.kubeflow.org/experiment": "exp"}},
            "spec": {"objective": {"type": "maximize", "objectiveMetricName": "accuracy", "additionalMetricNames": ["loss"],
                                   "metricStrategies": [{"name": "accuracy", "value": "max"}, {"name": "loss", "value": "min"}]},
                     "primaryContainerName": "main", "runSpec": {"apiVersion": api, "kind": kind, "spec": body},
                     "metricsCollector": {"collector": {"kind": "StdOut"}}, "unknownToTacho": {"kept": True}, **spec}}


class World:
    """Kubernetes with the manifests applied, and the DB manager."""

    def __init__(self):
        self.k8s = kube_servers.Kubernetes()
        self.ports = {}  # of /metrics, by the replica's name
        self.db_file = self.k8s.dir / "katib.db"
        (WORK / "tacho-db.log").unlink(missing_ok=True)
        self.db = start(BIN / "tacho-katib", "db", "--listen", "127.0.0.1:0", "--store", self.db_file, log="tacho-db.log")
        found = until(lambda: re.search(r"127\.0\.0\.1:(\d+)", (WORK / "tacho-db.log").read_text()), 20, "tacho-katib db")
        self.db_address = f"127.0.0.1:{found[1]}"

    def rows(self, name):
        with sqlite3.connect(self.db_file, timeout=20) as store:
            store.executemany("INSERT INTO observation_logs (trial_name, time, metric_name, value) VALUES (?,?,?,?)", [(name, *row) for row in ROWS])
        store.close()

    def count(self, name):
        with sqlite3.connect(self.db_file, timeout=20) as store:
            return store.execute("SELECT count(*) FROM observation_logs WHERE trial_name = ?", (name,)).fetchone()[0]

    def trials(self, identity, mode="own"):
        (WORK / f"trials-{identity}.log").unlink(missing_ok=True)
        self.ports[identity] = free_port()
        return start(BIN / "tacho-kube", "trials", "--mode", mode, "--kubeconfig", self.k8s.dir / "trials.conf", "--db", self.db_address,
                     "--identity", identity, "--health-address", "0", "--metrics-address", f"127.0.0.1:{self.ports[identity]}", log=f"trials-{identity}.log")

    def conditions(self, name, ns="team"):
        found = self.k8s.get("trial", name, ns)
        return [] if found is None else [(entry["type"], entry["status"]) for entry in found.get("status", {}).get("conditions", [])]

    def reached(self, name, state, ns="team", seconds=30):
        try:
            until(lambda: (state, "True") in self.conditions(name, ns), seconds)
            return True
        except TimeoutError:
            return False

    def finish_job(self, name, condition="Complete"):
        status = {"conditions": [{"type": condition, "status": "True", "reason": "Done", "lastTransitionTime": "2026-11-15T10:00:00Z"},
                                 {"type": "SuccessCriteriaMet" if condition == "Complete" else "FailureTarget", "status": "True"}],
                  "startTime": "2026-11-15T09:59:00Z"}
        if condition == "Complete":
            status["completionTime"] = "2026-11-15T10:00:00Z"
        self.k8s.kubectl("patch", "job", name, "-n", "team", "--subresource=status", "--type=merge", "-p", json.dumps({"status": status}))


def manifests(world):
    k8s = world.k8s
    k8s.kubectl("create", "namespace", "kubeflow")
    k8s.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}},
              {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "labelled", "labels": {"katib.kubeflow.org/metrics-collector-injection": "enabled"}}})
    k8s.install_crds()
    base = ROOT / "packaging/kubernetes"
    for overlay in ("overlays/selector-b", "overlays/selector-c", "overlays/selector-d", "overlays/no-conditions", "overlays/own"):
        said = k8s.kubectl("apply", "-k", base / overlay, "--dry-run=server", rc=None)
        check(f"{overlay} is accepted by the server", "error" not in said.lower() and "created (server dry run)" in said, said[-800:])
    may = lambda verb, what, *more, who="trials": k8s.kubectl("auth", "can-i", verb, what, *more, user=who, rc=None).strip().splitlines()[-1]  # noqa: E731
    k8s.kubectl("apply", "-k", base / "base")
    check("who only compares may not write", [may(verb, what, "-n", "team") for verb, what in (
        ("update", "trials/status.kubeflow.org"), ("patch", "trials.kubeflow.org"), ("create", "jobs.batch"), ("create", "events"), ("list", "configmaps"))] == ["no"] * 5)
    check("but may read what it compares", [may(*words) for words in (("watch", "trials.kubeflow.org", "-n", "team"), ("get", "configmaps/katib-config", "-n", "kubeflow"))] == ["yes"] * 2)
    hooks = "mutatingwebhookconfigurations.admissionregistration.k8s.io"
    check("inject may not write a Trial, a job or a pod, nor read what is not its own", [may(*words, who="inject") for words in (
        ("update", "trials.kubeflow.org", "-n", "team"), ("update", "trials/status.kubeflow.org", "-n", "team"), ("create", "jobs.batch", "-n", "team"), ("create", "pods", "-n", "team"),
        ("get", "pods", "-n", "team"), ("list", "secrets", "-n", "kubeflow"), ("get", "secrets/other", "-n", "kubeflow"), ("create", "secrets", "-n", "kubeflow"),
        ("get", "configmaps", "-n", "team"), ("patch", f"{hooks}/other"), ("create", hooks), ("delete", f"{hooks}/tacho.katib.kubeflow.org"))] == ["no"] * 12)
    check("but may do what it is for", [may(*words, who="inject") for words in (
        ("watch", "trials.kubeflow.org", "-n", "team"), ("watch", "jobs.batch", "-n", "team"), ("watch", "namespaces"), ("watch", "configmaps", "-n", "kubeflow"),
        ("update", "secrets/tacho-webhook-cert", "-n", "kubeflow"), ("patch", f"{hooks}/tacho.katib.kubeflow.org"), ("create", "events", "-n", "team"))] == ["yes"] * 7)
    said = k8s.kubectl("apply", "-k", base / "overlays/own")
    check("the manifests with --mode own are created", "deployment.apps/tacho-trials configured" in said and "tacho-inject" in said, said)
    # Without a webhook that answers, failurePolicy Fail would refuse every job of a Trial; the cases register it by URL.
    k8s.kubectl("delete", "mutatingwebhookconfiguration", "tacho.katib.kubeflow.org")
    check("trials may write the status", may("update", "trials/status.kubeflow.org", "-n", "team") == "yes")
    check("trials may not read secrets", may("get", "secrets", "-n", "kubeflow") == "no")
    check("trials may not write pods", may("create", "pods", "-n", "team") == "no")


def chart(world):
    """The Helm chart against the same server."""
    try:
        helm = go_install("helm.sh/helm/v3/cmd/helm", "v3.18.6")
    except RuntimeError as error:
        return say(f"helm cannot be built here: {str(error)[-300:]}")
    folder = ROOT / "packaging/helm/tacho-katib"
    world.k8s.kubectl("create", "namespace", "by-helm")
    check("helm lint", "0 chart(s) failed" in run(helm, "lint", folder, rc=None))
    for name, sets in (("defaults", []), ("everything", ["--set", "trials.mode=own,serviceMonitor.enabled=true,webhook.selector=C,webhook.optOut=true,webhook.matchConditions=false"]),
                       ("selector B", ["--set", "webhook.selector=B"]), ("a kind of one's own", ["--set-json", 'trialResources=[{"kind":"Workflow","version":"v1alpha1","group":"argoproj.io","resource":"workflows"}]'])):
        text = run(helm, "template", "t", folder, "-n", "by-helm", "--kube-version", kube_servers.VERSION, *sets, rc=None)
        objects = re.sub(r"(?ms)^---\n# Source: [^\n]*servicemonitor.*?(?=^---|\Z)", "", text)
        said = world.k8s.kubectl("apply", "-n", "by-helm", "--dry-run=server", "-f", "-", stdin=objects, rc=None)
        check(f"helm template with {name} is accepted by the server", "rror" not in said and "server dry run" in said, said[-800:])
        policy = "Ignore" if "matchConditions=false" in str(sets) else "Fail"
        check(f"helm template with {name}: both hooks {policy}", re.findall(r"failurePolicy: (\w+)", text) == [policy] * 2, re.findall(r"failurePolicy: (\w+)", text))
    template = lambda *sets: run(helm, "template", "t", folder, "-n", "by-helm", "--kube-version", kube_servers.VERSION, *sets)  # noqa: E731
    check("one replica has no disruption budget, which would hold up every drain", [template("--set", f"inject.replicas={count}").count("kind: PodDisruptionBudget") for count in (1, 2)] == [1, 2])
    check("inject may reach registries wherever the API server is", template("--set-json", "networkPolicy.apiServerPorts=[6443]").count("port: 443, protocol") == 1)
    same_rights(world, run(helm, "template", "t", folder, "-n", "by-helm", "--kube-version", kube_servers.VERSION, "--set", "trials.mode=own"))


def same_rights(world, text):
    """The chart gives the rights of the manifests, no more and no less: asked of the server in the place of each service account."""
    rights = [part for part in re.split(r"(?m)^---\n", text) if re.search(r"(?m)^kind: (ServiceAccount|(Cluster)?Role(Binding)?)$", part)]
    world.k8s.kubectl("apply", "-f", "-", stdin="\n---\n".join(rights))
    for name in ("inject", "trials"):
        listed = lambda ns: sorted(world.k8s.kubectl("auth", "can-i", "--list", "-n", ns, "--as", f"system:serviceaccount:{ns}:tacho-{name}").splitlines())  # noqa: E731,B023
        ours = until(lambda: listed("by-helm") if len(listed("by-helm")) > 10 else None, 20, "the chart's rights")  # noqa: B023
        manifests_rights = listed("kubeflow")
        check(f"chart and manifests give {name} the same rights", ours == manifests_rights, sorted(set(ours) ^ set(manifests_rights)))
    world.k8s.kubectl("delete", "-f", "-", stdin="\n---\n".join(rights))


def life(world):
    k8s = world.k8s
    leader = world.trials("one")
    until(lambda: "leads" in (WORK / "trials-one.log").read_text(), 30, "a leader")
    for name, more in (("good", {}), ("kept", {"retainRun": True}), ("bad", {}), ("stopped", {})):
        k8s.apply(trial(name, "team", **more))
    for name in ("good", "kept", "bad", "stopped"):
        check(f"{name}: job made, Trial Running", world.reached(name, "Running"))
    got = k8s.get("trial", "good", "team")
    job = k8s.get("job", "good", "team")
    check("unknown fields are kept", got["spec"]["unknownToTacho"] == {"kept": True})
    check("the finalizer is there", "clean-metrics-in-db" in got["metadata"]["finalizers"])
    check("the job belongs to the Trial", job["metadata"]["ownerReferences"][0]["uid"] == got["metadata"]["uid"] and job["metadata"]["ownerReferences"][0]["controller"])
    for name in ("good", "kept", "stopped"):
        world.rows(name)
    began = time.monotonic()
    world.finish_job("good")
    check("good: Succeeded", world.reached("good", "Succeeded"))
    say(f"from the job's end to the status, kubectl included: {time.monotonic() - began:.2f} s")
    got = k8s.get("trial", "good", "team")
    metrics = {entry["name"]: (entry["min"], entry["max"], entry["latest"]) for entry in got["status"].get("observation", {}).get("metrics", [])}
    check("good: observation", metrics == {"accuracy": ("0.5", "0.91", "0.80"), "loss": ("0.30", "0.30", "0.30")}, metrics)
    check("good: conditions", world.conditions("good") == [("Created", "True"), ("Running", "False"), ("Succeeded", "True")], world.conditions("good"))

    def deleted():
        found = k8s.get("job", "good", "team")
        return found is None or "deletionTimestamp" in found["metadata"]
    check("good: job deleted in the foreground", bool(until(deleted, 20)))
    world.finish_job("kept")
    check("kept: Succeeded", world.reached("kept", "Succeeded"))
    check("kept: job stays", "deletionTimestamp" not in k8s.get("job", "kept", "team")["metadata"])
    world.finish_job("bad", "Failed")
    check("bad: Failed", world.reached("bad", "Failed"))
    patch = [{"op": "add", "path": "/status/conditions/-", "value": {"type": "EarlyStopped", "status": "True", "reason": "TrialEarlyStopped", "message": "m"}}]
    k8s.kubectl("patch", "trial", "stopped", "-n", "team", "--subresource=status", "--type=json", "-p", json.dumps(patch))
    until(lambda: "observation" in k8s.get("trial", "stopped", "team")["status"], 20, "observation of an early-stopped Trial")
    check("stopped: EarlyStopped kept, observation set", ("EarlyStopped", "True") in world.conditions("stopped"), world.conditions("stopped"))
    events = json.loads(k8s.kubectl("get", "events", "-n", "team", "-o", "json"))["items"]
    check("Events tell of it", {"JobCreated", "JobSucceeded", "JobFailed"} <= {event["reason"] for event in events}, [event["reason"] for event in events])
    k8s.kubectl("delete", "trial", "kept", "-n", "team", "--timeout=30s")
    check("deletion: finalizer removed, rows deleted", k8s.get("trial", "kept", "team") is None and world.count("kept") == 0)
    # PyTorchJob through its CRD.
    k8s.apply(trial("torch", "team", "PyTorchJob"))
    check("torch: Running", world.reached("torch", "Running"))
    world.rows("torch")
    k8s.kubectl("patch", "pytorchjob", "torch", "-n", "team", "--subresource=status", "--type=merge", "-p",
                json.dumps({"status": {"conditions": [{"type": "Succeeded", "status": "True"}]}}))
    check("torch: Succeeded", world.reached("torch", "Succeeded"))
    return leader


def restart_and_failover(world):
    """The API server goes away and comes back; then the leader is killed."""
    k8s = world.k8s
    replicas = [world.trials("first")]
    leader = replicas[0]
    until(lambda: "leads" in (WORK / "trials-first.log").read_text(), 40, "a leader")
    replicas.append(world.trials("second"))
    k8s.apply(trial("fail-over", "team"))
    check("fail-over: Running", world.reached("fail-over", "Running"))
    world.rows("fail-over")
    leader.send_signal(signal.SIGKILL)
    killed = time.monotonic()
    world.finish_job("fail-over")
    check("the other replica goes on", world.reached("fail-over", "Succeeded", seconds=40))
    took = time.monotonic() - killed
    check("within 15 s of the kill", took < 15, took)
    say(f"kill -9 of the leader to the status by the other: {took:.1f} s")
    stop(k8s.server, signal.SIGKILL)
    k8s.restart()
    until(lambda: "ok" == k8s.kubectl("get", "--raw", "/readyz", rc=None).strip(), 120, "kube-apiserver ready again")
    replicas.append(world.trials("third"))  # the second may have given up its lease meanwhile
    k8s.apply(trial("after", "team"))
    check("after a restart of the server: Running", world.reached("after", "Running", seconds=60))
    world.rows("after")
    world.finish_job("after")
    if not check("after a restart of the server: Succeeded", world.reached("after", "Succeeded", seconds=60), world.conditions("after")):
        for name in ("second", "third"):
            say(f"{name}: {(WORK / f'trials-{name}.log').read_text()[-2000:]}")
            say(run("curl", "-s", f"http://127.0.0.1:{world.ports[name]}/metrics", rc=None))
    for replica in replicas:
        stop(replica)


def main():
    world = World()
    say(f"kube-apiserver {json.loads(world.k8s.kubectl('version', '-o', 'json'))['serverVersion']['gitVersion']}, "
        f"{run('etcd', '--version').splitlines()[0]}")
    case(manifests, world)
    case(chart, world)
    leader = []
    case(lambda: leader.append(life(world)))
    if leader:
        stop(leader[0])
    case(restart_and_failover, world)
    injection = pathlib.Path(__file__).with_name("kube_injection.py")
    if injection.exists():
        import kube_injection
        case(kube_injection.cases, world)
    finish()


if __name__ == "__main__":
    main()
