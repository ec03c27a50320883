"""Tracker: records a process, mostly this one, for as long as a block, a call or the process lasts."""
from __future__ import annotations

import os
from _thread import RLock

from . import _agent, _marks, _options
from ._errors import TachoError, warn_once
from ._options import Settings
from ._program import is_disabled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Callable, Iterable, List, Mapping, Optional, Tuple, Type, overload

    from ._decorate import Answer, Tracked, Words
    from ._options import Duration, Tags, Text, Texts
    from ._run import Run

_lock = RLock()  # a signal's handler may set a mark while this thread does
_active: List[Tracker] = []  # started by this process and not stopped yet; the innermost is the last
_outside: Optional[str] = None  # TACHO_RUN as it was before the first of them
_hooked = False


def _after_fork() -> None:
    """The trackers of the parent are not the child's."""
    global _lock
    _lock = RLock()
    _active.clear()


os.register_at_fork(after_in_child=_after_fork)


def _at_exit() -> None:
    for tracker in reversed(_active[:]):
        tracker.stop()


class Tracker:
    """A recording: `with tacho.track("load") as t:`, `@tacho.track`, or start() and stop()."""

    def __init__(self, settings: Settings, pid: Optional[int], children: bool, export: bool, strict: bool) -> None:
        if pid is not None and (isinstance(pid, bool) or not hasattr(pid, "__index__") or pid <= 0):
            raise ValueError(f"not a process id: {pid!r}")
        self._settings = settings
        self._asked_pid = None if pid is None else int(pid)
        self._children = children
        self._export = export
        self._strict = strict
        self._agent: Optional[_agent.Agent] = None
        self._owner = 0
        self._run: Optional[Run] = None
        self._exported = False
        self._lock, self._locked_in = RLock(), os.getpid()

    # Life

    def start(self) -> Tracker:
        """Begins to record; returns when the baseline is read. Started already: no effect."""
        if is_disabled():
            return self
        if self._locked_in != os.getpid():  # in the child of a fork, where nobody may be left to open it
            self._lock, self._locked_in = RLock(), os.getpid()
        with self._lock:  # two threads that start it start one recording
            return self if self._records() else self._start()

    def _start(self) -> Tracker:
        try:
            elsewhere = self._begin()
        except _agent.Interrupted as interrupted:
            raise interrupted.by from None
        except (TachoError, OSError) as error:
            if self._strict:
                raise error if isinstance(error, TachoError) else TachoError(str(error)) from error
            warn_once(f"not recorded: {error}")
            return self
        if elsewhere:
            try:
                warn_once(elsewhere)
            except BaseException:  # where warnings are errors
                self.stop()
                raise
        return self

    def _begin(self) -> str:
        """What is to be told when it is not recorded where it was meant to be."""
        from ._run import Run

        global _hooked
        settings, pid = self._settings, self._asked_pid or os.getpid()
        words = [f"--pid={pid}", *([] if self._children else ["--no-children"]), *settings.words]
        private = None if settings.keep else _options.temporary_folder()
        store = private or settings.store
        elsewhere = ""
        try:
            agent = _agent.start(words + ([f"--store={store}"] if store else []))
        except TachoError as error:
            if private:
                _options.remove_folder(private, os.getpid())
            if store or not _is_about_store(error):
                raise
            agent, private, elsewhere = self._begin_elsewhere(words, str(error))
        if agent.folder is None:
            agent.end()
            if private:
                _options.remove_folder(private, os.getpid())
            agent, private, elsewhere = self._begin_elsewhere(words, "the run store cannot be written to")
        assert agent.folder is not None
        self._agent, self._owner = agent, os.getpid()
        self._run = Run(agent.folder)
        if private:
            self._run.remove_with_it(private)
        with _lock:
            self._enter_environment(agent.folder)
            _active.append(self)
            if not _hooked:
                import atexit

                atexit.register(_at_exit)
                _hooked = True
        return elsewhere

    def _begin_elsewhere(self, words: List[str], why: str) -> Tuple[_agent.Agent, str, str]:
        """There is no store to write to: a temporary folder has to do."""
        try:
            place = _options.temporary_folder()
        except OSError as error:
            raise TachoError(f"{why}; nor is there a temporary folder ({error.strerror}): name a place with store= or TMPDIR") from error
        try:
            agent = _agent.start([*words, f"--store={place}"])
            if agent.folder is None:
                agent.end()
                raise TachoError(f"{why}; nor can {place} be written to: free some space, or name a place with store= or TMPDIR")
        except BaseException:
            _options.remove_folder(place, os.getpid())
            raise
        told = f"recorded in {place} instead of the run store: {why}; name another with store="
        return agent, "" if self._settings.keep else place, told

    def stop(self) -> Optional[Run]:
        """Ends the recording; returns its Run once that is written. Again: the same Run."""
        agent = self._agent
        if agent is None or os.getpid() != self._owner:
            return self._run
        self._agent = None
        with _lock:
            if self in _active:
                _active.remove(self)
            self._leave_environment(agent.folder)
        if not agent.end():
            warn_once("the agent did not end in time and was killed: the last row of its run may be missing")
        return self._run

    def __enter__(self) -> Tracker:
        return self.start()

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if kind is not None and self._records():
            self.point(f"exception {kind.__name__}")
        self.stop()

    def _enter_environment(self, folder: str) -> None:
        global _outside
        if not self._export:
            return
        if not any(tracker._exported for tracker in _active):
            _outside = os.environ.get("TACHO_RUN")
        os.environ["TACHO_RUN"] = folder
        self._exported = True

    def _leave_environment(self, folder: Optional[str]) -> None:
        if not self._exported:
            return
        self._exported = False
        if os.environ.get("TACHO_RUN") != folder:
            return  # somebody else's by now
        below = [tracker.folder for tracker in _active if tracker._exported]
        value = below[-1] if below else _outside
        if value is None:
            del os.environ["TACHO_RUN"]
        else:
            os.environ["TACHO_RUN"] = value

    # What is known

    def _records(self) -> bool:
        """Started by this process, and not stopped."""
        return self._agent is not None and os.getpid() == self._owner

    @property
    def running(self) -> bool:
        """False as well when the process that is recorded has ended, and the recording with it."""
        agent = self._agent
        return agent is not None and self._records() and agent.lives()

    @property
    def run(self) -> Optional[Run]:
        """None before start(), and when it could not start."""
        return self._run

    @property
    def id(self) -> Optional[str]:
        """The run's; None when nothing is recorded."""
        return None if self._run is None else os.path.basename(self._run.folder)

    @property
    def folder(self) -> Optional[str]:
        """The run's; None when nothing is recorded."""
        return None if self._run is None else self._run.folder

    @property
    def pid(self) -> int:
        """The process that is recorded."""
        return self._asked_pid or self._owner or os.getpid()

    def __reduce__(self) -> Any:
        raise TypeError("a Tracker belongs to its process and cannot be pickled; its run can")

    def __repr__(self) -> str:
        return f"<tacho.Tracker {self.id or 'not started'}{' running' if self.running else ''}>"

    # Marks

    def mark(self, name: str) -> bool:
        """Begins the phase `name` of this run; False when it is not recorded."""
        return self._records() and _marks.write(str(self.folder), "phase", name)

    def end(self) -> bool:
        """Ends the phase that was begun last."""
        return self._records() and _marks.write(str(self.folder), "end", "")

    def point(self, name: str) -> bool:
        """Sets a point in time."""
        return self._records() and _marks.write(str(self.folder), "point", name)

    def phase(self, name: str) -> _marks.Phase:
        """`with t.phase("load"):`"""
        return _marks.Phase(lambda: self.mark(name), self.end)

    # As a decorator

    def __call__(self, function: Callable[Words, Answer]) -> Tracked[Words, Answer]:
        from ._decorate import decorate

        return decorate(self, function)

    def again(self, name: str) -> Tracker:
        """A new one of the same kind, under this name unless it has one."""
        settings = self._settings
        if settings.name is None:
            import copy

            settings = copy.copy(settings)
            settings.name = name
            settings.words = [*settings.words, f"--job-name={_options.text(name, 'name')}"]
        return Tracker(settings, self._asked_pid, self._children, self._export, self._strict)


