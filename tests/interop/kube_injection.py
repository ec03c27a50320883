"""The webhook of tacho registered by URL with a real kube-apiserver: pods and jobs made with kubectl come out with the collector; and the whole
path without a kubelet: the containers of an injected pod are run as processes, and the Trial gets its final metrics."""
import json
import os
import shutil
import subprocess
import tempfile
import urllib.request

from common import BIN, ROOT, WORK, check, free_port, run, say, start, stop, until

KATIB_CONFIG = """apiVersion: config.kubeflow.org/v1beta1
kind: KatibConfig
runtime:
  metricsCollectors:
    - {kind: StdOut, image: "tacho-katib:0.1.0"}
    - {kind: File, image: "tacho-katib:0.1.0"}
"""
TRAINER = ("import time\nfor i in range(3):\n    print(f'epoch {i} accuracy=0.{5 + i} loss={1 - i / 10}', flush=True)\n    time.sleep(0.2)\n")


def owner(obj):
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "name": obj["metadata"]["name"], "uid": obj["metadata"]["uid"], "controller": True}


def a_job(trial, name, command=("python3", "-c", TRAINER)):
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "trainer:1", "command": list(command)}]}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": trial["metadata"]["namespace"], "ownerReferences": [owner(trial)]},
            "spec": {"template": template}}


def a_pod(job, name, container="main"):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": job["metadata"]["namespace"], "ownerReferences": [owner(job)]},
            "spec": {"restartPolicy": "Never", "containers": [{"name": container, "image": "trainer:1", "command": ["python3", "-c", TRAINER]}]}}


def names(pod_spec):
    return [container["name"] for container in pod_spec["containers"]]


class Injection:
    def __init__(self, world):
        self.world, self.k8s = world, world.k8s
        self.port, self.health = free_port(), free_port()
        self.k8s.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "katib-config", "namespace": "kubeflow"}, "data": {"katib-config.yaml": KATIB_CONFIG}})
        configuration = json.loads(self.k8s.kubectl("create", "--dry-run=client", "-o", "json", "-f", ROOT / "packaging/kubernetes/base/webhook.yaml"))
        for hook in configuration["webhooks"]:
            hook["clientConfig"] = {"url": f"https://127.0.0.1:{self.port}{hook['clientConfig']['service']['path']}"}
        self.k8s.apply(configuration)
        self.start()

    def start(self):
        """Told where the DB manager is: so is the collector then."""
        (WORK / "inject.log").unlink(missing_ok=True)
        self.process = start(BIN / "tacho-kube", "inject", "--kubeconfig", self.k8s.dir / "inject.conf", "--listen", f"127.0.0.1:{self.port}",
                             "--health-address", f"127.0.0.1:{self.health}", "--metrics-address", "0", "--service", "tacho-webhook", "--extra-name", "127.0.0.1",
                             "--cert-dir", self.k8s.dir / "cert", "--image-lookups=false", "--stop-delay", "0", log="inject.log", env={
                                 **os.environ, "KATIB_DB_MANAGER_SERVICE_IP": "127.0.0.1", "KATIB_DB_MANAGER_SERVICE_NAMESPACE": "",
                                 "KATIB_DB_MANAGER_SERVICE_PORT": self.world.db_address.rsplit(":", 1)[1]})

        def ready():
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.health}/readyz", timeout=2) as answer:
                    return answer.status == 200
            except OSError:
                return False
        check("inject has its certificate in Secret and caBundle, and is ready", until(ready, 60, "inject ready"))

    def make(self, obj):
        self.k8s.apply(obj)
        return self.k8s.get(obj["kind"], obj["metadata"]["name"], obj["metadata"]["namespace"])


def pod_level(injection, trial):
    injection.make(trial("pods", "labelled"))
    job = until(lambda: injection.k8s.get("job", "pods", "labelled"), 30, "the controller's job")
    check("pod level: the job's template is left alone", names(job["spec"]["template"]["spec"]) == ["main"], names(job["spec"]["template"]["spec"]))
    pod = injection.make(a_pod(job, "pods-1"))
    check("pod level: the pod has the collector", names(pod["spec"]) == ["main", "metrics-logger-and-collector"], names(pod["spec"]))
    check("pod level: shared processes, label, mark", pod["spec"].get("shareProcessNamespace") and pod["metadata"]["labels"].get("katib.kubeflow.org/trial") == "pods"
          and pod["metadata"].get("annotations", {}).get("tacho/collector-injected") == "pod", pod["metadata"])
    args = pod["spec"]["containers"][1]["args"]
    check("pod level: arguments in the contract's order", args[:6] == ["-t", "pods", "-m", "accuracy;loss", "-o-type", "maximize"], args)
    other = injection.make(a_pod(job, "pods-2", container="worker"))
    check("pod level: a pod without the primary container is unchanged", names(other["spec"]) == ["worker"] and not other["metadata"].get("labels"), other["metadata"])
    said = injection.k8s.kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", stdin=json.dumps(a_pod(job, "pods-3")))
    dry = json.loads(said[said.index("{"):])  # the webhook's warnings come first
    check("pod level: the same with --dry-run=server", names(dry["spec"]) == ["main", "metrics-logger-and-collector"])
    return pod


