#!/usr/bin/env python3
"""The ingestion service as sentinel.md describes it, strictly: token, schema with forbidden extra keys (422 in the documented
shape), unknown and finished runs, and credentials with a real expiry that the S3 double (s3_double.py) checks.

    sentinel_double.py --config config.json [--s3 http://127.0.0.1:PORT] [--faults rules.json] [--log seen.jsonl]

prints its port. config.json, all optional:

    {"tokens": ["token"], "base_path": "/base",
     "prefix": "s3://data/runs/{run_id}",  null: no prefix and no credentials in the answer
     "life_s": 3600,                       of credentials
     "expiry": "expires_at",               or expiration, offset, unix, missing
     "region": "us-east-1",
     "reject": ["host_vcpus"],             fields of the start body that the schema does not have
     "reject_finish": ["finished_at"],
     "data_sources": ["inline", "s3"],
     "tags": "array",                      or object, none
     "inline_limit": 1000000,              a longer body is answered 413
     "stats": {"cpu": 1},                  goes into the answer to finish
     "gzip": false}                        take Content-Encoding: gzip

For the tests, beside what faults.py has:

    GET  /__runs      {run_id: {"start", "status", "finish", "finishes", "refreshes", "heartbeats", "credentials"}}
    POST /__config    changes those settings that are named
    POST /__forget    all runs are unknown from now on
"""
import datetime
import gzip
import json
import secrets
import threading
import urllib.parse
import urllib.request

import faults
from faults import Answer, json_answer

TEXT = ("project_name job_name stage_name task_name team env language orchestrator executor external_run_id container_image command "
        "host_id host_hostname host_ip host_server_allocation host_cpu_model host_gpu_model cloud_vendor_id cloud_account_id "
        "cloud_region_id cloud_zone_id cloud_instance_type").split()
NUMBERS = "host_vcpus host_memory_mib host_gpu_count host_gpu_memory_mib host_storage_gb".split()
SEED_NAMES = {"host_hostname": "host_name", "host_server_allocation": "host_allocation", "host_gpu_memory_mib": "host_gpu_vram_mib"}


def entry(loc, kind, message):
    return {"type": kind, "loc": ["body", *loc], "msg": message, "input": None}


def invalid(entries):
    return json_answer(422, {"detail": entries})


class Sentinel(faults.Double):
    def __init__(self, config, rules=(), log_path=None, s3=None):
        super().__init__(rules, log_path)
        self.config = {"tokens": ["token"], "base_path": "", "prefix": "s3://data/runs/{run_id}", "life_s": 3600, "expiry": "expires_at",
                       "region": None, "reject": [], "reject_finish": [], "data_sources": ["inline", "s3"], "tags": "array",
                       "inline_limit": 1 << 30, "gzip": False, **config}
        self.runs = {}
        self.credentials = {}
        self.s3 = s3  # called with all credentials that were ever issued
        self.issue_lock = threading.Lock()

    def issue(self, run):
        life = self.config["life_s"]
        now = datetime.datetime.now(datetime.timezone.utc)
        expires = now + datetime.timedelta(seconds=life)
        key = "ASIA" + secrets.token_hex(8).upper()
        secret, token = secrets.token_urlsafe(30), secrets.token_urlsafe(60)
        with self.issue_lock:
            self.credentials[key] = {"secret_key": secret, "session_token": token, "expires": expires.timestamp()}
            if self.s3:
                self.s3(dict(self.credentials))
        run["credentials"] += 1
        answer = {"access_key": key, "secret_key": secret, "session_token": token}
        style = self.config["expiry"]
        if style == "expires_at":
            answer["expires_at"] = expires.strftime("%Y-%m-%dT%H:%M:%SZ")
        elif style == "expiration":
            answer["expiration"] = expires.strftime("%Y-%m-%dT%H:%M:%S.%f+00:00")
        elif style == "offset":
            zone = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
            answer["expires_at"] = expires.astimezone(zone).isoformat()
        elif style == "unix":
            answer["expires_at"] = int(expires.timestamp())
        elif style == "aws":
            answer = {"AccessKeyId": key, "SecretAccessKey": secret, "SessionToken": token, "Expiration": expires.isoformat()}
        if self.config["region"]:
            answer["region"] = self.config["region"]
        return answer


