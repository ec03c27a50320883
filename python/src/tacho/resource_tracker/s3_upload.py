"""One object into S3 with temporary credentials (signature version 4)."""
from __future__ import annotations

import hashlib
import hmac
import os
from datetime import datetime, timezone
from typing import Any, Dict, Optional, Tuple
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen


def _parse_s3_uri(s3_uri: str) -> Tuple[str, str]:
    bucket, _, key = s3_uri[5:].partition("/")
    if not s3_uri.startswith("s3://") or not bucket or not key:
        raise ValueError(f"Expected s3 URI with a bucket and a key, s3://BUCKET/KEY, not {s3_uri!r}")
    return bucket, key


def _sha256_hex(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _hmac_sha256(key: bytes, message: str) -> bytes:
    return hmac.new(key, message.encode("utf-8"), hashlib.sha256).digest()


def _derive_signing_key(secret_key: str, date_stamp: str, region: str, service: str = "s3") -> bytes:
    key = ("AWS4" + secret_key).encode("utf-8")
    for part in (date_stamp, region, service, "aws4_request"):
        key = _hmac_sha256(key, part)
    return key


def _get_bucket_region(bucket: str, timeout: float = 5) -> str:
    """S3 names it in every answer, also in a refusal."""
    request = Request(f"https://{bucket}.s3.amazonaws.com/", method="HEAD")
    try:
        with urlopen(request, timeout=timeout) as answer:
            headers: Any = answer.headers
    except Exception as error:
        headers = getattr(error, "headers", None) or {}
    return str(headers.get("x-amz-bucket-region") or "eu-central-1")


def _address(bucket: str, key: str, region: str) -> Tuple[str, str, str]:
    """(base, host, path), percent-encoded once."""
    path = "/" + quote(key, safe="/-_.~")
    endpoint = os.environ.get("TACHO_S3_ENDPOINT") or os.environ.get("AWS_ENDPOINT_URL_S3")
    if endpoint:
        scheme, _, host = endpoint.rstrip("/").partition("://")
        host, _, below = host.partition("/")
        return f"{scheme}://{host}", host, (f"/{below}" if below else "") + f"/{bucket}{path}"
    if "." in bucket:
        host = f"s3.{region}.amazonaws.com"
        return f"https://{host}", host, f"/{bucket}{path}"
    host = f"{bucket}.s3.{region}.amazonaws.com"
    return f"https://{host}", host, path


def put_bytes_with_sts(*, s3_uri: str, body: bytes, access_key: str, secret_key: str, session_token: str,
                       region: Optional[str] = None, timeout: float = 30) -> str:
    """Puts the bytes there; returns the address. RuntimeError with S3's own words when it refuses."""
    bucket, key = _parse_s3_uri(s3_uri)
    region = region or _get_bucket_region(bucket)
    base, host, path = _address(bucket, key, region)
    now = datetime.now(timezone.utc)
    stamp, date = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
    payload = _sha256_hex(body)
    signed: Dict[str, str] = {"host": host, "x-amz-content-sha256": payload, "x-amz-date": stamp,
                              "x-amz-security-token": session_token}
    names = ";".join(sorted(signed))
    canonical = "\n".join(["PUT", path, "", *(f"{name}:{signed[name]}" for name in sorted(signed)), "", names, payload])
    scope = f"{date}/{region}/s3/aws4_request"
    to_sign = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, _sha256_hex(canonical.encode("utf-8"))])
    signature = _hmac_sha256(_derive_signing_key(secret_key, date, region), to_sign).hex()
    headers = {name: value for name, value in signed.items() if name != "host"}
    headers["Authorization"] = (f"AWS4-HMAC-SHA256 Credential={access_key}/{scope}, SignedHeaders={names}, "
                                f"Signature={signature}")
    headers["Content-Type"] = "application/gzip"
    headers["Content-Length"] = str(len(body))
    try:
        with urlopen(Request(base + path, data=body, headers=headers, method="PUT"), timeout=timeout) as answer:
            status = getattr(answer, "status", 200)
            if isinstance(status, int) and not 200 <= status < 300:
                raise RuntimeError(f"S3 answered {status}")
    except HTTPError as error:
        said = error.read(1000).decode("utf-8", "replace")
        raise RuntimeError(f"S3 answered {error.code}: {said or error.reason}") from error
    return s3_uri


def put_object_with_sts(*, s3_uri: str, file_path: str, access_key: str, secret_key: str, session_token: str,
                        region: Optional[str] = None, timeout: float = 30) -> str:
    with open(file_path, "rb") as file:
        body = file.read()
    return put_bytes_with_sts(s3_uri=s3_uri, body=body, access_key=access_key, secret_key=secret_key,
                              session_token=session_token, region=region, timeout=timeout)