def _is_about_store(error: TachoError) -> bool:
    return "store" in str(error)


if TYPE_CHECKING:
    @overload
    def track(name: Callable[Words, Answer]) -> Tracked[Words, Answer]: ...
    @overload
    def track(name: Optional[str] = None, *, interval: Duration = 1.0, pid: Optional[int] = None,
              children: bool = True, store: Optional[Text] = None, keep: bool = True, output: Texts = (),
              tags: Optional[Tags] = None, metadata: Optional[Mapping[str, object]] = None, probes: Texts = (),
              no_probes: Texts = (), hide: Texts = (), export: bool = True, strict: bool = False,
              options: Iterable[str] = ()) -> Tracker: ...


def track(name: Any = None, *, interval: Duration = 1.0, pid: Optional[int] = None, children: bool = True,
          store: Optional[Text] = None, keep: bool = True, output: Texts = (), tags: Optional[Tags] = None,
          metadata: Optional[Mapping[str, object]] = None, probes: Texts = (), no_probes: Texts = (),
          hide: Texts = (), export: bool = True, strict: bool = False, options: Iterable[str] = ()) -> Any:
    """A Tracker of this process, or of `pid`; not started yet: a `with` block, a decorator, or start() and stop().

    interval   time between two samples: seconds, or a text such as "250ms"
    children   also everything that the process starts
    store      where the run is kept; keep=False: only as long as its Run object
    output     files or addresses that get the rows as well, as `tacho run -o` takes them
    tags, metadata   {"KEY": value} of the run; metadata are fields such as project_name and team
    probes, no_probes, hide   as the options of `tacho run`
    export     TACHO_RUN in os.environ names the run's folder meanwhile
    strict     TachoError where it cannot be recorded, instead of one warning
    options    further words of `tacho attach`
    """
    function: Any = name if callable(name) else None
    label: Any = name
    settings = Settings(None if function is not None else label, interval, store, keep, output, tags, metadata, probes,
                        no_probes, hide, options)
    tracker = Tracker(settings, pid, children, export, strict)
    return tracker if function is None else tracker(function)


