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
import copy
import json
import time
import urllib.parse
import urllib.request

import faults
from faults import Answer, json_answer
from kube_state import Kube, Raw, Stream, selector
from kube_patch import Refused, apply_json_patch, merge


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
