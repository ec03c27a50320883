"""pytest: limits on what a test uses, by @pytest.mark.tacho(memory_peak="500MiB", time="2s")."""
from __future__ import annotations

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Generator, List, Optional, Tuple

    from . import Run, Tracker

LIMITS = {"memory_peak": "size", "memory_growth": "size", "time": "seconds", "cpu_time": "seconds",
          "cpu_mean": "number", "disk_read": "size", "disk_written": "size", "gpu_memory_peak": "size"}
# The limit's value in a report: key, and what a value in bytes is divided by.
_FIGURES = {"memory_peak": ("memory_peak_mib", 2**20), "memory_growth": ("memory_growth_mib", 2**20),
            "time": ("seconds", 1), "cpu_time": ("cpu_seconds", 1), "cpu_mean": ("cpu_mean", 1),
            "disk_read": ("disk_read_bytes", 1), "disk_written": ("disk_written_bytes", 1),
            "gpu_memory_peak": ("gpu_memory_peak_mib", 2**20)}
_ATTRIBUTE = "tacho_figures"  # of a report; travels with it from a worker of xdist


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("tacho", "what tests use")
    group.addoption("--tacho", action="store_true", help="record every test")
    group.addoption("--tacho-interval", metavar="D", help="time between two samples (0.02)")
    group.addoption("--tacho-json", metavar="FILE", help="write what each recorded test used to FILE")
    group.addoption("--tacho-strict", action="store_true", help="a limit that cannot be measured fails its test")


def pytest_configure(config: Any) -> None:
    config.addinivalue_line("markers", "tacho(memory_peak=, memory_growth=, time=, cpu_time=, cpu_mean=, disk_read=, "
                                       "disk_written=, gpu_memory_peak=, interval=0.02): upper limits of what a test uses")
    every = config.getoption("tacho_interval")
    if every is not None:
        _checked_interval(every)
    path = config.getoption("tacho_json")
    if path and not hasattr(config, "workerinput"):
        try:
            open(path, "a", encoding="utf-8").close()  # now, not when everything has run
        except OSError as error:
            raise pytest.UsageError(f"tacho: --tacho-json {path}: {error.strerror}") from None
    config.pluginmanager.register(_Reports(config), "tacho_reports")


def _checked_interval(value: Any) -> float:
    from ._units import interval

    try:
        return interval(float(value) if isinstance(value, str) and value.replace(".", "", 1).isdigit() else value)
    except ValueError as error:
        raise pytest.UsageError(f"tacho: {error}") from None


class _Wanted:
    """What the markers of a test ask for."""

    def __init__(self, item: Any) -> None:
        self.limits: Dict[str, Tuple[float, Any]] = {}
        self.interval = 0.02
        every = item.config.getoption("tacho_interval")
        if every is not None:
            self.interval = _checked_interval(every)
        for marker in reversed(list(item.iter_markers("tacho"))):  # the nearest one last
            if marker.args:
                raise pytest.UsageError(f"{item.nodeid}: the marker tacho takes names: tacho(memory_peak='500MiB')")
            for name, value in marker.kwargs.items():
                self._take(item.nodeid, name, value)

    def _take(self, nodeid: str, name: str, value: Any) -> None:
        from . import _units
        from ._options import nearest

        if name == "interval":
            self.interval = _checked_interval(value)
            return
        kind = LIMITS.get(name)
        if kind is None:
            raise pytest.UsageError(f"{nodeid}: the marker tacho knows no {name!r}{nearest(name, [*LIMITS, 'interval'])}")
        try:
            limit = _units.size(value) if kind == "size" else _units.seconds(value)
        except ValueError as error:
            raise pytest.UsageError(f"{nodeid}: {name}: {error}") from None
        self.limits[name] = (limit, value)


def pytest_collection_modifyitems(config: Any, items: List[Any]) -> None:
    for item in items:
        if item.get_closest_marker("tacho") is not None:
            _Wanted(item)  # a misspelt limit is told before anything runs


@pytest.fixture
def tacho_run(request: Any) -> Tracker:
    """The Tracker that records the call of this test; `.run` is there while it runs."""
    tracker = _new_tracker(request.node)
    request.node.stash[_tracker_key] = tracker
    return tracker


_tracker_key: Any = pytest.StashKey[object]()
_figures_key: Any = pytest.StashKey[object]()
_exceeded_key: Any = pytest.StashKey[object]()


def _new_tracker(item: Any) -> Tracker:
    from ._tracker import track

    return track(item.name, interval=_Wanted(item).interval, keep=False, export=True)


