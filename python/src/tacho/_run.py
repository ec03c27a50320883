"""Run: one recorded run, read from its folder or from a metrics file."""
from __future__ import annotations

import os

from . import _agent, _table
from ._errors import ProgramNotFound, RunNotFound, TachoError
from ._json import as_list, as_object
from ._plain import open_plain
from ._program import ask, ask_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Tuple, Union

    import pandas
    import polars
    import pyarrow

    from ._options import Text
    from ._table import Table

SUMMARY = ("id", "state", "exit_code", "seconds", "cpu_seconds", "cpu_mean", "memory_peak_mib", "disk_read_bytes",
           "disk_written_bytes", "net_recv_bytes", "net_sent_bytes", "gpu_mean", "gpu_memory_peak_mib", "samples",
           "method")


class Run:
    """A run. While it goes on it is read anew each time it is asked; once it has ended, once."""

    __slots__ = ("_folder", "_file", "_info", "_table", "__weakref__")

    def __init__(self, folder: Text, _file: Optional[str] = None) -> None:
        self._folder: str = os.path.abspath(os.fspath(folder))
        self._file = _file
        self._info: Optional[Dict[str, Any]] = None
        self._table: Optional[Table] = None

    @classmethod
    def of_file(cls, path: Text) -> Run:
        """Of a .csv, .csv.gz or .jsonl file."""
        name: str = os.path.abspath(os.fspath(path))
        return cls(os.path.dirname(name), name)

    def remove_with_it(self, place: str) -> None:
        """The folder goes when this object does, or when this process exits."""
        import weakref

        from ._options import remove_folder

        weakref.finalize(self, remove_folder, place, os.getpid())

    def __reduce__(self) -> Tuple[Any, ...]:
        return (Run, (self._folder, self._file))

    def __repr__(self) -> str:
        return f"<tacho.Run {self._file or self._folder}>"

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Run) and (self._folder, self._file) == (other._folder, other._file)

    def __hash__(self) -> int:
        return hash((self._folder, self._file))

    # What is known of it

    @property
    def folder(self) -> str:
        """Where run.json, metrics.csv and the rest of it are."""
        return self._folder

    @property
    def info(self) -> Dict[str, Any]:
        """run.json; of a file, what the program makes of it."""
        if self._info is not None:
            return self._info
        info = self._read_info()
        if info.get("state") != "running":
            self._info = info
        return info

    def _read_info(self) -> Dict[str, Any]:
        if self._file is not None:
            return self._ask_json("show", self._file_for_program(), "--json")
        info = self._read_run_json()
        if info.get("state") != "running":
            return info
        pid, ticks = info.get("tracker_pid"), info.get("tracker_start_ticks")
        if isinstance(pid, int) and (_agent.start_ticks(pid) == ticks if ticks else _agent.start_ticks(pid) != 0):
            return info
        # Who recorded it is gone, or not to be seen from here: the program knows by the lock on its rows.
        try:
            return self._ask_json("show", self._folder, "--json")
        except ProgramNotFound:
            return {**info, "state": "interrupted"}

    def _read_run_json(self) -> Dict[str, Any]:
        import json

        path = os.path.join(self._folder, "run.json")
        problem: Exception = ValueError("no JSON object")
        for _ in range(3):  # it may be replaced while it is read
            try:
                with open_plain(path) as file:
                    info: Any = json.loads(file.read().decode("utf-8", "replace"))
                if isinstance(info, dict):
                    return as_object(info)
            except FileNotFoundError as error:
                raise RunNotFound(f"there is no run in {self._folder}") from error
            except (OSError, ValueError, RecursionError) as error:
                problem = error
        raise TachoError(f"{path} cannot be read: {problem}; its rows may still be: tacho.load({self._folder!r} "
                         "+ '/metrics.csv')")

    @property
    def id(self) -> str:
        """The name of its folder, or of the file."""
        return os.path.basename(self._file or self._folder)

    @property
    def state(self) -> str:
        """running, finished, failed or interrupted."""
        return str(self.info.get("state", "interrupted"))

    @property
    def exit_code(self) -> Optional[int]:
        """As a shell tells it (128 + signal); None while it runs, and of a process that was attached to."""
        code = _member(self.info, "outcome", "exit_code")
        return code if isinstance(code, int) else None

    def summary(self) -> Dict[str, Any]:
        """The figures of one line; unknown is None, never 0."""
        info = self.info
        outcome, totals, stats = (as_object(info.get(key)) for key in ("outcome", "totals", "statistics"))
        user, system = totals.get("cpu_user_s"), totals.get("cpu_system_s")
        peak = totals.get("memory_peak_bytes")
        cpu_seconds = None if user is None and system is None else round((user or 0) + (system or 0), 4)
        sampled = _member(stats, "process_memory_mib", "max")
        nothing = self._file is not None and not info.get("samples")  # a file without rows: no time is known
        values = (self.id, self.state, self.exit_code, None if nothing else outcome.get("duration_s"),
                  cpu_seconds if cpu_seconds is not None else _sum(stats, "process_utime", "process_stime"),
                  _member(stats, "process_cpu_usage", "mean"), sampled if peak is None else round(peak / 2**20, 3),
                  _first(totals.get("io_read_bytes"), _member(stats, "process_disk_read_bytes", "sum")),
                  _first(totals.get("io_write_bytes"), _member(stats, "process_disk_write_bytes", "sum")),
                  _member(stats, "system_net_recv_bytes", "sum"), _member(stats, "system_net_sent_bytes", "sum"),
                  _member(stats, "process_gpu_usage", "mean"), _member(stats, "process_gpu_vram_mib", "max"),
                  info.get("samples"), info.get("method"))
        return dict(zip(SUMMARY, values))

    @property
    def stats(self) -> Dict[str, Dict[str, float]]:
        """{column: {aggregate: value}}"""
        return as_object(self.info.get("statistics"))

    @property
    def phases(self) -> List[Dict[str, Any]]:
        """What each phase used that tacho.mark() or tacho.phase() began."""
        return as_list(self.info.get("phases"))

    def processes(self) -> List[Dict[str, Any]]:
        """processes.csv: who used how much. Of a process that was written down twice the last line counts."""
        lines = self._lines("processes.csv")
        if self.state == "running":
            lines = list({(line.get("pid"), line.get("started"), line.get("name")): line for line in lines}.values())
        return lines

    def marks(self) -> List[Dict[str, Any]]:
        """marks.csv, in the order in which it was written."""
        return self._lines("marks.csv")

    def _lines(self, name: str) -> List[Dict[str, Any]]:
        if self._file is not None:
            return []
        try:
            header, lines = _table.read_records(os.path.join(self._folder, name))
        except OSError:
            return []
        return [{key: _typed(key, text) for key, text in zip(header, line)} for line in lines]

    # Rows

    def _rows(self) -> Table:
        if self._table is not None:
            return self._table
        ended = self._file is not None or self.state != "running"
        path = self._file or os.path.join(self._folder, "metrics.csv")
        try:
            table = _table.read_json_lines(path) if path.endswith((".jsonl", ".json")) else _table.read_csv(path)
        except FileNotFoundError as error:
            raise RunNotFound(f"there are no rows: {path}") from error
        except OSError as error:
            raise TachoError(f"{path} cannot be read: {error.strerror}") from error
        if ended:
            self._table = table
        return table

    @property
    def columns(self) -> List[str]:
        """Names as in metrics.csv; `tacho list metrics` tells what they mean."""
        return list(self._rows().columns)

    def rows(self) -> List[Dict[str, Union[int, float, None]]]:
        """One dict a sample; an empty field is None."""
        table = self._rows()
        return [dict(zip(table.columns, cells)) for cells in zip(*(table.values[name] for name in table.columns))]

    def to_dict(self) -> Dict[str, List[Union[int, float, None]]]:
        """{column: its values}"""
        table = self._rows()
        return {name: list(table.values[name]) for name in table.columns}

    def __len__(self) -> int:
        return len(self._rows())

    def to_pandas(self, datetime: bool = True) -> pandas.DataFrame:
        """Indexed by `timestamp`: UTC, or seconds without `datetime`."""
        from ._frames import to_pandas

        return to_pandas(self._rows(), datetime)

    def to_polars(self) -> polars.DataFrame:
        """`timestamp` as UTC; needs polars."""
        from ._frames import to_polars

        return to_polars(self._rows())

    def to_arrow(self) -> pyarrow.Table:
        """`timestamp` as UTC; needs pyarrow."""
        from ._frames import to_arrow

        return to_arrow(self._rows())

    # What the program says of it

    def _ask_json(self, *words: str, ok: Tuple[int, ...] = (0,)) -> Dict[str, Any]:
        return as_object(ask_json(*words, ok=ok))

    def _name(self) -> str:
        return self._folder if self._file is None else self._file_for_program()

    def _file_for_program(self) -> str:
        """The program reads CSV: JSON lines are written down so, once, where they go with this object."""
        assert self._file is not None
        if not self._file.endswith((".jsonl", ".json")):
            return self._file
        from ._options import temporary_folder

        place = temporary_folder()
        self.remove_with_it(place)
        path = os.path.join(place, os.path.basename(self._file) + ".csv")
        _table.write_csv(self._rows(), path)
        return path

    def report(self, path: Optional[Text] = None) -> str:
        """The page as HTML; also written to `path`."""
        if path is None:
            return ask("report", self._name(), "-o", "-")
        name: str = os.path.abspath(os.fspath(path))
        ask("report", self._name(), "-o", name)
        with open(name, encoding="utf-8") as file:
            return file.read()

    def advise(self) -> Dict[str, Any]:
        """What size the job needs; `advice` is None, with a reason, where too little is known."""
        return self._ask_json("advise", self._name(), "--json", ok=(0, 4))

    def why(self) -> Dict[str, Any]:
        """What limited it."""
        return self._ask_json("why", self._name(), "--json")

    def show(self) -> str:
        """The summary as text."""
        return ask("show", self._name())

    def _repr_html_(self) -> str:
        from ._html import page

        return page(self)


def _member(value: Any, *keys: str) -> Any:
    for key in keys:
        value = as_object(value).get(key)
    return value


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _sum(stats: Dict[str, Any], *columns: str) -> Optional[float]:
    sums = [_member(stats, column, "sum") for column in columns]
    known = [value for value in sums if value is not None]
    return round(sum(known), 4) if known else None


def _typed(key: str, text: str) -> Union[str, int, float, None]:
    if text == "":
        return None
    if key in ("name", "command", "event", "exit"):
        return text
    try:
        return int(text) if key in ("pid", "ppid", "count") or key.endswith("_bytes") else float(text)
    except ValueError:
        return text
