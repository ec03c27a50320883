"""What stands behind a ResourceTracker: tacho's agent, a thread in pure Python where that cannot be executed, or rows
that were loaded. Each gives rows of the 32 columns and their statistics."""
from __future__ import annotations

import os
import weakref
from datetime import datetime, timezone
from threading import Event, Thread
from time import time
from typing import Any, Callable, Dict, List, Optional

from .. import _agent, _options, _table
from .._errors import ProgramNotFound, TachoError
from .._program import find_program
from .._run import Run
from .column_maps import PROCESS_COLUMNS, SYSTEM_COLUMNS
from .server_info import has_gpu

Row = Dict[str, Any]
COLUMNS = ["timestamp", *("system_" + name for name in SYSTEM_COLUMNS[1:]), *("process_" + name for name in PROCESS_COLUMNS[1:])]
_GPU = [name for name in COLUMNS if "_gpu_" in name]
_SECRETS = ("SENTINEL_API_TOKEN", "SENTINEL_API_KEY", "TACHO_OUTPUT", "TRACKER_OUTPUT")


def _without_gpu(row: Row) -> Row:
    """A machine without GPU uses none."""
    for name in _GPU:
        if row.get(name) is None:
            row[name] = 0 if name.endswith("_utilized") else 0.0
    return row