class Handler(faults.Handler):
    def control(self, body):
        double, route = self.double, self.route()
        if route == "/__runs":
            with double.lock:
                return json_answer(200, double.runs)
        if route == "/__config" and self.command == "POST":
            with double.lock:
                double.config = {**double.config, **json.loads(body)}
            return Answer(204)
        if route == "/__forget" and self.command == "POST":
            with double.lock:
                for run in double.runs.values():
                    run["forgotten"] = True
            return Answer(204)
        return None

    def answer(self, body):
        double, config = self.double, self.double.config
        with double.lock:
            path = self.route()
            if not path.startswith(config["base_path"] + "/"):
                return json_answer(404, {"detail": "Not Found"})
            path = path[len(config["base_path"]):]
            if self.command != "POST":
                return json_answer(405, {"detail": "Method Not Allowed"})
            if self.headers.get("Authorization", "") not in [f"Bearer {token}" for token in config["tokens"]]:
                return json_answer(401, {"detail": "Invalid token"})
            if not self.headers.get("User-Agent", "").startswith("tacho/") or self.headers.get("Accept") != "application/json":
                return json_answer(400, {"problem": "User-Agent and Accept are wrong"})
            parts = [urllib.parse.unquote(part) for part in path.split("/")]
            if parts == ["", "runs"]:
                return self.start(body, config)
            if len(parts) == 4 and parts[:2] == ["", "runs"]:
                run = double.runs.get(parts[2])
                if run is None or run.get("forgotten"):
                    return json_answer(404, {"detail": "Run not found"})
                if parts[3] == "refresh-credentials":
                    return self.refresh(run, body)
                if parts[3] == "finish":
                    return self.finish_run(run, body, config)
                if parts[3] == "heartbeat" and config.get("heartbeat"):
                    run["heartbeats"] += 1
                    return json_answer(200, {})
            return json_answer(404, {"detail": "Not Found"})

    def read_json(self, body, config):
        if self.headers.get("Content-Type") != "application/json":
            return None, invalid([entry([], "model_attributes_type", "Content-Type is wrong")])
        if self.headers.get("Content-Encoding") == "gzip":
            if not config["gzip"]:
                return None, invalid([entry([], "json_invalid", "JSON decode error")])
            body = gzip.decompress(body)
        try:
            value = json.loads(body.decode("utf-8"))
        except ValueError:
            return None, invalid([entry([0], "json_invalid", "JSON decode error")])
        if not isinstance(value, dict):
            return None, invalid([entry([], "model_attributes_type", "Input should be a valid dictionary")])
        return value, None

    def start(self, body, config):
        value, refused = self.read_json(body, config)
        if refused:
            return refused
        bad = []
        seed = {SEED_NAMES[name] for name in config["reject"] if name in SEED_NAMES and config.get("seed_names")}
        for key, field in value.items():
            if key in config["reject"] or key not in TEXT + NUMBERS + ["tags"] and key not in seed:
                bad.append(entry([key], "extra_forbidden", "Extra inputs are not permitted"))
            elif key in TEXT and not isinstance(field, str):
                bad.append(entry([key], "string_type", "Input should be a valid string"))
            elif key in NUMBERS and not isinstance(field, (int, float)):
                bad.append(entry([key], "int_type", "Input should be a valid integer"))
            elif key == "tags":
                good = {"array": lambda: isinstance(field, list) and all(isinstance(tag, str) and "=" in tag for tag in field),
                        "object": lambda: isinstance(field, dict), "none": lambda: False}[config["tags"]]()
                if not good:
                    bad.append(entry(["tags"], "list_type", "Input should be valid tags"))
            elif key == "command" and not isinstance(json.loads(field), list):
                bad.append(entry([key], "value_error", "not a JSON array"))
        if bad:
            return invalid(bad)
        run_id = f"run-{len(self.double.runs) + 1}-{secrets.token_hex(4)}"
        run = self.double.runs[run_id] = {"start": value, "status": "started", "finish": None, "finishes": 0, "refreshes": 0,
                                          "heartbeats": 0, "credentials": 0}
        answer = {"run_id": run_id, "something_new": {"is": "ignored"}}
        if config["prefix"]:
            answer["upload_uri_prefix"] = config["prefix"].replace("{run_id}", run_id)
            answer["upload_credentials"] = self.double.issue(run)
        return json_answer(201, answer)

    def refresh(self, run, body):
        if body or self.headers.get("Content-Length") != "0":
            return json_answer(400, {"problem": "no body is expected"})
        run["refreshes"] += 1
        return json_answer(200, {"upload_credentials": self.double.issue(run)})

    def finish_run(self, run, body, config):
        if len(body) > config["inline_limit"]:
            return json_answer(413, {"detail": "Request Entity Too Large"})
        value, refused = self.read_json(body, config)
        if refused:
            return refused
        source = value.get("data_source")
        if source not in config["data_sources"]:
            tags = ", ".join(repr(tag) for tag in config["data_sources"])
            return invalid([entry([], "union_tag_invalid", f"Input tag '{source}' found using 'data_source' does not match any of "
                                                           f"the expected tags: {tags}")])
        wanted = "data_uris" if source == "s3" else "data_csv"
        bad = []
        for key in value:
            if key in config["reject_finish"] or key not in ("data_source", wanted, "run_status", "exit_code", "finished_at"):
                bad.append(entry([source, key], "extra_forbidden", "Extra inputs are not permitted"))
        for key in (wanted, "run_status"):
            if not value.get(key):
                bad.append(entry([source, key], "missing", "Field required"))
        if value.get("run_status") not in ("finished", "failed"):
            bad.append(entry([source, "run_status"], "literal_error", "Input should be 'finished' or 'failed'"))
        if not isinstance(value.get("exit_code", 0), int):
            bad.append(entry([source, "exit_code"], "int_type", "Input should be a valid integer"))
        if bad:
            return invalid(bad)
        if run["status"] != "started":
            return json_answer(409, {"detail": "Run is already finished"})
        run.update(status=value["run_status"], finish=value, finishes=run["finishes"] + 1)
        rows = value["data_csv"].count("\n") - 1 if wanted == "data_csv" else None
        processing = {"status": "ok", "files": len(value.get("data_uris", [])), "duration_ms": 12, "error": None}
        if rows is not None:
            processing["rows"] = rows
        return json_answer(200, {"run": {"run_status": run["status"], "tag_count": 0}, "processing": processing,
                                 **{key: self.double.config[key] for key in ("stats",) if key in self.double.config}})


def tell_s3(url):
    def tell(credentials):
        request = urllib.request.Request(url + "/__config", json.dumps({"credentials": credentials}).encode(), method="POST")
        urllib.request.urlopen(request, timeout=10).close()
    return tell


def main():
    parser = faults.arguments("The ingestion service, strictly.", config=True)
    parser.add_argument("--s3", help="address of the S3 double that shall take the credentials")
    options = parser.parse_args()
    faults.serve(Handler, Sentinel(faults.config_of(options), faults.rules_of(options), options.log, tell_s3(options.s3) if options.s3 else None), options)


if __name__ == "__main__":
    main()
