"""ResourceTracker and the trackers in the foreground, as upstream's users know them."""
from __future__ import annotations

import gzip
import json
import logging
import os
import warnings
from queue import SimpleQueue
from threading import Thread
from time import sleep, time
from types import TracebackType
from typing import Any, Dict, List, Mapping, Optional, Sequence, Type, Union

from . import _foreground, _frames, _recording, _statistics, cloud_info, server_info
from ._statistics import DEFAULT_SPECS
from ._version import __version__
from .cloud_info import get_cloud_info
from .column_maps import PROCESS_COLUMNS, SYSTEM_COLUMNS
from .helpers import aggregate_stats, cleanup_files
from .keeper import get_instance_price, get_recommended_cloud_servers
from .report import BARE_PAGE, Report, dress, recommend
from .sentinel_api import RunStatus, cloud_facts, host_facts
from .server_info import get_server_info, guess_allocation
from .streaming import StreamingManager
from .tiny_data_frame import StatSpec, TinyDataFrame
from .tracker_procfs import get_process_stats, get_system_stats

logger = logging.getLogger("resource_tracker")

_DISCOVERY_PATIENCE = 0.8  # seconds that the registration of a run waits for what is known of the machine


class ProcessTracker(_foreground.Foreground):
    """Of a process, until it ends."""

    columns = PROCESS_COLUMNS

    def __init__(self, pid: Optional[int] = None, start_time: Optional[float] = None, interval: float = 1,
                 children: bool = True, autostart: bool = True, output_file: Optional[str] = None) -> None:
        self.pid = os.getpid() if pid is None else pid
        self.children = children
        super().__init__(start_time, interval, autostart, output_file)

    def _read(self) -> Dict[str, Any]:
        return get_process_stats(self.pid, self.children)


class SystemTracker(_foreground.Foreground):
    """Of the machine."""

    columns = SYSTEM_COLUMNS

    def __init__(self, start_time: Optional[float] = None, interval: float = 1, autostart: bool = True,
                 output_file: Optional[str] = None) -> None:
        super().__init__(start_time, interval, autostart, output_file)

    def _read(self) -> Dict[str, Any]:
        return get_system_stats()


