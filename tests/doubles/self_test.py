#!/usr/bin/env python3
"""The doubles are only worth something if they refuse what is wrong. Their signature check against what AWS has published,
each mistake against the error that S3 gives for it, and the counting of the fault rules."""
import base64
import hashlib
import unittest

import bigquery_double
from faults import Rules
from google_double import verify_rs256
from sigv4_check import Refused, check_body, check_path, check_signature

NOW = 1369353600  # 24 May 2013
EMPTY = hashlib.sha256(b"").hexdigest()
CREDENTIALS = {"AKIAIOSFODNN7EXAMPLE": {"secret_key": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}}


def example(**changes):
    """The GET Object example of the S3 documentation as check_signature takes it."""
    parts = {"signature": "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41", "region": "us-east-1", "date": "20130524T000000Z",
             "signed": "host;range;x-amz-content-sha256;x-amz-date", "target": "/test.txt", "extra": [], "range": "bytes=0-9",
             "key": "AKIAIOSFODNN7EXAMPLE", **changes}
    authorization = (f"AWS4-HMAC-SHA256 Credential={parts['key']}/{parts['date'][:8]}/{parts['region']}/s3/aws4_request,"
                     f"SignedHeaders={parts['signed']},Signature={parts['signature']}")
    headers = [("Host", "examplebucket.s3.amazonaws.com"), ("Range", parts["range"]), ("x-amz-content-sha256", EMPTY),
               ("x-amz-date", parts["date"]), ("Authorization", authorization), *parts["extra"]]
    return "GET", parts["target"], headers


