#!/usr/bin/env python3
"""An S3 that forgives nothing: signature, session token, expiry, region, clock, body hash and Content-MD5 are checked on
every request, and faults.py injects the weather. Objects are kept in memory.

    s3_double.py --config config.json [--faults rules.json] [--log seen.jsonl] [--until-eof]

prints its port. config.json, all optional but the credentials:

    {"credentials": {"AKIA…": {"secret_key": "…", "session_token": "…", "expires": 1790000000}},
     "buckets": {"data": "eu-central-1"},      bucket: region; without this key every bucket exists, in "region"
     "region": "us-east-1",
     "base_path": "/s3",                       the endpoint has a path
     "virtual_host": "s3.localhost"}           Host bucket.s3.localhost[:port] names the bucket; otherwise the path does

Amazon's own host names work as well, with --connect-tls: bucket.s3.region.amazonaws.com, s3.region.amazonaws.com; a host of
another region than the bucket's answers 301.

For the tests, beside what faults.py has:

    GET  /__objects              {"bucket/key": {"size", "sha256", "md5", "content_type", "puts", "bodies"}}; bodies is the
                                 number of different contents that were put
    GET  /__object?bucket/key    the bytes
    POST /__config               changes those settings that are named; "credentials" replaces all
"""
import hashlib
import json
import re
import threading
import urllib.parse
import xml.sax.saxutils

import faults
from faults import Answer, json_answer
from sigv4_check import Refused, check_body, check_path, check_signature


AMAZON = re.compile(r"(?:(?P<bucket>[a-z0-9-]+)\.)?s3(?:\.(?P<region>[a-z0-9-]+))?\.amazonaws\.com(?P<china>\.cn)?")


class S3(faults.Double):
    def __init__(self, config, rules=(), log_path=None):
        super().__init__(rules, log_path)
        self.config = config
        self.objects = {}
        self.store_lock = threading.Lock()

    def put(self, name, body, content_type):
        with self.store_lock:
            entry = self.objects.setdefault(name, {"puts": 0, "seen": set()})
            entry["puts"] += 1
            entry["seen"].add(hashlib.sha256(body).hexdigest())
            entry.update(body=body, content_type=content_type)

    def listing(self):
        with self.store_lock:
            return {name: {"size": len(entry["body"]), "sha256": hashlib.sha256(entry["body"]).hexdigest(),
                           "md5": hashlib.md5(entry["body"]).hexdigest(), "content_type": entry["content_type"],
                           "puts": entry["puts"], "bodies": len(entry["seen"])}
                    for name, entry in sorted(self.objects.items())}


def error_xml(code, message="", extra=None):
    fields = {"Code": code, "Message": message, **(extra or {}), "RequestId": "D0UB1E"}
    inside = "".join(f"<{name}>{xml.sax.saxutils.escape(str(value))}</{name}>" for name, value in fields.items())
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<Error>{inside}</Error>'


class Handler(faults.Handler):
    def error_body(self, action):
        if "code" not in action:
            return "", "application/xml"
        return error_xml(action["code"], action.get("message", ""), action.get("extra")), "application/xml"

    def control(self, body):
        double, route = self.double, self.route()
        if route == "/__objects":
            return json_answer(200, double.listing())
        if route == "/__object":
            entry = double.objects.get(urllib.parse.unquote(self.path.partition("?")[2]))
            return Answer(200, entry["body"]) if entry else Answer(404)
        if route == "/__config" and self.command == "POST":
            with double.lock:
                double.config = {**double.config, **json.loads(body)}
            return Answer(204)
        return None

    def answer(self, body):
        try:
            return self._serve(body, self.double.config)
        except Refused as refused:
            headers = {}
            if "Region" in refused.extra:
                headers["x-amz-bucket-region"] = refused.extra["Region"]
            return Answer(refused.status, error_xml(refused.code, refused.message, refused.extra), headers, "application/xml", refused.code)

    def _place(self, config):
        """Bucket and key of the request; the key is decoded once."""
        path = urllib.parse.unquote(check_path(self.route()))
        base = config.get("base_path", "")
        if not path.startswith(base + "/"):
            raise Refused(404, "NoSuchEndpoint", f"the endpoint's path is {base}")
        path = path[len(base):]
        suffix = config.get("virtual_host")
        host = self.headers.get("Host", "")
        amazon = AMAZON.fullmatch(host)
        if amazon and amazon["bucket"]:
            return amazon["bucket"], path[1:]
        host = host.rpartition(":")[0]
        if suffix and host.endswith("." + suffix):
            return host[:-len(suffix) - 1], path[1:]
        bucket, _, key = path[1:].partition("/")
        return bucket, key

    def _serve(self, body, config):
        bucket, key = self._place(config)
        region = config.get("buckets", {bucket: config.get("region", "us-east-1")}).get(bucket)
        if region is None:
            raise Refused(404, "NoSuchBucket", "The specified bucket does not exist", {"BucketName": bucket})
        if self.command == "HEAD" and not key and "Authorization" not in self.headers:
            return Answer(403, headers={"x-amz-bucket-region": region})  # what Amazon says to anyone about a bucket
        self._check_host(bucket, region)
        check_signature(self.command, self.path, self.headers.items(), config["credentials"], region, self.now())
        if self.command == "PUT":
            return self._put(bucket, key, body, config)
        if self.command in ("GET", "HEAD"):
            entry = self.double.objects.get(f"{bucket}/{key}")
            if not entry:
                raise Refused(404, "NoSuchKey", "The specified key does not exist.")
            return Answer(200, entry["body"], {"ETag": '"' + hashlib.md5(entry["body"]).hexdigest() + '"'}, entry["content_type"])
        raise Refused(405, "MethodNotAllowed")

    def _check_host(self, bucket, region):
        amazon = AMAZON.fullmatch(self.headers.get("Host", ""))
        if not amazon:
            return
        if bool(amazon["china"]) != region.startswith("cn-"):
            raise Refused(404, "NoSuchBucket", "another partition")
        if amazon["region"] not in (None, region):
            raise Refused(301, "PermanentRedirect", "The bucket must be addressed using the specified endpoint.",
                          {"Endpoint": f"{bucket}.s3.{region}.amazonaws.com", "Region": region})

    def _put(self, bucket, key, body, config):
        headers = {name.lower(): value for name, value in self.headers.items()}
        if "expect" in headers:
            raise Refused(417, "ExpectationFailed", "Expect is not to be sent")
        if "content-length" not in headers or "transfer-encoding" in headers:
            raise Refused(411, "MissingContentLength", "You must provide the Content-Length HTTP header.")
        if not key:
            raise Refused(400, "InvalidURI", "an object without a key")
        check_body(body, headers, config.get("need_checksum", True))
        self.double.put(f"{bucket}/{key}", body, headers.get("content-type", ""))
        return Answer(200, headers={"ETag": '"' + hashlib.md5(body).hexdigest() + '"'})


def main():
    options = faults.arguments("An S3 that forgives nothing.", config=True).parse_args()
    faults.serve(Handler, S3(faults.config_of(options), faults.rules_of(options), options.log), options)


if __name__ == "__main__":
    main()
