"""The calls of the ingest service: start, refresh, finish."""
from __future__ import annotations

import gzip
import json
import os
import shlex
from enum import Enum
from typing import Any, Dict, List, Mapping, Optional, Union
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

DEFAULT_SENTINEL_URL = "https://api.sentinel.sparecores.net"


class RunStatus(Enum):
    finished = "finished"
    failed = "failed"


class DataSource(Enum):
    s3 = "s3"
    inline = "inline"


class SentinelAPIError(Exception):
    """The service answered with an error."""

    def __init__(self, status_code: int, body: str) -> None:
        super().__init__(f"the service answered {status_code}: {body}")
        self.status_code = status_code
        self.body = body


def _wire_names(facts: Optional[Mapping[str, Any]], names: Mapping[str, str]) -> Dict[str, Any]:
    return {wire: facts[name] for name, wire in names.items() if facts and facts.get(name) not in (None, "", "unknown")}


def host_facts(server_info: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    """What is known of the machine, by the names that the service has for it."""
    return _wire_names(server_info, {"vcpus": "host_vcpus", "memory_mib": "host_memory_mib", "gpu_count": "host_gpu_count",
                                     "gpu_name": "host_gpu_model", "gpu_memory_mib": "host_gpu_memory_mib"})


def cloud_facts(cloud_info: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    """And of its cloud."""
    return _wire_names(cloud_info, {"vendor": "cloud_vendor_id", "region": "cloud_region_id",
                                    "instance_type": "cloud_instance_type"})


def _get_base_url() -> str:
    """One trailing slash less; a path is kept."""
    return (os.environ.get("SENTINEL_API_URL") or DEFAULT_SENTINEL_URL).rstrip("/")


def _request(method: str, path: str, *, token: str, payload: Optional[Mapping[str, Any]] = None,
             base_url: Optional[str] = None, timeout: float = 30, compress: bool = False) -> Any:
    """The answer as JSON; SentinelAPIError for any other than success. `compress`: rows may be many."""
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
    data: Optional[bytes] = None
    if payload is not None:
        data = json.dumps(payload).encode("utf-8")
        headers["Content-Type"] = "application/json"
    if data is not None and compress:
        data = gzip.compress(data, mtime=0)
        headers["Content-Encoding"] = "gzip"
    address = (base_url or _get_base_url()).rstrip("/") + path
    try:
        with urlopen(Request(address, data=data, headers=headers, method=method), timeout=timeout) as answer:
            text = answer.read()
    except HTTPError as error:
        raise SentinelAPIError(error.code, _said(error)) from error
    return json.loads(text) if text else {}


def _said(error: HTTPError) -> str:
    try:
        return error.read().decode("utf-8", "replace")
    except Exception:
        return ""


def _plain(value: Union[str, Enum, None]) -> Any:
    """Text and Enum alike."""
    return value.value if isinstance(value, Enum) else value


def _command(value: Any) -> str:
    """The service wants a text that holds a JSON array of words."""
    words = shlex.split(value) if isinstance(value, str) else [str(word) for word in value]
    return json.dumps(words)


def register_run(token: str, metadata: Optional[Mapping[str, Any]] = None, *, host_info: Optional[Mapping[str, Any]] = None,
                 cloud_info: Optional[Mapping[str, Any]] = None) -> Any:
    body: Dict[str, Any] = {}
    for part in (metadata, host_info, cloud_info):
        body.update({key: value for key, value in (part or {}).items() if value is not None})
    if "command" in body:
        body["command"] = _command(body["command"])
    return _request("POST", "/runs", token=token, payload=body)


def _run_path(run_id: str, call: str) -> str:
    return f"/runs/{quote(str(run_id), safe='')}/{call}"


def refresh_credentials(token: str, run_id: str) -> Any:
    return _request("POST", _run_path(run_id, "refresh-credentials"), token=token)


def finish_run(token: str, run_id: str, *, exit_code: Optional[int] = 0,
               run_status: Union[RunStatus, str] = RunStatus.finished,
               data_source: Union[DataSource, str] = DataSource.s3, data_uris: Optional[List[str]] = None,
               data_csv: Optional[str] = None) -> Any:
    if not data_uris and data_csv is None:
        raise ValueError("a run ends with data_uris or data_csv")
    body: Dict[str, Any] = {"data_source": _plain(data_source), "run_status": _plain(run_status)}
    if exit_code is not None:
        body["exit_code"] = exit_code
    if data_uris:
        body["data_uris"] = list(data_uris)
    if data_csv is not None:
        body["data_csv"] = data_csv
    path = _run_path(run_id, "finish")
    if data_csv is None:
        return _request("POST", path, token=token, payload=body)
    try:
        return _request("POST", path, token=token, payload=body, compress=True)
    except SentinelAPIError as error:
        if error.status_code not in (415, 422):  # not every service unpacks
            raise
        return _request("POST", path, token=token, payload=body)
