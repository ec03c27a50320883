"""Checks AWS Signature Version 4 the way S3 does, written from the specification and sharing nothing with tacho's signer."""
import base64
import binascii
import calendar
import hashlib
import hmac
import re
import time
import urllib.parse

ALLOWED_SKEW_S = 15 * 60
AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[^/,\s]+)/(?P<date>\d{8})/(?P<region>[^/,\s]+)/(?P<service>[^/,\s]+)/aws4_request,"
    r" ?SignedHeaders=(?P<signed>[a-z0-9;-]+), ?Signature=(?P<signature>[0-9a-f]{64})")


class Refused(Exception):
    """An S3 error: status, code, message, more XML fields."""

    def __init__(self, status, code, message="", extra=None):
        super().__init__(code)
        self.status, self.code, self.message, self.extra = status, code, message, extra or {}


def uri_encode(text, safe):
    return urllib.parse.quote(text, safe=safe + "-._~")


def canonical_query(query):
    pairs = [pair.partition("=")[::2] for pair in query.split("&") if pair]
    decoded = [(urllib.parse.unquote_to_bytes(name), urllib.parse.unquote_to_bytes(value)) for name, value in pairs]
    return "&".join(f"{name}={value}" for name, value in sorted((uri_encode(n, ""), uri_encode(v, "")) for n, v in decoded))


def signing_key(secret, date, region, service):
    key = b"AWS4" + secret.encode()
    for part in (date, region, service, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key


def check_path(raw_path):
    """The path on the wire is to be in its canonical form already."""
    if not raw_path.startswith("/") or "//" in raw_path:
        raise Refused(400, "InvalidURI", "the path has an empty component")
    canonical = uri_encode(urllib.parse.unquote_to_bytes(raw_path), "/")
    if canonical != raw_path:
        raise Refused(400, "InvalidURI", f"the path on the wire is not canonical: {raw_path} is not {canonical}")
    return canonical


def check_signature(method, target, headers, credentials, region, now_s, service="s3"):
    """Raises Refused, or returns the credential. headers: list of (name, value); credentials: by access key,
    {"secret_key", "session_token", "expires" (UNIX seconds or None)}; region None accepts any."""
    by_name = {}
    for name, value in headers:
        by_name.setdefault(name.lower(), []).append(" ".join(value.split()))
    for name in ("host", "authorization", "x-amz-date", "x-amz-content-sha256"):
        if len(by_name.get(name, [])) != 1:
            missing = name == "authorization" and name not in by_name
            raise Refused(403, "AccessDenied", "anonymous") if missing else Refused(400, "InvalidRequest", f"{name} must be there once")
    match = AUTHORIZATION.fullmatch(by_name["authorization"][0])
    if not match:
        raise Refused(400, "AuthorizationHeaderMalformed", "the authorization header is not in its form")
    amz_date = by_name["x-amz-date"][0]
    if not re.fullmatch(r"\d{8}T\d{6}Z", amz_date) or amz_date[:8] != match["date"]:
        raise Refused(400, "AuthorizationHeaderMalformed", "x-amz-date and the scope disagree")
    if match["service"] != service:
        raise Refused(400, "AuthorizationHeaderMalformed", f"the service is {service}")

    credential = credentials.get(match["key"])
    if credential is None:
        raise Refused(403, "InvalidAccessKeyId", "no such key", {"AWSAccessKeyId": match["key"]})
    if region is not None and match["region"] != region:
        raise Refused(400, "AuthorizationHeaderMalformed",
                      f"The authorization header is malformed; the region '{match['region']}' is wrong; expecting '{region}'", {"Region": region})

    signed = match["signed"].split(";")
    if signed != sorted(set(signed)):
        raise Refused(403, "SignatureDoesNotMatch", "signed headers are not sorted")
    must = {"host"} | {name for name in by_name if name.startswith("x-amz-")}
    if not must <= set(signed):
        raise Refused(403, "AccessDenied", f"There were headers present in the request which were not signed: {sorted(must - set(signed))}")
    if not set(signed) <= set(by_name):
        raise Refused(403, "SignatureDoesNotMatch", "a signed header is absent")

    raw_path, _, query = target.partition("?")
    canonical = "\n".join([method, check_path(raw_path), canonical_query(query),
                           *(f"{name}:{','.join(by_name[name])}" for name in signed), "",
                           ";".join(signed), by_name["x-amz-content-sha256"][0]])
    scope = f"{match['date']}/{match['region']}/{service}/aws4_request"
    to_sign = f"AWS4-HMAC-SHA256\n{amz_date}\n{scope}\n{hashlib.sha256(canonical.encode('latin-1')).hexdigest()}"
    key = signing_key(credential["secret_key"], match["date"], match["region"], service)
    if not hmac.compare_digest(hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest(), match["signature"]):
        raise Refused(403, "SignatureDoesNotMatch", "The signature does not match", {"CanonicalRequest": canonical})

    signed_at = calendar.timegm(time.strptime(amz_date, "%Y%m%dT%H%M%SZ"))
    if abs(signed_at - now_s) > ALLOWED_SKEW_S:
        raise Refused(403, "RequestTimeTooSkewed", "The difference between the request time and the current time is too large.",
                      {"RequestTime": amz_date, "ServerTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now_s))})
    if by_name.get("x-amz-security-token", [""])[0] != (credential.get("session_token") or ""):
        raise Refused(400, "InvalidToken", "The provided token is malformed or otherwise invalid.")
    if credential.get("expires") is not None and now_s >= credential["expires"]:
        raise Refused(400, "ExpiredToken", "The provided token has expired.")
    return credential


def check_body(body, headers, need_checksum):
    """headers: by lower-case name. The hash is always checked; Content-MD5 and x-amz-checksum-* where they are given."""
    if hashlib.sha256(body).hexdigest() != headers.get("x-amz-content-sha256"):
        raise Refused(400, "XAmzContentSHA256Mismatch", "The provided 'x-amz-content-sha256' header does not match what was computed.")
    given = {"content-md5": lambda: hashlib.md5(body).digest(),
             "x-amz-checksum-sha256": lambda: hashlib.sha256(body).digest(),
             "x-amz-checksum-sha1": lambda: hashlib.sha1(body).digest(),
             "x-amz-checksum-crc32": lambda: binascii.crc32(body).to_bytes(4, "big")}
    found = [name for name in given if name in headers]
    for name in found:
        try:
            value = base64.b64decode(headers[name], validate=True)
        except binascii.Error:
            raise Refused(400, "InvalidDigest", f"{name} is not valid") from None
        if value != given[name]():
            raise Refused(400, "BadDigest", f"{name} is not that of the body")
    if need_checksum and not found:
        raise Refused(400, "InvalidRequest", "Missing required header for this request: Content-MD5 or x-amz-checksum-*")
