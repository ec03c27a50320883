"""The loop of the trackers in the foreground: one row an interval, for ever."""
from __future__ import annotations

import sys
from time import sleep, time
from typing import IO, Any, Dict, List, Optional

from . import _recording
from .helpers import render_csv_row


class Foreground:
    """What it reads is said by `_read`."""

    columns: List[str] = []

    def __init__(self, start_time: Optional[float], interval: float, autostart: bool, output_file: Optional[str]) -> None:
        self.start_time = time() if start_time is None else start_time
        self.interval = interval
        self.status = "running"
        self.cycle = 0
        self.stats = self._read()
        if autostart:
            self.start_tracking(output_file)

    def _read(self) -> Dict[str, Any]:
        raise NotImplementedError

    def diff_stats(self) -> Dict[str, Any]:
        """What happened since the last call, as a row."""
        before, self.stats = self.stats, self._read()
        self.cycle += 1
        return _recording.difference(self.stats, before, self.columns)

    def start_tracking(self, output_file: Optional[str] = None, print_header: bool = True) -> None:
        file: Optional[IO[bytes]] = open(output_file, "wb") if output_file else None
        try:
            self._track(file, print_header)
        finally:
            if file is not None:
                file.close()

    def _track(self, file: Optional[IO[bytes]], print_header: bool) -> None:
        def put(data: bytes) -> None:
            if file is None:
                sys.stdout.write(data.decode())
                sys.stdout.flush()
            else:
                file.write(data)
                file.flush()

        if print_header:
            put(render_csv_row(self.columns))
        while self.status == "running":
            behind = (time() - self.start_time) % self.interval
            sleep(max(0.001, self.interval - behind))
            try:
                row = self.diff_stats()
            except (ProcessLookupError, FileNotFoundError):
                self.status = "exited"
                return
            put(render_csv_row([row[name] for name in self.columns]))
