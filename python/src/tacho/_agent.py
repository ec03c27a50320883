"""The agent: `tacho attach --detach`, started and ended without a trace in this process.

It is no child of ours and holds none of our descriptors; what we hold of it is its number and the time of its start.
"""
from __future__ import annotations

import os

from ._errors import TachoError
from ._options import real_folder
from ._plain import open_plain
from ._program import find_program, plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Optional, Tuple

_START_SECONDS = 10.0
_STOP_SECONDS = 2.0
_LOOK_SECONDS = 0.1  # whether the starter has ended, where nobody tells
_EXIT_SECONDS = 0.2  # from the final run.json to the end of the agent: a millisecond


class Agent:
    """One that records."""

    __slots__ = ("id", "folder", "pid", "recorded", "started", "ticks")

    def __init__(self, facts: Dict[str, object]) -> None:
        self.id = str(facts["id"])
        folder = facts["folder"]
        self.folder: Optional[str] = None if folder is None else str(folder)
        self.pid = int(str(facts["agent_pid"]))
        self.recorded = int(str(facts["pid"]))
        self.started = float(str(facts["started"]))
        self.ticks = start_ticks(self.pid)

    def lives(self) -> bool:
        return self.ticks != 0 and start_ticks(self.pid) == self.ticks

    def end(self) -> bool:
        """Tells it to end and waits until its run is written; False when it had to be killed."""
        import signal
        import time

        if not self._signal(signal.SIGTERM):
            return True
        deadline = time.monotonic() + _STOP_SECONDS
        written = False
        pause = 0.0005
        while self.lives():
            if not written and self.folder is not None and is_final(self.folder):
                if _Process(self.pid).parent != os.getpid():
                    return True
                # Orphans come back to this process: it must see the end, or a zombie stays.
                written, deadline, pause = True, time.monotonic() + _EXIT_SECONDS, 0.0005
            if time.monotonic() > deadline:
                if not written:
                    self._signal(signal.SIGKILL)
                return written
            time.sleep(pause)
            pause = min(pause * 1.5, 0.02)
        self._reap()
        return True

    def _signal(self, number: int) -> bool:
        """False when it has ended already. Opened first, then known by its start: no other process is ever hit."""
        import signal

        handle = -1
        try:
            handle = os.pidfd_open(self.pid)
        except (AttributeError, OSError):
            pass  # an old kernel, or a filter on system calls
        try:
            if not self.lives():
                self._reap()
                return False
            if handle >= 0 and hasattr(signal, "pidfd_send_signal"):
                signal.pidfd_send_signal(handle, number)
            else:
                os.kill(self.pid, number)
            return True
        except OSError:
            return False
        finally:
            if handle >= 0:
                os.close(handle)

    def _reap(self) -> None:
        """Where orphans come back to this process it is our child after all; another child of that number is not ours to reap."""
        process = _Process(self.pid)
        if process.ticks != self.ticks or process.parent != os.getpid():
            return
        try:
            os.waitpid(self.pid, os.WNOHANG)
        except OSError:
            pass


class Interrupted(BaseException):
    """A signal's handler raised `by` while the agent started; an OSError of its is none of ours."""

    def __init__(self, by: BaseException) -> None:
        super().__init__(by)
        self.by = by


class _Process:
    """Of /proc/PID/stat; all is empty when there is none."""

    __slots__ = ("state", "parent", "ticks")

    def __init__(self, pid: int) -> None:
        self.state, self.parent, self.ticks = b"", 0, 0
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                fields = file.read().rsplit(b")", 1)[1].split()
            self.state, self.parent, self.ticks = fields[0], int(fields[1]), int(fields[19])
        except (OSError, IndexError, ValueError):
            pass


def start_ticks(pid: int) -> int:
    """When a process was started, in ticks since boot; 0 when it is gone, or all but gone."""
    process = _Process(pid)
    return 0 if process.state in (b"Z", b"X") else process.ticks


def is_final(folder: str) -> bool:
    """Whether run.json tells of an end. The state stands in its first lines."""
    try:
        with open_plain(os.path.join(folder, "run.json")) as file:
            head = file.read(4096)
    except OSError:
        return False
    at = head.find(b'"state":')
    return at >= 0 and not head[at + 8:at + 20].lstrip().startswith(b'"running')


