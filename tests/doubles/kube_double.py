#!/usr/bin/env python3
"""A Kubernetes API server to be broken, as far as tacho speaks to one.

Get, List (limit and continue, resourceVersion), Watch (chunked, bookmarks, resume, 410), Create (generateName, mutating webhooks with
RFC 6902 patches), Update with 409, JSON and merge patch, status subresource, finalizers, Delete with preconditions, discovery, Status
errors, TLS with client certificates or bearer tokens.

    kube_double.py [--config FILE] + the options of faults.py

The configuration is JSON:

    {"tokens": ["secret"],           one of these, or a client certificate, is needed; without this key everybody may
     "bookmark_s": 60,               how often a watch gets a bookmark
     "gone_as": "event",             how a watch of a forgotten version is refused: "status" (HTTP 410) or "event" (200 and ERROR)
     "page": 3,                      a page has no more than this, whatever limit was asked for
     "minor": "34"}

For the tests, beside what faults.py has (a test in Python calls the methods of Kube instead):

    POST /__do    {"compact": true}        forgets all versions but the present one, and lists that are half read
                  {"cut": true}            ends every watch in the middle
                  {"bookmark": true}       a bookmark for every watch, now
                  {"event": {…}}           any event into every watch
                  {"silent": true|false}   watches stop sending, as a dead connection does
"""
import base64
import copy
import datetime
import json
import re
import ssl
import threading
import time
import urllib.parse
import urllib.request
import uuid

import faults
from faults import Answer, json_answer

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


class Refused(Exception):
    def __init__(self, code, reason, message, **details):
        super().__init__(message)
        self.code, self.reason, self.message, self.details = code, reason, message, details

    def status(self):
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": self.message, "reason": self.reason,
                "code": self.code, "details": self.details}


def now_text():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def merge(target, patch):
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    target = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        else:
            target[key] = merge(target.get(key), value)
    return target