def job_level(injection, trial):
    made = injection.make(trial("jobs", "team"))
    job = until(lambda: injection.k8s.get("job", "jobs", "team"), 30, "the controller's job")
    template = job["spec"]["template"]
    check("job level: the job that the controller made carries the collector", names(template["spec"]) == ["main", "metrics-logger-and-collector"], names(template["spec"]))
    check("job level: the template is marked", template["metadata"].get("annotations", {}).get("tacho/collector-injected") == "job", template["metadata"])
    check("job level: it belongs to the Trial", job["metadata"]["ownerReferences"][0]["uid"] == made["metadata"]["uid"])
    plain = a_job(made, "not-a-trials")
    del plain["metadata"]["ownerReferences"]
    check("a job of nobody's is left alone", names(injection.make(plain)["spec"]["template"]["spec"]) == ["main"])


def whole_path(injection, pod, trial_name):
    """The pod's containers as processes in a PID namespace of their own; the collector reports, the controller writes the status."""
    if os.geteuid() != 0 or shutil.which("nsenter") is None:
        return say("the whole path needs root and nsenter")
    root = tempfile.mkdtemp(prefix="interop-pod-")
    for name in ("log", "bin"):
        os.mkdir(os.path.join(root, name))
    os.makedirs("/var/log/katib", exist_ok=True)
    os.makedirs("/tacho", exist_ok=True)
    pause = subprocess.Popen(["unshare", "--pid", "--mount", "--fork", "--mount-proc", "sh", "-c",
                              f"mount --bind {root}/log /var/log/katib && mount --bind {root}/bin /tacho && exec sleep 600"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        def inner():
            children = run("pgrep", "-P", pause.pid, rc=None).split()
            return children and "katib" in open(f"/proc/{children[0]}/mountinfo", encoding="utf-8").read() and children[0]
        pid = until(inner, 20, "the pod's namespaces")
        until(lambda: "sleep" in open(f"/proc/{pid}/cmdline", encoding="utf-8").read(), 20, "pause")
        enter = ["nsenter", "-t", pid, "--pid", "--mount", "--"]
        for container in pod["spec"].get("initContainers", []):
            words = container.get("command", []) + container.get("args", [])
            run(*enter, *[str(BIN / "tacho-katib") if word.endswith("tacho-katib") else str(BIN / "tacho-katib-exec") if word.endswith("tacho-katib-exec") else word
                          for word in words])
        main, sidecar = pod["spec"]["containers"]
        words = [word.replace("$$", "$") for word in main["command"] + main.get("args", [])]
        env = {**os.environ, "KATIB_TRIAL_NAME": trial_name}
        trainer = start(*enter, *words, log="pod-trainer.log", env=env)
        collector = start(*enter, BIN / "tacho-katib", "collect", *sidecar["args"], log="pod-collector.log", env=env)
        check("the trainer's launcher ends with 0", trainer.wait(60) == 0, (WORK / "pod-trainer.log").read_text()[-800:])
        check("the collector ends with 0", collector.wait(60) == 0, (WORK / "pod-collector.log").read_text()[-800:])
        check("rows came to the DB manager", injection.world.count(trial_name) == 6, injection.world.count(trial_name))
    finally:
        pause.kill()
        pause.wait()
        shutil.rmtree(root, ignore_errors=True)


def by_job_level(injection, trial, name):
    """From the Trial to its final metrics, in a namespace without the label. The pod is made as the job controller would make it: its template is
    injected already, and the pod hook leaves it alone."""
    world, k8s = injection.world, injection.k8s
    k8s.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    body = trial(name, name)
    body["spec"]["runSpec"]["spec"]["template"]["spec"]["containers"][0].update(command=["python3", "-c", TRAINER], args=[])
    injection.make(body)
    job = until(lambda: k8s.get("job", name, name), 30, "the controller's job")
    template = job["spec"]["template"]
    metadata = {"name": f"{name}-1", "namespace": name, "labels": template["metadata"].get("labels", {}), "annotations": template["metadata"].get("annotations", {}),
                "ownerReferences": [owner(job)]}
    made = injection.make({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]})
    check(f"{name}: one collector only, also at job level", names(made["spec"]) == ["main", "metrics-logger-and-collector"], names(made["spec"]))
    whole_path(injection, made, name)
    status = {"conditions": [{"type": "SuccessCriteriaMet", "status": "True"}, {"type": "Complete", "status": "True"}], "startTime": "2026-11-15T09:59:00Z",
              "completionTime": "2026-11-15T10:00:00Z"}
    k8s.kubectl("patch", "job", name, "-n", name, "--subresource=status", "--type=merge", "-p", json.dumps({"status": status}))
    check(f"{name}: Succeeded", world.reached(name, "Succeeded", name), world.conditions(name, name))
    metrics = {entry["name"]: entry["latest"] for entry in k8s.get("trial", name, name)["status"].get("observation", {}).get("metrics", [])}
    check(f"{name}: final metrics", metrics == {"accuracy": "0.7", "loss": "0.8"}, metrics)


def warnings_as_events(injection, trial):
    made = injection.make(trial("odd", "labelled", metricsCollector={"collector": {"kind": "Odd"}}))
    job = until(lambda: injection.k8s.get("job", "odd", "labelled"), 30, "the controller's job")
    injection.make(a_pod(job, "odd-1"))

    def told():
        events = json.loads(injection.k8s.kubectl("get", "events", "-n", "labelled", "-o", "json"))["items"]
        return [event for event in events if event["reason"] == "NotInjected" and event["involvedObject"].get("uid") == made["metadata"]["uid"]]
    check("a warning is an Event of the Trial too", until(told, 20, "the Event"))


def bundle_comes_back(injection):
    """Somebody sets the configuration back to what is in a repository. The rights to watch it are bound to its name."""
    where = ("mutatingwebhookconfiguration", "tacho.katib.kubeflow.org")
    bundles = lambda: [hook["clientConfig"].get("caBundle") for hook in injection.k8s.get(*where)["webhooks"]]  # noqa: E731
    before = bundles()
    injection.k8s.kubectl("patch", *where, "--type=json", "-p", json.dumps([{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]))
    check("a caBundle that is taken away comes back", until(lambda: bundles() == before, 30, "the caBundle"))
    log = (WORK / "inject.log").read_text()
    check("inject may do all that it wants", "403" not in log, log[-800:])


def hooks_without_a_webhook(injection):
    """While nobody answers: with conditions a Trial's job waits (its controller tries again) and nobody else's; without them nobody waits."""
    import kube_shapes
    k8s = injection.k8s
    api = kube_shapes.Api(k8s)
    owned = {name: k8s.get("trial", name, ns) for name, ns in (("jobs", "team"), ("pods", "labelled"))}
    pod_job = k8s.get("job", "pods", "labelled")
    nobodys = a_job(owned["jobs"], "nobodys")
    del nobodys["metadata"]["ownerReferences"]
    asked = {"a Trial's job": ("/apis/batch/v1/namespaces/team/jobs", a_job(owned["jobs"], "away")), "a Trial's pod": ("/api/v1/namespaces/labelled/pods", a_pod(pod_job, "away")),
             "another job": ("/apis/batch/v1/namespaces/team/jobs", nobodys)}
    taken = lambda: {name: api.post(path + "?dryRun=All", body)[0] == 201 for name, (path, body) in asked.items()}  # noqa: E731
    stop(injection.process)
    got = taken()
    check("away: with conditions only what a Trial owns is held up", got == {"a Trial's job": False, "a Trial's pod": False, "another job": True}, got)
    patch = [{"op": "remove", "path": f"/webhooks/{hook}/matchConditions"} for hook in (0, 1)] + [
        {"op": "replace", "path": f"/webhooks/{hook}/failurePolicy", "value": "Ignore"} for hook in (0, 1)]  # as overlays/no-conditions has it
    where = ("mutatingwebhookconfiguration", "tacho.katib.kubeflow.org")
    before = k8s.get(*where)["webhooks"]
    k8s.kubectl("patch", *where, "--type=json", "-p", json.dumps(patch))
    check("away: without conditions nobody is held up", until(lambda: all(taken().values()), 20, "the hooks as they are now"))
    k8s.kubectl("patch", *where, "--type=merge", "-p", json.dumps({"webhooks": before}))
    injection.start()
    check("away: and back again, a Trial's job is taken", until(lambda: all(taken().values()), 20, "the webhook"))


def cases(world):
    import kube_again
    import kube_odd
    import kube_shapes
    import kubernetes as part
    injection = Injection(world)
    trials = world.trials("injection")
    until(lambda: "leads" in (WORK / "trials-injection.log").read_text(), 40, "a leader")
    pod_level(injection, part.trial)
    job_level(injection, part.trial)
    warnings_as_events(injection, part.trial)
    bundle_comes_back(injection)
    by_job_level(injection, part.trial, "path")
    hooks_without_a_webhook(injection)
    kube_shapes.cases(world, injection)
    kube_odd.cases(world, injection)
    kube_again.cases(world, injection, part.trial)
    stop(trials)
    stop(injection.process)
    # The same path with Katib's own DB manager in the place of tacho's.
    import katib_parts
    try:
        programs = katib_parts.install()
    except RuntimeError as error:
        return say(f"katib-db-manager cannot be built here: {str(error)[-300:]}")
    postgres = katib_parts.Postgres()
    manager = katib_parts.real_manager(programs, postgres, postgres.database("kubernetes"), "real-manager").up()
    world.db_address, world.count = manager.address, lambda name: len(manager.rows(name))
    injection.start()
    trials = world.trials("real-manager")
    until(lambda: "leads" in (WORK / "trials-real-manager.log").read_text(), 40, "a leader")
    by_job_level(injection, part.trial, "real")
    world.k8s.kubectl("delete", "trial", "real", "-n", "real", "--timeout=30s")
    check("real: the finalizer has deleted the rows", world.count("real") == 0)
    stop(trials)
    stop(injection.process)
    manager.down()
    postgres.down()