def attach(pid: Optional[int] = None, *, name: Optional[str] = None, interval: Duration = 1.0, children: bool = True,
           store: Optional[Text] = None, keep: bool = True, output: Texts = (), tags: Optional[Tags] = None,
           metadata: Optional[Mapping[str, object]] = None, probes: Texts = (), no_probes: Texts = (),
           hide: Texts = (), export: bool = True, strict: bool = False, options: Iterable[str] = ()) -> Tracker:
    """A Tracker that is started already; ends with stop(), with its process, or when this one exits."""
    return track(name, interval=interval, pid=pid, children=children, store=store, keep=keep, output=output, tags=tags,
                 metadata=metadata, probes=probes, no_probes=no_probes, hide=hide, export=export, strict=strict,
                 options=options).start()


def _innermost() -> Optional[str]:
    """The folder that marks go to."""
    with _lock:
        if _active:
            return _active[-1].folder
    return os.environ.get("TACHO_RUN") or None


def _mark(event: str, name: str) -> bool:
    folder = None if is_disabled() else _innermost()
    return folder is not None and _marks.write(folder, event, name)


def mark(name: str) -> bool:
    """Begins the phase `name` of the run that is being recorded; False when there is none."""
    return _mark("phase", name)


def end() -> bool:
    """Ends the phase that was begun last."""
    return _mark("end", "")


def point(name: str) -> bool:
    """Sets a point in time."""
    return _mark("point", name)


def phase(name: str) -> _marks.Phase:
    """`with tacho.phase("load"):`"""
    return _marks.Phase(lambda: mark(name), end)