class PidTracker(ProcessTracker):
    """The old name of ProcessTracker."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        warnings.warn("PidTracker is called ProcessTracker now", DeprecationWarning, stacklevel=2)
        super().__init__(*args, **keywords)


class ResourceTracker:
    """Records a process and its machine in the background."""

    start_time: float
    stop_time: Optional[float]

    def __init__(self, pid: Optional[int] = None, children: bool = True, interval: float = 1, method: Optional[str] = None,
                 autostart: bool = False, track_processes: bool = True, track_system: bool = True,
                 discover_server: bool = True, discover_cloud: bool = True, sentinel_token: Optional[str] = None,
                 upload_interval: float = 60, streaming_metadata: Optional[Mapping[str, Any]] = None) -> None:
        if method not in (None, "fork", "spawn", "forkserver"):
            raise ValueError(f"unknown method {method!r}; those are None, fork, spawn and forkserver")
        every: Any = interval
        if isinstance(every, bool) or not isinstance(every, (int, float)) or not 0 < every < float("inf"):
            raise ValueError(f"not an interval in seconds: {interval!r}")
        self.pid = os.getpid() if pid is None else pid
        self.children = children
        self.interval = interval
        self.method = method
        self.autostart = autostart
        self.trackers = [name for name, wanted in ((_frames.PROCESS, track_processes), (_frames.SYSTEM, track_system))
                         if wanted]
        self.discover_server = discover_server
        self.discover_cloud = discover_cloud
        self.error_queue: SimpleQueue[Any] = SimpleQueue()
        self._recording: Optional[_recording.Recording] = None
        self._implementation = "tacho"
        self._running = False
        self._server_info: Optional[Dict[str, Any]] = None
        self._cloud_info: Optional[Dict[str, Any]] = None
        self._threads: List[Thread] = []
        # An empty one means none, whatever the environment has.
        self._token = sentinel_token if sentinel_token is not None else (
            os.environ.get("SENTINEL_API_TOKEN") or os.environ.get("SENTINEL_API_KEY"))
        self._upload_interval = upload_interval
        self._streaming_metadata = streaming_metadata
        self._streaming: Optional[StreamingManager] = None
        self._sentinel_result: Any = None
        self._combined_csv_filepath: Optional[str] = None
        self._combined_csv_rows_written = 0
        if autostart:
            self.start()

    # Life

    def start(self) -> None:
        if self._running:
            raise RuntimeError("Resource tracker already running")
        if hasattr(self, "start_time"):
            raise RuntimeError("Resource tracker was stopped and cannot be started again: make a new one")
        cloud_info.ask_early(self.discover_cloud and get_cloud_info)
        server_info.ask_early(self.discover_server and get_server_info)
        self._recording = _recording.record(self.pid, self.children, max(float(self.interval), 0.01), get_process_stats,
                                            get_system_stats)
        self._implementation = self._recording.implementation
        self.start_time, self.stop_time = self._recording.started, None
        self._running = True
        self._begin_discovery()
        if self._token:
            self._begin_streaming(self._token.strip())

    def _in_background(self, work: Any) -> Thread:
        thread = Thread(target=work, name="tacho-discovery", daemon=True)
        thread.start()
        self._threads.append(thread)
        return thread

    def _begin_discovery(self) -> None:
        def server() -> None:
            self._server_info = get_server_info()

        def cloud() -> None:
            self._cloud_info = get_cloud_info()

        for wanted, work in ((self.discover_server, server), (self.discover_cloud, cloud)):
            if wanted:
                self._in_background(work)

    def _begin_streaming(self, token: str) -> None:
        """Nothing here waits for a network; what is found of the machine is sent along."""
        import tempfile

        file, self._combined_csv_filepath = tempfile.mkstemp(prefix="tacho-", suffix=".csv")
        os.close(file)
        host: Dict[str, Any] = {}
        cloud: Dict[str, Any] = {}
        manager = StreamingManager(token=token, csv_path=self._combined_csv_filepath, upload_interval=self._upload_interval,
                                   metadata=self._streaming_metadata, host_info=host, cloud_info=cloud,
                                   csv_update_fn=self._update_combined_csv)
        self._streaming = manager
        discoveries = list(self._threads)

        def register() -> None:
            patience = time() + _DISCOVERY_PATIENCE
            for thread in discoveries:
                thread.join(max(0.0, patience - time()))
            host.update(host_facts(self._server_info))
            cloud.update(cloud_facts(self._cloud_info))
            try:
                manager.start()
            except Exception as error:
                logger.warning("the run was not registered at the service: %s", error)
                self._streaming = None

        self._in_background(register)

    def stop(self, exit_code: Optional[int] = 0, run_status: Union[RunStatus, str] = RunStatus.finished) -> None:
        if not hasattr(self, "start_time"):
            raise RuntimeError("Resource tracker was not started")
        if not self._running:
            return
        assert self._recording is not None
        self._running = False
        if os.getpid() != self._recording.owner:  # in the child of a fork: what is recorded, and sent, is the parent's
            return
        self._recording.stop()
        self.stop_time = time()
        patience = time() + (35 if self._streaming is not None else 0.02)
        for thread in self._threads:
            thread.join(max(0.0, patience - time()))
        manager, self._streaming = self._streaming, None
        if manager is not None:
            try:
                self._sentinel_result = manager.stop(exit_code=exit_code, run_status=run_status)
            except Exception as error:
                logger.warning("the run was not finished at the service: %s", error)
        if self._combined_csv_filepath is not None:
            cleanup_files([self._combined_csv_filepath])

    def cleanup(self) -> None:
        """Ends what runs; what was measured stays readable."""
        if self._running:
            self.stop()

    def __enter__(self) -> ResourceTracker:
        if not self._running:
            self.start()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if kind is None:
            self.stop()
        else:
            self.stop(exit_code=1, run_status=RunStatus.failed)

    def wait_for_samples(self, n: int = 1, timeout: float = 5) -> None:
        end = time() + timeout
        while self.n_samples < n:
            if not self._running or time() >= end:
                raise RuntimeError(f"{self.n_samples} of {n} samples after {timeout} s")
            sleep(min(0.02, self.interval / 10))

    # What was measured

    @property
    def running(self) -> bool:
        return self._running

    def _rows(self) -> List[Dict[str, Any]]:
        return [] if self._recording is None else self._recording.rows()

    @property
    def n_samples(self) -> int:
        return len(self._rows()) if self.trackers else 0

    @property
    def process_metrics(self) -> TinyDataFrame:
        if _frames.PROCESS not in self.trackers:
            return TinyDataFrame([])
        return _frames.half(self._rows(), PROCESS_COLUMNS, "process_")

    @property
    def system_metrics(self) -> TinyDataFrame:
        if _frames.SYSTEM not in self.trackers:
            return TinyDataFrame([])
        return _frames.half(self._rows(), SYSTEM_COLUMNS, "system_")

    def get_combined_metrics(self, bytes: bool = False, human_names: bool = False, system_prefix: Optional[str] = None,
                             process_prefix: Optional[str] = None, offset: Optional[int] = None) -> TinyDataFrame:
        return _frames.combined(self._rows()[offset or 0:], self.trackers, bytes, human_names, system_prefix, process_prefix)

    def _update_combined_csv(self) -> None:
        """Appends the rows that came since the last call."""
        if self._combined_csv_filepath is None:
            return
        frame = self.get_combined_metrics(offset=self._combined_csv_rows_written)
        if not len(frame):
            return
        text = frame.to_csv(quote_strings=False) or ""
        if self._combined_csv_rows_written:
            text = text.split("\r\n", 1)[1]
        with open(self._combined_csv_filepath, "a", encoding="utf-8", newline="") as file:
            file.write(text)
        self._combined_csv_rows_written += len(frame)

    # What is known of the machine

    @property
    def server_info(self) -> Optional[Dict[str, Any]]:
        if self._server_info is None or "allocation" in self._server_info:
            return self._server_info
        means = {column: values["mean"] for column, values in self._statistics().items() if "mean" in values}
        return {**self._server_info, "allocation": guess_allocation(means)}

    @property
    def cloud_info(self) -> Optional[Dict[str, Any]]:
        return self._cloud_info

    @property
    def sentinel_result(self) -> Any:
        return self._sentinel_result

    # What follows from it

    def _statistics(self) -> Dict[str, Dict[str, float]]:
        return self._recording.statistics() if self._recording is not None and self.n_samples else {}

    def stats(self, specs: Sequence[StatSpec] = DEFAULT_SPECS) -> Dict[str, Dict[str, Any]]:
        if self.n_samples == 0:
            raise RuntimeError("there are no samples yet: wait_for_samples() waits for the first")
        if specs is not DEFAULT_SPECS:
            return self.get_combined_metrics().stats(specs)
        return _statistics.of_program(specs, self._statistics(), self.get_combined_metrics())

    def recommend_resources(self, historical_stats: Sequence[Dict[str, Dict[str, float]]] = ()) -> Dict[str, int]:
        return recommend(aggregate_stats([self.stats(), *historical_stats]))

    def recommend_server(self, **kwargs: Any) -> Dict[str, Any]:
        """The cheapest that fits; empty without a network. Further arguments are parameters of the search."""
        wanted = self.recommend_resources(kwargs.pop("historical_stats", ()))
        found = get_recommended_cloud_servers(**wanted, n=kwargs.pop("limit", 1), **kwargs)
        if not found:
            logger.warning("no server is recommended: the price list does not answer, or has none of that size")
            return {}
        return found[0]

    def report(self, integration: str = "standalone", historical_stats: Sequence[Dict[str, Dict[str, float]]] = (),
               status_failed: bool = False, integration_version: Optional[str] = None) -> Report:
        status = "Failed" if status_failed else "Pending" if self._running else "Finished"
        resources = self.recommend_resources(historical_stats) if self.n_samples else {"cpu": 1, "memory": 128, "gpu": 0, "vram": 0}
        try:
            server = self.recommend_server(historical_stats=historical_stats) if self.n_samples else {}
        except Exception as error:
            logger.warning("no server is recommended: %s", error)
            server = {}
        return dress(self._page(), status=status, integration=integration, version=integration_version,
                     resources=resources, server=server, cost=self._cost(server))

    def _page(self) -> str:
        if self._recording is not None and self.n_samples:
            try:
                return self._recording.run().report()
            except (RuntimeError, OSError) as error:
                logger.debug("no page by the program: %s", error)
        return BARE_PAGE

    def _cost(self, server: Mapping[str, Any]) -> Optional[str]:
        price = server.get("min_price_ondemand") or server.get("min_price")
        seconds = self._statistics().get("timestamp", {}).get("duration")
        if not isinstance(price, (int, float)) or not seconds:
            return None
        text = f"{price / 3600 * seconds:.6f} USD for this run"
        cloud = self._cloud_info or {}
        if "unknown" not in (cloud.get("vendor", "unknown"), cloud.get("region"), cloud.get("instance_type")):
            current = get_instance_price(str(cloud["vendor"]), str(cloud["region"]), str(cloud["instance_type"]))
            if current:
                text += f", {(current - price) / current * 100:.2f} % less than here"
        return text

    # To keep it

    def snapshot(self) -> Dict[str, Any]:
        if not hasattr(self, "start_time"):
            raise RuntimeError("Resource tracker was not started")
        stop_time = self.stop_time
        return {"metadata": {"version": 1,
                             "resource_tracker": {"version": __version__, "implementation": self._implementation},
                             "pid": self.pid, "children": self.children, "interval": self.interval, "method": self.method,
                             "autostart": self.autostart, "track_processes": _frames.PROCESS in self.trackers,
                             "track_system": _frames.SYSTEM in self.trackers, "discover_server": self.discover_server,
                             "discover_cloud": self.discover_cloud, "start_time": self.start_time,
                             "stop_time": stop_time, "duration": (stop_time or time()) - self.start_time},
                "server_info": self.server_info, "cloud_info": self.cloud_info,
                "process_metrics": self.process_metrics.to_dict(), "system_metrics": self.system_metrics.to_dict()}

    @classmethod
    def from_snapshot(cls, snapshot: Mapping[str, Any]) -> ResourceTracker:
        about = snapshot["metadata"]
        tracker = cls(pid=about["pid"], children=about["children"], interval=about["interval"], method=about.get("method"),
                      autostart=False, track_processes=about.get("track_processes", True),
                      track_system=about.get("track_system", True), discover_server=about.get("discover_server", True),
                      discover_cloud=about.get("discover_cloud", True))
        tracker.autostart = about.get("autostart", False)
        tracker._token = None
        tracker.start_time, tracker.stop_time = about["start_time"], about.get("stop_time")
        tracker._server_info, tracker._cloud_info = snapshot.get("server_info"), snapshot.get("cloud_info")
        tracker._implementation = about.get("resource_tracker", {}).get("implementation", "tacho")
        process: List[Any] = snapshot.get("process_metrics") or []
        system: List[Any] = snapshot.get("system_metrics") or []
        if not process or not system:
            tracker.trackers = [name for name, rows in ((_frames.PROCESS, process), (_frames.SYSTEM, system))
                                if rows and name in tracker.trackers] or tracker.trackers
        tracker._recording = _recording.LoadedRecording(_frames.joined(system, process), about["start_time"],
                                                        float(about["interval"]))
        return tracker

    def dumps(self) -> str:
        return json.dumps(self.snapshot())

    @classmethod
    def loads(cls, s: Union[str, bytes]) -> ResourceTracker:
        return cls.from_snapshot(json.loads(s))

    def dump(self, file: Any) -> None:
        """Gzipped JSON, to a path or an open binary file."""
        data = gzip.compress(self.dumps().encode("utf-8"))
        if hasattr(file, "write"):
            file.write(data)
            return
        with open(file, "wb") as opened:
            opened.write(data)

    @classmethod
    def load(cls, file: Any) -> ResourceTracker:
        if hasattr(file, "read"):
            data = file.read()
        else:
            with open(file, "rb") as opened:
                data = opened.read()
        return cls.loads(gzip.decompress(data).decode("utf-8"))