def start(words: List[str], without: Tuple[str, ...] = ()) -> Agent:
    """Starts one with these words behind `attach --detach`; TachoError with the program's text when it does not.

    `without`: variables that it does not see.
    """
    import json

    environ = {name: value for name, value in os.environ.items() if name not in without}
    environ["TACHO_QUIET"] = "1"  # warnings are for people; the option would leave out the line that is read here
    text, errors, status = _run([find_program(), "attach", "--detach", *words], environ)
    try:
        agent = Agent(json.loads(text))
    except (ValueError, KeyError, TypeError):
        why = plain(errors.decode("utf-8", "replace"))
        code = os.waitstatus_to_exitcode(status)
        raise TachoError(why or f"tacho attach ended with {code} and said nothing; is there memory left?") from None
    if agent.folder is not None:
        agent.folder = real_folder(agent.folder, words)
    return agent


def _run(words: List[str], environ: Dict[str, str]) -> Tuple[bytes, bytes, int]:
    """stdout, stderr and status, by posix_spawn: subprocess takes longer to import than the program to start."""
    import signal

    out_read, out_write = _pipe()
    try:
        err_read, err_write = _pipe()
    except TachoError:
        os.close(out_read)
        os.close(out_write)
        raise
    pid = 0
    try:
        pid = os.posix_spawn(
            words[0], words, environ,
            file_actions=[(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0), (os.POSIX_SPAWN_DUP2, out_write, 1),
                          (os.POSIX_SPAWN_DUP2, err_write, 2)],
            # What this process ignores the agent must hear; so must it what is blocked here.
            setsigmask=[], setsigdef=[signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGCHLD])
    except OSError as error:
        os.close(out_read)
        os.close(err_read)
        import errno

        if error.errno in (errno.EAGAIN, errno.ENOMEM):
            raise TachoError(f"no process can be started: {error.strerror}; see ulimit -u and free") from error
        raise TachoError(f"{words[0]} cannot be executed: {error.strerror}") from error
    finally:
        os.close(out_write)
        os.close(err_write)
    return _listen(pid, out_read, err_read)


def _pipe() -> Tuple[int, int]:
    try:
        return os.pipe()
    except OSError as error:
        raise TachoError(f"cannot start tacho: {error.strerror}; see ulimit -n") from error


def _listen(pid: int, out: int, err: int) -> Tuple[bytes, bytes, int]:
    """What the starter says until it ends. A process that another thread forked at this moment may hold the pipes open for
    hours: their end is not waited for once the starter has ended."""
    import select
    import time

    heard = {out: b"", err: b""}
    is_open = set(heard)
    interrupted: Optional[BaseException] = None
    ended: Optional[int] = None
    deadline = time.monotonic() + _START_SECONDS
    poll = select.poll()
    for end in heard:
        poll.register(end, select.POLLIN)
    while is_open:
        try:
            ready = poll.poll(0 if ended is not None else int(_LOOK_SECONDS * 1000))
            if not ready:
                if ended is not None:
                    break
                if time.monotonic() > deadline:
                    os.kill(pid, 9)
                    break
                ended = _status(pid, os.WNOHANG)
            for end, _ in ready:
                data = os.read(end, 65536)
                heard[end] += data
                if not data:
                    poll.unregister(end)
                    is_open.discard(end)
        except BaseException as error:  # of a signal's handler, mostly: the line is a moment away, and without it
            if interrupted is not None:  # nobody would end the agent
                break
            interrupted = error
    os.close(out)
    os.close(err)
    late = bool(is_open) and ended is None
    status = ended if ended is not None else _status(pid, 0)
    if interrupted is not None:
        _forget(heard[out])
        raise Interrupted(interrupted)
    if late:
        raise TachoError(f"tacho attach did not start within {_START_SECONDS:g} s; is the run store on a dead network drive?")
    return heard[out], heard[err], status or 0


def _status(pid: int, options: int) -> Optional[int]:
    """How the starter ended; None while it runs. 0 when a handler of SIGCHLD was faster."""
    try:
        reaped, status = os.waitpid(pid, options)
    except OSError:
        return 0
    return status if reaped else None


def _forget(line: bytes) -> None:
    import json

    try:
        Agent(json.loads(line)).end()
    except (ValueError, KeyError, TypeError):
        pass
