"""What the double of an API server knows: kinds, objects with their versions, watches, logs of pods."""
import base64
import copy
import datetime
import json
import re
import ssl
import threading
import urllib.parse
import urllib.request
import uuid

import faults
from faults import Answer
from kube_patch import Refused, apply_json_patch

KINDS = {
    "v1": {"namespaces": ("Namespace", False), "pods": ("Pod", True), "configmaps": ("ConfigMap", True), "secrets": ("Secret", True), "events": ("Event", True)},
    "batch/v1": {"jobs": ("Job", True)},
    "kubeflow.org/v1": {"pytorchjobs": ("PyTorchJob", True), "tfjobs": ("TFJob", True), "mpijobs": ("MPIJob", True), "xgboostjobs": ("XGBoostJob", True)},
    "kubeflow.org/v1beta1": {"trials": ("Trial", True), "experiments": ("Experiment", True), "suggestions": ("Suggestion", True)},
    "trainer.kubeflow.org/v1alpha1": {"trainjobs": ("TrainJob", True)},
    "jobset.x-k8s.io/v1alpha2": {"jobsets": ("JobSet", True)},
    "argoproj.io/v1alpha1": {"workflows": ("Workflow", True)},
    "coordination.k8s.io/v1": {"leases": ("Lease", True)},
    "admissionregistration.k8s.io/v1": {"mutatingwebhookconfigurations": ("MutatingWebhookConfiguration", False),
                                        "validatingwebhookconfigurations": ("ValidatingWebhookConfiguration", False)},
}
BUILT_IN = {"v1", "batch/v1", "coordination.k8s.io/v1", "admissionregistration.k8s.io/v1"}  # items of their lists do not say what they are
WITHOUT_STATUS = {"configmaps", "secrets", "events", "leases", "mutatingwebhookconfigurations", "validatingwebhookconfigurations"}
NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


def now_text():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Stream(Answer):
    """The answer to a watch: the handler writes it as it comes."""

    def __init__(self, query, match, version):
        super().__init__(200, b"", None, "application/json", "watch")
        self.query, self.match, self.version = query, match, version


class Raw:
    """Bytes in the place of an event: as they are, slowly, or with the connection cut behind them."""

    def __init__(self, data, cut=False, slow_s=0.0):
        self.data, self.cut, self.slow_s = data, cut, slow_s


class PodLog:
    """Of one container. Every request ends when it has sent something: the reader has to resume."""

    def __init__(self):
        self.lines = []         # "2026-11-15T10:00:00.000000001Z text"
        self.sent = 0
        self.cut = 0            # so many bytes of the next answer's end are lost
        self.ended = False
        self.previous = []      # of the instance before the last restart

    def since(self, moment):
        text = "".join(line + "\n" for line in self.lines if line[:19] >= moment[:19]).encode()
        text, self.cut, self.sent = text[:len(text) - self.cut], 0, len(self.lines)
        return text