class Signatures(unittest.TestCase):
    def refused(self, code, request, credentials=None, now=NOW, region="us-east-1"):
        with self.assertRaises(Refused) as raised:
            check_signature(*request, credentials or CREDENTIALS, region, now)
        self.assertEqual(raised.exception.code, code)
        return raised.exception

    def test_takes_the_published_example(self):
        check_signature(*example(), CREDENTIALS, "us-east-1", NOW)
        check_signature(*example(range="bytes=0-9  "), CREDENTIALS, None, NOW + 899)

    def test_takes_the_published_queries(self):
        for target, signature in (("/?lifecycle", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
                                  ("/?prefix=J&max-keys=2", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7")):
            check_signature(*example(target=target, signature=signature, signed="host;x-amz-content-sha256;x-amz-date"), CREDENTIALS, "us-east-1", NOW)

    def test_refuses_every_change(self):
        self.refused("SignatureDoesNotMatch", example(target="/other.txt"))
        self.refused("SignatureDoesNotMatch", example(range="bytes=0-8"))
        self.refused("SignatureDoesNotMatch", example(signature="0" * 64))
        self.refused("SignatureDoesNotMatch", example(signed="x-amz-date;range;x-amz-content-sha256;host"))
        self.refused("SignatureDoesNotMatch", example(), {"AKIAIOSFODNN7EXAMPLE": {"secret_key": "other"}})
        self.refused("AccessDenied", example(extra=[("x-amz-acl", "public-read")]))
        self.refused("AuthorizationHeaderMalformed", example(signature="short"))
        self.refused("InvalidAccessKeyId", example(key="NOBODY"))
        self.assertEqual(self.refused("AuthorizationHeaderMalformed", example(), region="eu-west-1").extra["Region"], "eu-west-1")
        self.assertIn("ServerTime", self.refused("RequestTimeTooSkewed", example(), now=NOW + 901).extra)
        self.refused("RequestTimeTooSkewed", example(), now=NOW - 901)

    def test_checks_tokens_and_expiry(self):
        key = CREDENTIALS["AKIAIOSFODNN7EXAMPLE"]
        self.refused("InvalidToken", example(), {"AKIAIOSFODNN7EXAMPLE": {**key, "session_token": "t"}})
        self.refused("ExpiredToken", example(), {"AKIAIOSFODNN7EXAMPLE": {**key, "expires": NOW}})

    def test_wants_the_canonical_path_on_the_wire(self):
        self.assertEqual(check_path("/a%20b/%C3%A9~"), "/a%20b/%C3%A9~")
        for path in ("/a b", "/a%2fb", "/a//b", "/%41", "a", "/a+b"):
            with self.assertRaises(Refused, msg=path):
                check_path(path)


class Bodies(unittest.TestCase):
    def code(self, headers, need=True):
        try:
            check_body(b"data", {"x-amz-content-sha256": hashlib.sha256(b"data").hexdigest(), **headers}, need)
        except Refused as refused:
            return refused.code
        return None

    def test_checks_every_digest(self):
        right, wrong = base64.b64encode(hashlib.md5(b"data").digest()).decode(), base64.b64encode(hashlib.md5(b"dato").digest()).decode()
        self.assertIsNone(self.code({"content-md5": right}))
        self.assertIsNone(self.code({"x-amz-checksum-sha256": base64.b64encode(hashlib.sha256(b"data").digest()).decode()}))
        self.assertIsNone(self.code({}, need=False))
        self.assertEqual(self.code({"content-md5": wrong}), "BadDigest")
        self.assertEqual(self.code({"content-md5": "??"}), "InvalidDigest")
        self.assertEqual(self.code({}), "InvalidRequest")
        self.assertEqual(self.code({"x-amz-content-sha256": EMPTY}), "XAmzContentSHA256Mismatch")


class Faults(unittest.TestCase):
    def test_counts_for_each_rule(self):
        rules = Rules([{"match": {"method": "PUT", "path": "/b/.*", "nth": [1, 3]}, "action": {"status": 503}},
                       {"match": {"method": "PUT", "from": 2, "to": 4}, "action": {"delay_s": 1}}])
        seen = [rules.pick("PUT", "/b/x") for _ in range(5)]
        self.assertEqual(seen, [{"status": 503}, {"delay_s": 1}, {"status": 503}, {"delay_s": 1}, {}])
        self.assertEqual(rules.pick("GET", "/b/x"), {})

    def test_refuses_words_it_does_not_know(self):
        for rule in ({"action": {"stauts": 1}}, {"match": {"methode": "PUT"}, "action": {}}, {"action": {"reset": "later"}}):
            with self.assertRaises(ValueError):
                Rules([rule])


class BigQuery(unittest.TestCase):
    FIELDS = [{"name": "at", "type": "TIMESTAMP", "mode": "REQUIRED"}, {"name": "n", "type": "INTEGER"}, {"name": "use", "type": "FLOAT", "mode": "REPEATED"},
              {"name": "flag", "type": "BOOLEAN"}, {"name": "text", "type": "STRING"},
              {"name": "inputs", "type": "RECORD", "mode": "REPEATED", "fields": [{"name": "key", "type": "STRING", "mode": "REQUIRED"}]}]
    AT = "2026-11-15T00:00:00.000000Z"

    def test_takes_what_is_right(self):
        for row in ({"at": self.AT}, {"at": self.AT, "n": 2 ** 53, "use": [1, 2.5], "flag": False, "text": "", "inputs": []}, {"at": self.AT, "n": str(2 ** 63 - 1), "text": None},
                    {"AT": self.AT, "at": self.AT, "inputs": [{"key": "k"}]}):
            bigquery_double.check_row(self.FIELDS, row)

    def test_refuses_what_is_wrong(self):
        for row in ({}, {"at": None}, {"at": "today"}, {"at": self.AT, "n": 1.5}, {"at": self.AT, "n": True}, {"at": self.AT, "n": 2 ** 53 + 1}, {"at": self.AT, "n": str(2 ** 63)},
                    {"at": self.AT, "use": None}, {"at": self.AT, "use": [None]}, {"at": self.AT, "use": 1}, {"at": self.AT, "use": [float("nan")]}, {"at": self.AT, "flag": 1},
                    {"at": self.AT, "text": 1}, {"at": self.AT, "other": 1}, {"at": self.AT, "inputs": [{}]}, {"at": self.AT, "inputs": [{"key": "k", "x": 1}]}, [], None):
            with self.assertRaises(bigquery_double.Bad, msg=row):
                bigquery_double.check_row(self.FIELDS, row)

    def test_a_patch_takes_nothing_away(self):
        more = self.FIELDS + [{"name": "new", "type": "STRING", "mode": "NULLABLE"}]
        bigquery_double.check_fields(more, self.FIELDS)
        for fields in (self.FIELDS[1:], self.FIELDS[::-1], [{**self.FIELDS[0], "mode": "NULLABLE"}] + self.FIELDS[1:], self.FIELDS + [{"name": "new", "type": "STRING", "mode": "REQUIRED"}],
                       self.FIELDS[:-1] + [{**self.FIELDS[-1], "fields": []}]):
            with self.assertRaises(bigquery_double.Bad):
                bigquery_double.check_fields(fields, self.FIELDS)

    def test_insert_ids_are_remembered(self):
        table = bigquery_double.Table(self.FIELDS)
        for text in ("a", "a", "b"):
            bigquery_double.BigQuery.keep(table, {"insertId": "i", "json": {"at": self.AT, "text": text}})
        self.assertEqual((len(table.rows), table.repeated, table.conflicts), (1, 2, ["i"]))

    def test_signatures(self):
        # RFC 8017 by hand: a key of two small primes cannot hold the digest, so only the refusal of every wrong length and value is shown here.
        n = 2 ** 2048 - 1942289
        self.assertFalse(verify_rs256(b"text", b"\1" * 256, n, 65537))
        self.assertFalse(verify_rs256(b"text", b"", n, 65537))


if __name__ == "__main__":
    unittest.main()