def _tree_bytes() -> Optional[float]:
    """Memory of this process and what it started, as the program sums it: alone its resident size, else shared parts."""
    import os

    def read(path: str) -> str:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()

    try:
        pids, at = [os.getpid()], 0
        while at < len(pids):
            for task in os.listdir(f"/proc/{pids[at]}/task"):
                pids += [int(pid) for pid in read(f"/proc/{pids[at]}/task/{task}/children").split()]
            at += 1
        if len(pids) == 1:
            return int(read("/proc/self/statm").split()[1]) * os.sysconf("SC_PAGE_SIZE")
        parts = [line for pid in pids for line in read(f"/proc/{pid}/smaps_rollup").splitlines() if line.startswith("Pss:")]
        return float(sum(int(line.split()[1]) for line in parts) * 1024)
    except (OSError, ValueError, IndexError):
        return None


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: Any) -> Generator[None, Any, None]:
    wanted = item.config.getoption("tacho") or item.get_closest_marker("tacho") is not None
    tracker = item.stash.get(_tracker_key, None)
    if tracker is None and not wanted:
        yield
        return
    if tracker is None:
        tracker = _new_tracker(item)
    level = _tree_bytes()
    tracker.start()
    outcome = yield
    run = tracker.stop()
    problem = _judge(item, run, level)
    if outcome.excinfo is None and problem is not None:
        item.stash[_exceeded_key] = problem
        try:
            outcome.force_exception(problem)
        except AttributeError:  # pytest before 7.3 with an old pluggy
            outcome._result, outcome._excinfo = None, (type(problem), problem, None)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Generator[None, Any, None]:
    outcome = yield
    figures = item.stash.get(_figures_key, None)
    if figures is None or call.when != "call" or outcome.excinfo is not None:
        return
    report = outcome.get_result()
    setattr(report, _ATTRIBUTE, figures)
    if report.failed and item.stash.get(_exceeded_key, None) is getattr(call.excinfo, "value", None) is not None:
        _tell_briefly(item, report, call.excinfo)


def _tell_briefly(item: Any, report: Any, info: Any) -> None:
    """The limit and the test: nothing in the test has raised it, so that its traceback is pytest's own alone."""
    told = info.getrepr(style="value")
    told.reprtraceback.reprentries[-1].lines[:] = [f"E   {info.exconly()}"]
    told.reprcrash.path, told.reprcrash.lineno = item.location[0], (item.location[1] or 0) + 1
    told.reprcrash.message = str(info.value)
    report.longrepr = told


def _measure(run: Optional[Run], level: Optional[float]) -> Dict[str, Any]:
    if run is None:
        return {}
    figures = {key: value for key, value in run.summary().items() if key not in ("id", "state", "exit_code", "method")}
    peak = figures["memory_peak_mib"]
    figures["memory_growth_mib"] = None if peak is None or level is None else round(max(0.0, peak - level / 2**20), 3)
    return figures


def _judge(item: Any, run: Optional[Run], level: Optional[float]) -> Optional[BaseException]:
    from . import LimitExceeded, TachoWarning

    figures = _measure(run, level)
    for key in ("seconds", "cpu_seconds", "memory_peak_mib", "memory_growth_mib", "gpu_memory_peak_mib"):
        if figures.get(key) is not None:
            item.user_properties.append((f"tacho_{key}", figures[key]))
    item.stash[_figures_key] = figures
    over: List[str] = []
    unknown: List[str] = []
    for name, (limit, _) in _Wanted(item).limits.items():
        key, unit = _FIGURES[name]
        value = figures.get(key)
        if value is None:
            unknown.append(name)
        elif value * unit > limit:
            over.append(f"{name} {_human(name, value * unit)} > {_human(name, limit)}")
    if unknown and not over:
        text = f"tacho: not measured here, so not judged: {', '.join(unknown)}"
        if item.config.getoption("tacho_strict"):
            return LimitExceeded(text)
        item.warn(TachoWarning(text))
    return LimitExceeded("tacho: " + "; ".join(over)) if over else None


def _human(name: str, value: float) -> str:
    from ._html import human_bytes

    if LIMITS[name] == "size":
        return human_bytes(value)
    return f"{value:.3g} s" if LIMITS[name] == "seconds" else f"{value:.3g}"


class _Reports:
    """--tacho-json, also where workers of xdist measured: what they found travels with their reports."""

    def __init__(self, config: Any) -> None:
        self._config = config
        self._lines: List[Dict[str, Any]] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when != "call":
            return
        figures = getattr(report, _ATTRIBUTE, None)
        if figures is not None:
            self._lines.append({"nodeid": report.nodeid, "outcome": report.outcome, **figures})

    def pytest_sessionfinish(self) -> None:
        path = self._config.getoption("tacho_json")
        if not path or hasattr(self._config, "workerinput"):
            return
        import json

        try:
            with open(path, "w", encoding="utf-8") as file:
                json.dump(self._lines, file, indent=1)
                file.write("\n")
        except OSError as error:
            import sys

            print(f"tacho: --tacho-json {path}: {error.strerror}", file=sys.stderr)