def apply_json_patch(document, operations):
    """RFC 6902."""
    def steps(pointer):
        if pointer == "":
            return []
        if not pointer.startswith("/"):
            raise Refused(422, "Invalid", f"bad pointer {pointer}")
        return [part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/")]

    def parent_of(path):
        at = document
        for part in path[:-1]:
            at = at[int(part)] if isinstance(at, list) else at[part]
        return at

    def value_at(pointer):
        at = document
        for part in steps(pointer):
            at = at[int(part)] if isinstance(at, list) else at[part]
        return at

    def add(pointer, value, replace=False):
        nonlocal document
        path = steps(pointer)
        if not path:
            document = value
            return
        parent, last = parent_of(path), path[-1]
        if isinstance(parent, list):
            if replace:
                parent[int(last)] = value
            elif last == "-":
                parent.append(value)
            elif int(last) <= len(parent):
                parent.insert(int(last), value)
            else:
                raise IndexError(pointer)
        else:
            if replace and last not in parent:
                raise KeyError(pointer)
            parent[last] = value

    def remove(pointer):
        path = steps(pointer)
        parent = parent_of(path)
        if isinstance(parent, list):
            return parent.pop(int(path[-1]))
        return parent.pop(path[-1])

    document = copy.deepcopy(document)
    for operation in operations:
        try:
            kind, pointer = operation["op"], operation["path"]
            if kind == "add":
                add(pointer, copy.deepcopy(operation["value"]))
            elif kind == "replace":
                add(pointer, copy.deepcopy(operation["value"]), replace=True)
            elif kind == "remove":
                remove(pointer)
            elif kind == "move":
                add(pointer, remove(operation["from"]))
            elif kind == "copy":
                add(pointer, copy.deepcopy(value_at(operation["from"])))
            elif kind == "test":
                if value_at(pointer) != operation["value"]:
                    raise Refused(422, "Invalid", f"test failed at {pointer}")
            else:
                raise Refused(422, "Invalid", f"unknown operation {kind}")
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise Refused(422, "Invalid", f"the patch does not fit at {operation}: {error!r}") from None
    return document


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
        for round_number in (1, 2):  # reinvocationPolicy: IfNeeded
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


class Handler(faults.Handler):
    timeout = None  # a watch is silent for long

    def error_body(self, action):
        code = action["status"]
        refused = Refused(code, action.get("code", "InternalError"), action.get("message", "a fault of the test"), **action.get("extra", {}))
        return json.dumps(refused.status()), "application/json"

    def control(self, body):
        if self.route() != "/__do":
            return None
        wanted, kube = json.loads(body), self.double
        if wanted.get("compact"):
            kube.compact()
        if wanted.get("cut"):
            kube.cut()
        if wanted.get("bookmark"):
            kube.bookmark()
        if "event" in wanted:
            kube.inject(wanted["event"])
        if "silent" in wanted:
            kube.set_silent(wanted["silent"])
        for entry in wanted.get("put", []):
            kube.put(entry["api"], entry["plural"], entry["object"])
        for entry in wanted.get("drop", []):
            kube.drop(entry["api"], entry["plural"], entry.get("ns", ""), entry["name"], entry.get("silent", False))
        return Answer(204)

    def allowed(self):
        tokens = self.double.config.get("tokens")
        if tokens is None:
            return True
        if hasattr(self.connection, "getpeercert") and self.connection.getpeercert():
            return True
        return self.headers.get("Authorization", "").removeprefix("Bearer ") in tokens

    def answer(self, body):
        try:
            if not self.allowed():
                raise Refused(401, "Unauthorized", "Unauthorized")
            return self.route_to(body)
        except Refused as refused:
            return json_answer(refused.code, refused.status())

    def route_to(self, body):
        kube = self.double
        path = urllib.parse.urlsplit(self.path)
        query = {key: values[-1] for key, values in urllib.parse.parse_qs(path.query, keep_blank_values=True).items()}
        parts = [urllib.parse.unquote(part) for part in path.path.strip("/").split("/")]
        if parts == ["version"]:
            return json_answer(200, {"major": "1", "minor": kube.config["minor"], "gitVersion": f"v1.{kube.config['minor']}.0"})
        if parts[0] == "api" and len(parts) >= 2:
            api, rest = parts[1], parts[2:]
        elif parts[0] == "apis" and len(parts) >= 3:
            api, rest = f"{parts[1]}/{parts[2]}", parts[3:]
        else:
            raise Refused(404, "NotFound", "the server could not find the requested resource")
        if not rest:
            if api not in kube.kinds:
                raise Refused(404, "NotFound", "the server could not find the requested resource")
            resources = [{"name": plural, "kind": kind, "namespaced": namespaced, "verbs": ["get", "list", "watch"]}
                         for plural, (kind, namespaced) in kube.kinds[api].items()]
            return json_answer(200, {"kind": "APIResourceList", "groupVersion": api, "resources": resources})
        ns = ""
        if rest[0] == "namespaces" and len(rest) >= 3:
            ns, rest = rest[1], rest[2:]
        plural, name, sub = rest[0], rest[1] if len(rest) > 1 else "", rest[2] if len(rest) > 2 else ""
        _, namespaced = kube.resource(api, plural)
        if name and namespaced and not ns:
            raise Refused(404, "NotFound", "a namespace is needed")
        if self.command == "GET" and not name and query.get("watch") in ("1", "true"):
            return Stream(query, selector(ns, query), (api, plural))
        if (api, plural, sub, self.command) == ("v1", "pods", "log", "GET"):
            return self.do_log(ns, name, query)
        answer = self.do_one(api, plural, ns, name, sub, query, body)
        if self.command != "GET":
            kube.writes.append((time.time(), self.command, path.path, json.loads(body) if body else None))
        return answer

    def do_log(self, ns, name, query):
        kube, until = self.double, time.monotonic() + 20
        with kube.changed:
            log = kube.pod_logs.get((ns, name, query.get("container", "")))
            if log is None:
                raise Refused(400, "BadRequest", f"container {query.get('container')} in pod {name} is waiting to start: ContainerCreating")
            if query.get("previous") == "true":
                moment = query.get("sinceTime", "")[:19]
                return Answer(200, "".join(line + "\n" for line in log.previous if line[:19] >= moment), None, "text/plain")
            while log.sent == len(log.lines) and not log.ended and time.monotonic() < until:
                kube.changed.wait(0.05)
            return Answer(200, log.since(query.get("sinceTime", "")), None, "text/plain")

    def do_one(self, api, plural, ns, name, sub, query, body):
        kube = self.double
        try:
            value = json.loads(body) if body else {}
        except ValueError:
            raise Refused(400, "BadRequest", "the body is no JSON") from None
        if self.command == "POST" and not name:
            return json_answer(201, kube.create(api, plural, ns, value, query))  # not under the lock: a webhook may ask us
        with kube.lock:
            if self.command == "GET" and not name:
                listed = kube.list(api, plural, ns, query)
                if isinstance(listed, Answer):  # a fault of the test's
                    self.action = getattr(listed, "action", {})
                    return listed
                return json_answer(200, listed)
            if self.command == "GET":
                return json_answer(200, kube.find(api, plural, ns, name))
            if self.command == "PUT":
                return json_answer(200, kube.update(api, plural, ns, name, sub, value))
            if self.command == "DELETE":
                return json_answer(200, kube.delete(api, plural, ns, name, value))
            if self.command == "PATCH":
                old = kube.find(api, plural, ns, name)
                kind = self.headers.get("Content-Type", "")
                if kind == "application/merge-patch+json":
                    new = merge(copy.deepcopy(old), value)
                elif kind == "application/json-patch+json":
                    new = apply_json_patch(old, value)
                else:
                    raise Refused(415, "UnsupportedMediaType", f"patches of type {kind} are not supported")
                return json_answer(200, kube.update(api, plural, ns, name, sub, new))
        raise Refused(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")

    # --- watches ---
    def _send(self, answer):
        if not isinstance(answer, Stream):
            return super()._send(answer)
        kube = self.double
        query, version_text = answer.query, answer.query.get("resourceVersion", "0")
        if version_text and not version_text.isdigit():
            invalid = Refused(400, "BadRequest", f'Invalid value: "{version_text}": strconv.ParseUint: parsing: invalid syntax')
            return super()._send(json_answer(400, invalid.status()))
        with kube.changed:
            at = kube.version if version_text in ("", "0") else int(version_text)
            forgotten = at < kube.oldest
            if forgotten and kube.config["gone_as"] == "status":
                gone = Refused(410, "Expired", f"too old resource version: {at}")
                return super()._send(json_answer(410, gone.status()))
            cuts, number = kube.cuts, len(kube.injected)
            kube.watches += 1
        self.close_connection = True
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        try:
            if forgotten:
                gone = Refused(410, "Expired", f"too old resource version: {at} ({kube.version})")
                self._chunk({"type": "ERROR", "object": gone.status()})
                self.wfile.write(b"0\r\n\r\n")
                return None
            return self._stream(answer, at, cuts, number)
        finally:
            with kube.changed:
                kube.watches -= 1

    def _chunk(self, event):
        if isinstance(event, Raw):
            step = 1 if event.slow_s else max(len(event.data), 1)
            for at in range(0, len(event.data), step):
                piece = event.data[at:at + step]
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                time.sleep(event.slow_s)
            if event.cut:
                raise ConnectionResetError
            return
        data = json.dumps(event).encode() + b"\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _stream(self, answer, at, cuts, number):
        kube, query = self.double, answer.query
        kind, _ = kube.kinds[answer.version[0]][answer.version[1]]
        bookmarks = query.get("allowWatchBookmarks") in ("1", "true")
        end = time.monotonic() + float(query.get("timeoutSeconds") or 1800)
        mark_at = time.monotonic() + kube.config["bookmark_s"]
        while True:
            batch = []
            with kube.changed:
                while not batch:
                    if kube.cuts != cuts:
                        return self._reset()
                    now = time.monotonic()
                    if now >= end and not kube.silent:
                        self.wfile.write(b"0\r\n\r\n")
                        self.close_connection = True
                        return None
                    if not kube.silent:
                        for version, event, where, obj in kube.history:
                            if version > at and where == answer.version and answer.match(obj):
                                batch.append({"type": event, "object": obj})
                        at = kube.version
                        for event, only in kube.injected[number:]:
                            if only not in (None, answer.version[1]):
                                continue
                            if event == "bookmark":
                                mark_at = 0
                            else:
                                batch.append(event)
                        number = len(kube.injected)
                        if bookmarks and now >= mark_at:
                            batch.append({"type": "BOOKMARK", "object": {"kind": kind, "apiVersion": answer.version[0],
                                                                         "metadata": {"resourceVersion": str(at)}}})
                            mark_at = now + kube.config["bookmark_s"]
                    if not batch:
                        kube.changed.wait(min(max(end - now, 0.01), 0.5))
            try:
                for event in batch:
                    self._chunk(event)
            except OSError:
                return self._reset()


def main():
    options = faults.arguments(__doc__.split("\n", 1)[0], config=True).parse_args()
    faults.serve(Handler, Kube(faults.config_of(options), faults.rules_of(options), options.log), options)


if __name__ == "__main__":
    main()