class Recording:
    """Rows, and the run folder that the program reads them from."""

    implementation = "tacho"

    def __init__(self, interval: float) -> None:
        self.interval = interval
        self.started = 0.0
        self.owner = os.getpid()
        self._rows: List[Row] = []
        self._place = ""
        self._run: Optional[Run] = None

    def rows(self) -> List[Row]:
        return self._rows

    def run(self) -> Run:
        """As a run that the program can read: what it does not find in run.json it folds from the rows."""
        import json

        if not self._place:
            self._place = _options.temporary_folder()
            weakref.finalize(self, _options.remove_folder, self._place, os.getpid())
        folder = os.path.join(self._place, "loaded")
        os.makedirs(folder, exist_ok=True)
        names = COLUMNS
        _table.write_csv(_table.Table(names, [[row.get(name) for row in self._rows] for name in names]),
                         os.path.join(folder, "metrics.csv"))
        started = datetime.fromtimestamp(self.started, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
        with open(os.path.join(folder, "run.json"), "w", encoding="utf-8") as file:
            json.dump({"id": "loaded", "mode": "attach", "state": "running", "interval_s": self.interval,
                       "outcome": {"state": "running", "started_at": started}}, file)
        return Run(folder)

    def statistics(self) -> Dict[str, Dict[str, float]]:
        """{column: {mean, max, sum}}, the program's; `timestamp` has the duration."""
        try:
            return self.run().stats
        except TachoError:
            return fold(self._rows, self.started)

    def stop(self) -> None:
        pass


class AgentRecording(Recording):
    """tacho attach, into a private folder; rows are read as they come."""

    def __init__(self, pid: int, children: bool, interval: float) -> None:
        super().__init__(interval)
        self._place = _options.temporary_folder()
        words = [f"--pid={pid}", f"--interval={interval:.9g}", f"--store={self._place}"]
        try:
            self._agent = _agent.start(words if children else [*words, "--no-children"], _SECRETS)
            if self._agent.folder is None:
                self._agent.end()
                raise TachoError(f"{self._place} cannot be written to: free some space, or name another place with TMPDIR")
        except BaseException as error:
            _options.remove_folder(self._place, self.owner)
            if isinstance(error, _agent.Interrupted):
                raise error.by from None
            raise
        self.started = self._agent.started
        self._run = Run(self._agent.folder)
        self._run.remove_with_it(self._place)
        self._header: List[str] = []
        self._offset = 0
        self._gpu = has_gpu()

    def rows(self) -> List[Row]:
        """Only what is new is read."""
        path = os.path.join(str(self._agent.folder), "metrics.csv")
        try:
            with open(path, "rb") as file:
                file.seek(self._offset)
                new = file.read()
        except OSError:
            return self._rows
        new = new[:new.rfind(b"\n") + 1]
        self._offset += len(new)
        for line in new.decode("ascii", "replace").splitlines():
            fields = line.split(",")
            if not self._header:
                self._header = fields
            elif len(fields) == len(self._header):
                self._rows.append(self._row(dict(zip(self._header, fields))))
        return self._rows

    def _row(self, fields: Dict[str, str]) -> Row:
        row = {name: _number(name, fields.get(name, "")) for name in COLUMNS}
        return row if self._gpu else _without_gpu(row)

    def run(self) -> Run:
        assert self._run is not None
        return self._run

    def stop(self) -> None:
        self._agent.end()
        self.rows()


def _number(name: str, text: str) -> Any:
    if text == "":
        return None
    return int(text) if _table.is_count(name) and "." not in text else float(text)


class PythonRecording(Recording):
    """A thread of this process; ends with it."""

    implementation = "procfs"

    def __init__(self, pid: int, children: bool, interval: float, read_process: Callable[..., Dict[str, Any]],
                 read_system: Callable[[], Dict[str, Any]]) -> None:
        super().__init__(interval)
        self._pid, self._children = pid, children
        self._read_process, self._read_system = read_process, read_system
        self._before = self._read()
        self.started = self._before["system"]["timestamp"]
        self._end = Event()
        self._thread = Thread(target=self._loop, name="tacho-procfs", daemon=True)
        self._thread.start()

    def _read(self) -> Dict[str, Any]:
        return {"process": self._read_process(self._pid, self._children), "system": self._read_system()}

    def _loop(self) -> None:
        tick = 1
        while not self._end.wait(max(0.0, self.started + tick * self.interval - time())):
            if not self._sample():
                return
            tick = int((time() - self.started) / self.interval) + 1

    def _sample(self) -> bool:
        try:
            now = self._read()
        except (OSError, KeyError, ValueError):
            return False  # the process has ended
        row: Row = {"timestamp": round(time(), 3)}
        system = difference(now["system"], self._before["system"], SYSTEM_COLUMNS)
        process = difference(now["process"], self._before["process"], PROCESS_COLUMNS)
        row.update({"system_" + name: system[name] for name in SYSTEM_COLUMNS[1:]})
        row.update({"process_" + name: process[name] for name in PROCESS_COLUMNS[1:]})
        self._before = now
        self._rows.append(_without_gpu(row))
        return True

    def stop(self) -> None:
        self._end.set()
        self._thread.join(5)
        self._sample()

    def statistics(self) -> Dict[str, Dict[str, float]]:
        return fold(self._rows, self.started)


class LoadedRecording(Recording):
    """Rows of a snapshot."""

    def __init__(self, rows: List[Row], started: float, interval: float) -> None:
        super().__init__(interval)
        self._rows, self.started = rows, started


def difference(now: Dict[str, Any], before: Dict[str, Any], columns: List[str]) -> Dict[str, Any]:
    """What a row says: counters since the last reading, levels as they are."""
    seconds = max(now["timestamp"] - before["timestamp"], 1e-3)
    row: Dict[str, Any] = {"timestamp": round(now["timestamp"], 3)}
    now, before = _with_disks(now), _with_disks(before)
    for name in columns[1:]:
        if name == "cpu_usage":
            row[name] = round(max(0.0, now["utime"] + now["stime"] - before["utime"] - before["stime"]) / seconds, 4)
        elif name in ("utime", "stime") or name.endswith("_bytes"):
            known = now.get(name) is not None and before.get(name) is not None
            nothing = 0 if name.endswith("_bytes") else 0.0
            row[name] = max(nothing, round(now[name] - before[name], 6)) if known else None
        else:
            value = now.get(name)
            row[name] = round(value, 4) if isinstance(value, float) else value
    return row


def _with_disks(stats: Dict[str, Any]) -> Dict[str, Any]:
    disks = stats.get("disk_stats")
    if disks is None:
        return stats
    return {**stats, "disk_read_bytes": sum(disk["read_bytes"] for disk in disks.values()),
            "disk_write_bytes": sum(disk["write_bytes"] for disk in disks.values())}


def fold(rows: List[Row], started: float) -> Dict[str, Dict[str, float]]:
    """Statistics where there is no program: means weighted by time."""
    found: Dict[str, Dict[str, float]] = {}
    for name in COLUMNS[1:]:
        weighted = seconds = 0.0
        values: List[float] = []
        before = started
        for row in rows:
            step, before = max(row["timestamp"] - before, 0.0), row["timestamp"]
            if row.get(name) is not None:
                weighted, seconds = weighted + row[name] * step, seconds + step
                values.append(row[name])
        if values:
            found[name] = {"max": round(max(values), 2), "sum": sum(values),
                           "mean": round(weighted / seconds if seconds else values[-1], 2)}
    if rows:
        found["timestamp"] = {"duration": round(rows[-1]["timestamp"] - started, 3)}
    return found


def record(pid: int, children: bool, interval: float, read_process: Callable[..., Dict[str, Any]],
           read_system: Callable[[], Dict[str, Any]]) -> Recording:
    """By the program; in pure Python where it is missing or for another machine."""
    try:
        find_program()
        return AgentRecording(pid, children, interval)
    except ProgramNotFound:
        return PythonRecording(pid, children, interval, read_process, read_system)
    except TachoError as error:
        if "cannot be executed" not in str(error):
            raise
        return PythonRecording(pid, children, interval, read_process, read_system)
