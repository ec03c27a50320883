#!/usr/bin/env python3
"""A Cromwell server and a Cloud Storage in one, strict about what is asked: every parameter of a metadata request, every path of an
object. faults.py injects the weather.

    cromwell_double.py [--config config.json] [--faults rules.json] [--log seen.jsonl] [--until-eof]

prints its port. Paths: /api/workflows/v1/ID/metadata, /storage/v1/b/BUCKET/o/NAME, /certs (the keys for identity tokens). config.json, all
optional:

    workflows     {id: metadata}; a value that is a list is given out one after the other, the last one for ever
    objects       {"bucket/name": size} or {"bucket/name": {"size": 1, "body": "…", "forbidden": true, "requester_pays": true}}
    token         the bearer token that Cromwell and the storage want, "*": any; absent: none may be sent
    no_include    includeKey is refused with 400, as an old server does
    row_limit     true: with expansion the document is too large
    gzip          documents are compressed
    jwks          what /certs answers
    prefix        Cromwell's path prefix
"""
import gzip
import json
import re
import urllib.parse

import faults
from faults import Answer, json_answer

INCLUDE = {"workflowName", "status", "start", "end", "submission", "subWorkflowId", "jes", "gcpBatch", "preemptible", "executionStatus",
           "runtimeAttributes", "dockerImageUsed", "inputs", "vm", "jobId", "returnCode", "callCaching:hit"}
EXCLUDE = {"submittedFiles", "workflowProcessingEvents", "executionEvents", "workflowRoot", "callRoot", "callCaching", "outputs", "commandLine",
           "failures", "returnCode", "stderr", "stdout", "monitoringLog", "backend", "compressedDockerSize", "labels", "jobId"}


class Cromwell(faults.Double):
    def __init__(self, config=None, rules=(), log_path=None):
        super().__init__(rules, log_path)
        self.config = config or {}
        self.complaints = []    # what a good client does not do

    def document(self, workflow_id):
        with self.lock:
            found = self.config.get("workflows", {}).get(workflow_id)
            if isinstance(found, list):
                return found.pop(0) if len(found) > 1 else found[0]
            return found

    def complain(self, text):
        with self.lock:
            self.complaints.append(text)


def failure(status, message):
    return json_answer(status, {"status": "fail" if status < 500 else "error", "message": message})


class Handler(faults.Handler):
    def error_body(self, action):
        return json.dumps({"status": "error", "message": action.get("message", "")}), "application/json"

    def control(self, body):
        if self.route() == "/__config" and self.command == "POST":
            self.double.config = {**self.double.config, **json.loads(body)}
            return Answer(204)
        return None

    def answer(self, body):
        double, config = self.double, self.double.config
        if self.command != "GET":
            double.complain(f"{self.command} {self.path}")
            return Answer(405)
        if self.route() == "/certs":
            return json_answer(200, config.get("jwks", {"keys": []}), {"Cache-Control": "public, max-age=300"})
        sent = self.headers.get("Authorization")
        wanted = f"Bearer {config['token']}" if "token" in config else None
        if sent != wanted and not (wanted == "Bearer *" and (sent or "").startswith("Bearer ")):
            return failure(401, "The supplied authentication is not authorized")
        found = re.fullmatch(re.escape(config.get("prefix", "")) + r"/api/workflows/v1/([^/]+)/metadata", self.route())
        if found:
            return self.metadata(urllib.parse.unquote(found[1]), config)
        found = re.fullmatch(r"/storage/v1/b/([^/]+)/o/([^/]+)", self.route())
        if found:
            return self.object(urllib.parse.unquote(found[1]) + "/" + urllib.parse.unquote(found[2]), config)
        double.complain(f"unknown path {self.path}")
        return failure(404, "no such path")

    def metadata(self, workflow_id, config):
        query = urllib.parse.parse_qs(self.path.partition("?")[2])
        include, exclude = set(query.pop("includeKey", [])), set(query.pop("excludeKey", []))
        expand = query.pop("expandSubWorkflows", [""])[0]
        if query or expand not in ("true", "false") or (include or INCLUDE) != INCLUDE or (exclude or EXCLUDE) != EXCLUDE or bool(include) == bool(exclude):
            self.double.complain(f"odd parameters: {self.path}")
        if "gzip" not in self.headers.get("Accept-Encoding", ""):
            self.double.complain("gzip is not accepted")
        if include and config.get("no_include"):
            return failure(400, "Unrecognized parameter includeKey")
        if expand == "true" and config.get("row_limit"):
            return failure(400, f"Metadata for workflow {workflow_id} exists in database, but cannot be served because row count of 2000000 exceeds "
                                "configured limit of 1000000.")
        document = self.double.document(workflow_id)
        if document is None:
            return failure(404, f"Unrecognized workflow ID: {workflow_id}")
        text = document if isinstance(document, str) else json.dumps(document)
        if config.get("gzip"):
            return Answer(200, gzip.compress(text.encode()), {"Content-Encoding": "gzip"}, "application/json")
        return Answer(200, text, content_type="application/json")

    def object(self, name, config):
        query = urllib.parse.parse_qs(self.path.partition("?")[2])
        entry = config.get("objects", {}).get(name)
        if not isinstance(entry, dict):
            entry = None if entry is None else {"size": entry}
        if entry is None:
            return json_answer(404, {"error": {"code": 404, "message": "No such object: " + name}})
        if entry.get("forbidden"):
            return json_answer(403, {"error": {"code": 403, "message": "does not have storage.objects.get access"}})
        if entry.get("requester_pays") and "userProject" not in query:
            return json_answer(400, {"error": {"code": 400, "message": "Bucket is a requester pays bucket but no user project provided."}})
        if query.get("alt") == ["media"]:
            return Answer(200, entry.get("body", ""))
        if query.get("fields") != ["size,generation"]:
            self.double.complain(f"odd parameters: {self.path}")
        return json_answer(200, {"size": str(entry["size"]), "generation": "1700000000000000"})


def main():
    options = faults.arguments(__doc__.splitlines()[0], config=True).parse_args()
    faults.serve(Handler, Cromwell(faults.config_of(options), faults.rules_of(options), options.log), options)


if __name__ == "__main__":
    main()