class Kube(faults.Double):
    def __init__(self, config=None, rules=(), log_path=None):
        super().__init__(rules, log_path)
        self.config = {"bookmark_s": 60, "gone_as": "event", "minor": "34", **(config or {})}
        self.changed = threading.Condition(self.lock)
        self.kinds = copy.deepcopy(KINDS)  # a test may add some and take others away
        self.objects = {}       # (api version, plural) -> {(namespace, name): object}
        self.version = 100
        self.oldest = 0         # versions below this are forgotten
        self.history = []       # (version, type, (api version, plural), object)
        self.pages = {}         # continue token -> (items left, version)
        self.cuts = 0
        self.silent = False
        self.injected = []      # (number, event) for every watch
        self.watches = 0        # open ones
        self.webhooks = []      # {"url", "plurals", "ca", "operations", "when": function of (object, namespace)}
        self.pod_logs = {}      # (namespace, pod, container) -> PodLog
        self.writes = []        # (time, method, path, user) of what changed something

    # --- what a test does ---
    def compact(self):
        with self.changed:
            self.oldest = self.version
            self.history = []
            self.pages = {}

    def cut(self):
        with self.changed:
            self.cuts += 1
            self.changed.notify_all()

    def inject(self, event, plural=None):
        """Into every watch, or into those of one resource."""
        with self.changed:
            self.injected.append((event, plural))
            self.changed.notify_all()

    def bookmark(self):
        self.inject("bookmark")

    def set_silent(self, silent):
        with self.changed:
            self.silent = silent
            self.changed.notify_all()

    def put(self, api, plural, obj, event=None):
        """Stores an object as somebody else would; the new resourceVersion."""
        with self.changed:
            meta = obj.setdefault("metadata", {})
            kind, namespaced = self.kinds[api][plural]
            obj.setdefault("apiVersion", api)
            obj.setdefault("kind", kind)
            meta.setdefault("uid", str(uuid.uuid4()))
            meta.setdefault("creationTimestamp", now_text())
            key = (meta.get("namespace", "") if namespaced else "", meta["name"])
            store = self.objects.setdefault((api, plural), {})
            event = event or ("MODIFIED" if key in store else "ADDED")
            self.version += 1
            meta["resourceVersion"] = str(self.version)
            store[key] = obj
            self._tell(event, api, plural, obj)
            return meta["resourceVersion"]

    def change(self, api, plural, ns, name, edit):
        with self.changed:
            obj = copy.deepcopy(self.objects[(api, plural)][(ns, name)])
            edit(obj)
            return self.put(api, plural, obj)

    def get(self, api, plural, ns, name):
        with self.lock:
            return copy.deepcopy(self.objects.get((api, plural), {}).get((ns, name)))

    def all(self, api, plural):
        with self.lock:
            return [copy.deepcopy(obj) for obj in self.objects.get((api, plural), {}).values()]

    def drop(self, api, plural, ns, name, silent=False):
        """Deletes for good; silently as if it happened while nobody was connected."""
        with self.changed:
            obj = self.objects[(api, plural)].pop((ns, name))
            self.version += 1
            obj["metadata"]["resourceVersion"] = str(self.version)
            if not silent:
                self._tell("DELETED", api, plural, obj)

    def _tell(self, kind, api, plural, obj):
        self.history.append((self.version, kind, (api, plural), copy.deepcopy(obj)))
        self.changed.notify_all()

    # --- requests ---
    def resource(self, api, plural):
        if plural not in self.kinds.get(api, {}):
            raise Refused(404, "NotFound", "the server could not find the requested resource")
        return self.kinds[api][plural]

    def find(self, api, plural, ns, name):
        obj = self.objects.get((api, plural), {}).get((ns, name))
        if obj is None:
            raise Refused(404, "NotFound", f'{plural} "{name}" not found', name=name, kind=plural)
        return obj

    def list(self, api, plural, ns, query):
        kind, _ = self.resource(api, plural)
        token = query.get("continue")
        if token:
            if token not in self.pages:
                raise Refused(410, "Expired", "The provided continue parameter is too old")
            items, version = self.pages.pop(token)
        else:
            match = selector(ns, query)
            items = [obj for key, obj in sorted(self.objects.get((api, plural), {}).items()) if match(obj)]
            version = self.version
        limit = min(int(query.get("limit") or 0), self.config.get("page", 1 << 30))
        meta = {"resourceVersion": str(version)}
        if limit and len(items) > limit:
            next_token = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()
            self.pages[next_token] = (items[limit:], version)
            meta.update({"continue": next_token, "remainingItemCount": len(items) - limit})
            items = items[:limit]
        if api in BUILT_IN:
            items = [{key: value for key, value in obj.items() if key not in ("kind", "apiVersion")} for obj in items]
        return {"kind": kind + "List", "apiVersion": api, "metadata": meta, "items": items}

    def create(self, api, plural, ns, obj, query):
        kind, namespaced = self.resource(api, plural)
        meta = obj.setdefault("metadata", {})
        if obj.get("kind", kind) != kind or obj.get("apiVersion", api) != api:
            raise Refused(400, "BadRequest", "the object's kind or apiVersion does not fit the path")
        if namespaced:
            meta["namespace"] = ns
        obj = self.admit(api, plural, ns, obj, bool(query.get("dryRun")))
        meta = obj["metadata"]
        if not meta.get("name") and meta.get("generateName"):
            meta["name"] = meta["generateName"] + uuid.uuid4().hex[:5]
        if not NAME.fullmatch(meta.get("name", "")):
            raise Refused(422, "Invalid", f"metadata.name: invalid value {meta.get('name')!r}")
        if meta.get("resourceVersion"):
            raise Refused(400, "BadRequest", "resourceVersion should not be set on objects to be created")
        with self.changed:
            if (ns if namespaced else "", meta["name"]) in self.objects.get((api, plural), {}):
                raise Refused(409, "AlreadyExists", f'{plural} "{meta["name"]}" already exists', name=meta["name"], kind=plural)
            if plural not in WITHOUT_STATUS and plural != "pods":
                obj.pop("status", None)
            if query.get("dryRun"):
                return obj
            for owned in ("uid", "creationTimestamp"):
                meta.pop(owned, None)
            self.put(api, plural, obj)
            return obj

    def update(self, api, plural, ns, name, sub, new):
        with self.changed:
            old = self.find(api, plural, ns, name)
            meta = new.setdefault("metadata", {})
            if meta.get("name", name) != name:
                raise Refused(400, "BadRequest", "the name of the object does not fit the path")
            if meta.get("uid") and meta["uid"] != old["metadata"]["uid"]:
                raise Refused(409, "Conflict", "Precondition failed: UID in precondition and in object meta differ")
            if meta.get("resourceVersion") and meta["resourceVersion"] != old["metadata"]["resourceVersion"]:
                raise Refused(409, "Conflict", f'Operation cannot be fulfilled on {plural} "{name}": the object has been modified; '
                              "please apply your changes to the latest version and try again", name=name, kind=plural)
            if plural == "leases" and not meta.get("resourceVersion"):
                raise Refused(422, "Invalid", "metadata.resourceVersion: must be specified for an update")
            if sub == "status":
                result = copy.deepcopy(old)
                result["status"] = copy.deepcopy(new.get("status", {}))
            else:
                result = copy.deepcopy(new)
                for owned in ("uid", "creationTimestamp", "deletionTimestamp", "namespace"):
                    if owned in old["metadata"]:
                        result["metadata"][owned] = old["metadata"][owned]
                if plural not in WITHOUT_STATUS and "status" in old:
                    result["status"] = copy.deepcopy(old["status"])
            result["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
            if result == old:
                return old  # nothing changed: no new version
            if result["metadata"].get("deletionTimestamp") and not result["metadata"].get("finalizers"):
                self.objects[(api, plural)][(ns, name)] = result
                self.drop(api, plural, ns, name)
                return result
            self.put(api, plural, result)
            return result

    def delete(self, api, plural, ns, name, options):
        with self.changed:
            obj = copy.deepcopy(self.find(api, plural, ns, name))
            wanted = options.get("preconditions", {}).get("uid")
            if wanted and wanted != obj["metadata"]["uid"]:
                raise Refused(409, "Conflict", "the UID in the precondition does not match")
            if obj["metadata"].get("finalizers"):
                if not obj["metadata"].get("deletionTimestamp"):
                    obj["metadata"]["deletionTimestamp"] = now_text()
                    self.put(api, plural, obj)
                return obj
            self.drop(api, plural, ns, name)
            return {"kind": "Status", "apiVersion": "v1", "status": "Success", "details": {"name": name, "kind": plural, "uid": obj["metadata"]["uid"]}}

    # --- admission ---
    def admit(self, api, plural, ns, obj, dry_run):
        group, _, version = api.rpartition("/")
        kind, _ = self.kinds[api][plural]
        for _ in range(2):  # reinvocationPolicy: IfNeeded
            before = copy.deepcopy(obj)
            for hook in self.webhooks:
                if plural not in hook["plurals"] or ("when" in hook and not hook["when"](obj, ns)):
                    continue
                review = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {
                    "uid": str(uuid.uuid4()), "kind": {"group": group, "version": version, "kind": kind},
                    "resource": {"group": group, "version": version, "resource": plural}, "namespace": ns, "operation": "CREATE",
                    "name": obj["metadata"].get("name", ""), "object": obj, "oldObject": None, "dryRun": dry_run,
                    "userInfo": {"username": "system:serviceaccount:kubeflow:katib-controller"}}}
                context = ssl.create_default_context(cafile=hook.get("ca"))
                request = urllib.request.Request(hook["url"], json.dumps(review).encode(), {"Content-Type": "application/json"})
                with urllib.request.urlopen(request, timeout=5, context=context if hook["url"].startswith("https") else None) as reply:
                    answer = json.load(reply)
                response = answer["response"]
                if answer.get("apiVersion") != "admission.k8s.io/v1" or response.get("uid") != review["request"]["uid"]:
                    raise Refused(500, "InternalError", "the webhook's answer does not belong to the request")
                hook.setdefault("warnings", []).extend(response.get("warnings", []))
                if not response["allowed"]:
                    raise Refused(403, "Forbidden", f"admission webhook denied the request: {response.get('status', {}).get('message')}")
                if "patch" in response:
                    if response.get("patchType") != "JSONPatch":
                        raise Refused(500, "InternalError", "patchType is not JSONPatch")
                    obj = apply_json_patch(obj, json.loads(base64.b64decode(response["patch"])))
            if obj == before:
                break
        return obj


def selector(ns, query):
    """A function that tells whether an object is in the namespace and fits fieldSelector and labelSelector."""
    fields = dict(part.split("=", 1) for part in (query.get("fieldSelector") or "").replace("==", "=").split(",") if part)
    labels = dict(part.split("=", 1) for part in (query.get("labelSelector") or "").replace("==", "=").split(",") if "=" in part)

    def match(obj):
        meta = obj["metadata"]
        if ns and meta.get("namespace") != ns:
            return False
        if any(meta.get(name.removeprefix("metadata.")) != value for name, value in fields.items()):
            return False
        return all((meta.get("labels") or {}).get(name) == value for name, value in labels.items())
    return match
