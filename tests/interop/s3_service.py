"""The ingestion service of the end-to-end tests with a real S3 server behind it. Requests go through a relay that can do the
faults of the double and otherwise changes nothing (the signature covers the address that the client used), so the same
tests run; what arrived is read back by boto3."""
import gzip
import http.client
import re
import unittest
import urllib.parse

import boto3
import botocore.config
import botocore.exceptions
import faults
import s3_double
import sentinel_double
import service
from faults import Answer

real = None  # the server, set by s3.py


def client(key=None, secret=None, token=None, name="s3"):
    return boto3.client(name, endpoint_url=real.url, aws_access_key_id=key or real.key, aws_secret_access_key=secret or real.secret,
                        aws_session_token=token, region_name="us-east-1",
                        config=botocore.config.Config(s3={"addressing_style": "path"}, retries={"max_attempts": 2}))


def temporary(seconds=900):
    """Credentials of a session, where the server has such."""
    if not real.has_sts:
        return {"AccessKeyId": real.key, "SecretAccessKey": real.secret, "SessionToken": None}
    try:
        return client(name="sts").assume_role(RoleArn="arn:x:ignored:by:minio", RoleSessionName="tacho", DurationSeconds=seconds)["Credentials"]
    except botocore.exceptions.EndpointConnectionError:
        raise ConnectionResetError("the server is gone") from None  # its tests are over, and a deliverer still asks


def make_bucket(name):
    try:
        client().create_bucket(Bucket=name)
    except client().exceptions.BucketAlreadyOwnedByYou:
        pass


class Relay(faults.Handler):
    error_body = s3_double.Handler.error_body

    def answer(self, body):
        parts = urllib.parse.urlsplit(real.url)
        peer = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
        try:
            peer.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                peer.putheader(name, value)
            peer.endheaders(body if body else None)
            answer = peer.getresponse()
            data = answer.read()
        finally:
            peer.close()
        if self.command == "PUT" and answer.status == 200:
            self.double.noted(urllib.parse.unquote(self.route())[1:], body, self.headers.get("Content-Type"))
        headers = {name: value for name, value in answer.getheaders() if name.lower() not in ("date", "server", "connection", "transfer-encoding",
                                                                                             "content-length", "content-type")}
        # <Error><Code>InvalidAccessKeyId</Code>
        code = re.search(rb"<Code>([^<]*)</Code>", data) if answer.status >= 400 else None
        return Answer(answer.status, data, headers, answer.getheader("Content-Type") or "application/xml", code and code[1].decode())


class Bucket(faults.Double):
    """What the double knows of its objects, from what the real server took."""

    def __init__(self):
        super().__init__()
        self.config = {"credentials": {}}
        self.objects = {}

    def noted(self, name, body, content_type):
        with self.lock:
            entry = self.objects.setdefault(name, {"puts": 0, "all": set(), "content_type": content_type})
            entry["puts"] += 1
            entry["all"].add(body)

    def listing(self):
        return {name: {"puts": entry["puts"], "bodies": len(entry["all"]), "content_type": entry["content_type"]}
                for name, entry in self.objects.items()}


class Sentinel(sentinel_double.Sentinel):
    def issue(self, run):
        given = temporary()
        run["credentials"] += 1
        answer = {"access_key": given["AccessKeyId"], "secret_key": given["SecretAccessKey"], "expires_at": "2099-01-01T00:00:00Z"}
        if given["SessionToken"]:
            answer.update(session_token=given["SessionToken"], expires_at=given["Expiration"].isoformat())
        return answer


class RealService(service.Service):
    def __init__(self, config=None, s3_config=None):
        config = config or {}
        if s3_config or "life_s" in config or config.get("region", "us-east-1") != "us-east-1":
            raise unittest.SkipTest("a setting of the double")
        make_bucket("data")
        self.s3 = Bucket()
        self.s3_server = service.Running(Relay, self.s3)
        self.api = self.make_api(config)
        self.api_server = service.Running(sentinel_double.Handler, self.api)

    def make_api(self, config):
        return Sentinel(config)

    def object(self, uri):
        bucket, _, key = uri[len("s3://"):].partition("/")
        got = client().get_object(Bucket=bucket, Key=key)
        assert got["ContentType"] == "application/gzip", got["ContentType"]
        return gzip.decompress(got["Body"].read()).decode()
