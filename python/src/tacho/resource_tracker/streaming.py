"""Rows to the ingest service while they come: batches to S3, and a word at the end."""
from __future__ import annotations

import gzip
import logging
from datetime import datetime, timezone
from threading import Event, Thread
from time import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, Union

from .s3_upload import put_bytes_with_sts
from .sentinel_api import DataSource, RunStatus, finish_run, refresh_credentials, register_run

logger = logging.getLogger("resource_tracker")

_REFRESH_SECONDS = 300.0  # credentials are renewed so long before they expire
_UNKNOWN_LIFE_SECONDS = 900.0
_SHORTEST_PAUSE = 0.1


def _parse_expires_at(text: Any) -> float:
    """Seconds since 1970, of ISO 8601 with Z, an offset or none (UTC), or of such a number."""
    if isinstance(text, (int, float)):
        return float(text)
    moment = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone.utc)).timestamp()


def _read_new_bytes(filepath: str, offset: int, until: Optional[bytes] = None) -> Tuple[bytes, int]:
    """What stands behind the offset, and the offset behind it; with `until`, to the end of the first of those.

    No file: nothing new. ValueError when there is something, but no `until` in it.
    """
    try:
        with open(filepath, "rb") as file:
            file.seek(offset)
            data = file.read()
    except FileNotFoundError:
        return b"", offset
    if until is not None:
        at = data.find(until)
        if at < 0:
            raise ValueError(f"{until!r} is not found in {filepath}")
        data = data[:at + len(until)]
    return data, offset + len(data)


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
        self._refresh_at: Optional[float] = None
        self._uploaded_uris: List[str] = []
        self._csv_offset = 0
        self._seq = 0  # batches that were sent
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
        """Raises what the service refuses, and KeyError for an answer that lacks what it must have."""
        answer = register_run(self._token, metadata=self._metadata, host_info=self._host_info, cloud_info=self._cloud_info)
        run_id = str(answer["run_id"])
        self._uri_prefix = answer.get("upload_uri_prefix")
        if answer.get("upload_credentials"):
            self._refresh_at = self._take_credentials(answer["upload_credentials"]) - _REFRESH_SECONDS
        else:
            self._uri_prefix = None  # then all rows go with the last word
        self._run_id = run_id
        self._thread = Thread(target=self._loop, name="tacho-streaming", daemon=True)
        self._thread.start()

    # Credentials

    def _take_credentials(self, credentials: Mapping[str, Any]) -> float:
        """Returns when they expire."""
        expires = credentials["expiration"] if "expiration" in credentials else credentials["expires_at"]
        self._credentials = dict(credentials)
        try:
            return _parse_expires_at(expires)
        except (ValueError, OverflowError, OSError):
            return time() + _UNKNOWN_LIFE_SECONDS

    def _refresh_if_needed(self) -> None:
        now = time()
        if self._refresh_at is None or now < self._refresh_at:
            return
        # Whatever comes of it, not again at once: those that live shorter than five minutes are renewed half-way.
        self._refresh_at = now + max(self._upload_interval, 1.0)
        try:
            answer = refresh_credentials(self._token, str(self._run_id))
            expires = self._take_credentials(answer.get("upload_credentials", answer))
            self._refresh_at = max(expires - _REFRESH_SECONDS, now + max((expires - now) / 2, 1.0))
        except Exception as error:
            logger.warning("credentials were not renewed: %s", error)

    # Batches

    def _pause(self) -> float:
        until_refresh = self._upload_interval if self._refresh_at is None else self._refresh_at - time()
        return max(_SHORTEST_PAUSE, min(self._upload_interval, until_refresh))

    def _loop(self) -> None:
        while not self._stop_event.wait(self._pause()):
            try:
                self._refresh_if_needed()
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

    def _new_rows(self) -> Tuple[bytes, bytes]:
        """The header, and whole lines behind what was sent. ValueError when the file does not begin with a line."""
        if not self._csv_path:
            return b"", b""
        data, _ = _read_new_bytes(self._csv_path, 0)
        if not data:
            return b"", b""
        end = data.find(b"\n") + 1
        if end == 0:
            raise ValueError(f"there is no header line in {self._csv_path}")
        return data[:end], data[max(end, self._csv_offset):data.rfind(b"\n") + 1]

    def _upload_batch(self) -> None:
        """What came since the last one, with the header. A batch that S3 does not take goes with the next one."""
        self._update()
        header, rows = self._new_rows()
        if not rows or not self._uri_prefix:
            return
        uri = f"{self._uri_prefix.rstrip('/')}/{self._seq + 1:04d}.csv.gz"
        keys = self._credentials
        try:
            put_bytes_with_sts(s3_uri=uri, body=gzip.compress(header + rows, mtime=0),
                               access_key=keys.get("access_key", keys.get("access_key_id", "")),
                               secret_key=keys.get("secret_key", keys.get("secret_access_key", "")),
                               session_token=keys.get("session_token", ""), region=keys.get("region"))
        except Exception as error:
            logger.warning("batch %d was not sent, it goes with the next one: %s", self._seq + 1, error)
            return
        self._csv_offset = max(len(header), self._csv_offset) + len(rows)
        self._seq += 1
        self._uploaded_uris.append(uri)

    def _read_all_csv(self) -> str:
        self._update()
        if not self._csv_path:
            return ""
        return _read_new_bytes(self._csv_path, 0)[0].decode("utf-8", "replace")

    # The end

    def _all_is_sent(self) -> bool:
        """A short run is not worth an object, and what S3 does not take must not be lost: all rows go with the last word."""
        if not self._uploaded_uris:
            return False
        try:
            self._refresh_if_needed()
            self._upload_batch()
            return not self._new_rows()[1]
        except Exception as error:
            logger.warning("the last batch was not sent: %s", error)
        try:
            return not self._new_rows()[1]
        except ValueError:
            return True

    def _rows_for_finish(self) -> str:
        try:
            return self._read_all_csv()
        except Exception as error:
            logger.warning("the rows cannot be read, the run is finished without them: %s", error)
            return ""

    def stop(self, exit_code: Optional[int] = 0, run_status: Union[RunStatus, str] = RunStatus.finished) -> Any:
        """Sends the rest and finishes the run; None when it was never registered or cannot be finished."""
        self._stop_event.set()
        if self._thread is not None:
            self._thread.join(timeout=35)
        if self._run_id is None:
            return None
        data: Dict[str, Any]
        if self._all_is_sent():
            data = {"data_source": DataSource.s3, "data_uris": self.uploaded_uris}
        else:
            data = {"data_source": DataSource.inline, "data_csv": self._rows_for_finish()}
        try:
            return finish_run(self._token, self._run_id, exit_code=exit_code, run_status=run_status, **data)
        except Exception as error:
            logger.warning("the run was not finished at the service: %s", error)
            return None
