"""Rows to the ingest service while they come: batches to S3, and a word at the end."""
from __future__ import annotations

import gzip
import logging
from datetime import datetime, timedelta, timezone
from threading import Event, Thread
from typing import Any, Callable, Dict, List, Mapping, Optional, Union

from .s3_upload import put_bytes_with_sts
from .sentinel_api import DataSource, RunStatus, finish_run, refresh_credentials, register_run

logger = logging.getLogger("resource_tracker")

_REFRESH = timedelta(minutes=5)
_UNKNOWN_LIFE = timedelta(minutes=15)


def _parse_expires_at(text: Any) -> datetime:
    """ISO 8601 with Z, an offset or none (UTC), or seconds since 1970."""
    if isinstance(text, (int, float)):
        return datetime.fromtimestamp(text, timezone.utc)
    moment = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone.utc)


def _read_new_bytes(filepath: str, offset: int, until: Optional[int] = None) -> bytes:
    with open(filepath, "rb") as file:
        file.seek(offset)
        return file.read() if until is None else file.read(max(0, until - offset))


class StreamingManager:
    """start() registers the run and begins to upload; stop() sends the rest and finishes it."""

    def __init__(self, token: str, csv_path: Optional[str] = None, upload_interval: float = 60,
                 metadata: Optional[Mapping[str, Any]] = None, host_info: Optional[Mapping[str, Any]] = None,
                 cloud_info: Optional[Mapping[str, Any]] = None, csv_update_fn: Optional[Callable[[], Any]] = None) -> None:
        self._token = token
        self._csv_path = csv_path
        self._upload_interval = upload_interval
        self._metadata = metadata
        self._host_info = host_info
        self._cloud_info = cloud_info
        self._csv_update_fn = csv_update_fn
        self._run_id: Optional[str] = None
        self._uri_prefix: Optional[str] = None
        self._credentials: Dict[str, Any] = {}
        self._expires_at: Optional[datetime] = None
        self._uploaded_uris: List[str] = []
        self._csv_offset = 0
        self._seq = 1
        self._stop_event = Event()
        self._thread: Optional[Thread] = None

    @property
    def run_id(self) -> Optional[str]:
        return self._run_id

    @property
    def uploaded_uris(self) -> List[str]:
        return list(self._uploaded_uris)

    @property
    def is_alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Raises what the service refuses."""
        answer = register_run(self._token, self._metadata, host_info=self._host_info, cloud_info=self._cloud_info)
        self._run_id = str(answer["run_id"])
        self._uri_prefix = answer.get("upload_uri_prefix")
        self._take_credentials(answer.get("upload_credentials"))
        self._thread = Thread(target=self._loop, name="tacho-streaming", daemon=True)
        self._thread.start()

    def _take_credentials(self, credentials: Any) -> None:
        self._credentials = dict(credentials or {})
        expires = self._credentials.get("expires_at", self._credentials.get("expiration"))
        try:
            self._expires_at = _parse_expires_at(expires)
        except (ValueError, OverflowError, OSError):
            self._expires_at = datetime.now(timezone.utc) + _UNKNOWN_LIFE

    def _refresh_if_needed(self) -> None:
        if self._expires_at is None or self._expires_at - datetime.now(timezone.utc) > _REFRESH:
            return
        try:
            answer = refresh_credentials(self._token, str(self._run_id))
            self._take_credentials(answer.get("upload_credentials", answer))
        except Exception as error:
            logger.warning("credentials were not renewed: %s", error)

    def _loop(self) -> None:
        while not self._stop_event.wait(self._upload_interval):
            try:
                self._upload_batch()
            except Exception as error:
                logger.warning("a batch was not sent, it goes with the next one: %s", error)

    def _update(self) -> None:
        if self._csv_update_fn is None:
            return
        try:
            self._csv_update_fn()
        except Exception as error:
            logger.warning("the rows could not be brought up to date: %s", error)

    def _header(self) -> bytes:
        assert self._csv_path is not None
        with open(self._csv_path, "rb") as file:
            return file.readline()

    def _upload_batch(self) -> None:
        """What came since the last one, whole lines only, with the header."""
        self._update()
        if not self._csv_path or not self._uri_prefix:
            return
        try:
            new = _read_new_bytes(self._csv_path, self._csv_offset)
        except FileNotFoundError:
            return
        new = new[:new.rfind(b"\n") + 1]
        header = self._header()
        if not new or (self._csv_offset == 0 and new == header):
            return
        body = new if self._csv_offset == 0 else header + new
        self._refresh_if_needed()
        uri = f"{self._uri_prefix.rstrip('/')}/{self._seq:04d}.csv.gz"
        keys = self._credentials
        put_bytes_with_sts(s3_uri=uri, body=gzip.compress(body, mtime=0),
                           access_key=keys.get("access_key", keys.get("access_key_id", "")),
                           secret_key=keys.get("secret_key", keys.get("secret_access_key", "")),
                           session_token=keys.get("session_token", ""), region=keys.get("region"))
        self._csv_offset += len(new)
        self._seq += 1
        self._uploaded_uris.append(uri)

    def _read_all_csv(self) -> str:
        if not self._csv_path:
            return ""
        try:
            with open(self._csv_path, encoding="utf-8", newline="") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def stop(self, exit_code: Optional[int] = 0, run_status: Union[RunStatus, str] = RunStatus.finished) -> Any:
        """Sends the rest and finishes the run; None when it was never registered or cannot be finished."""
        self._stop_event.set()
        if self._thread is not None:
            self._thread.join(timeout=35)
        if self._run_id is None:
            return None
        complete = True
        if self._uploaded_uris:  # a short run is not worth an object: its rows go with the last word
            try:
                self._upload_batch()
            except Exception as error:
                logger.warning("the last batch was not sent, all rows go with the finish call: %s", error)
                complete = False
        else:
            self._update()
        try:
            if self._uploaded_uris and complete:
                return finish_run(self._token, self._run_id, exit_code=exit_code, run_status=run_status,
                                  data_source=DataSource.s3, data_uris=self._uploaded_uris)
            return finish_run(self._token, self._run_id, exit_code=exit_code, run_status=run_status,
                              data_source=DataSource.inline, data_csv=self._read_all_csv())
        except Exception as error:
            logger.warning("the run was not finished at the service: %s", error)
            return None
