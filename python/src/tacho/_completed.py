"""run(): a command under `tacho run`, with the manners of subprocess.run."""
from __future__ import annotations

import errno
import os
import subprocess

from . import _options, _units
from ._errors import TachoError, warn_once
from ._json import as_object
from ._options import Settings
from ._program import find_program, is_disabled, plain
from ._run import Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

    from ._options import Duration, Tags, Text, Texts

    Stream = Union[int, IO[Any], None]
    Words = Union[str, bytes, "os.PathLike[Any]", Sequence[Union[str, bytes, "os.PathLike[Any]"]]]


class CompletedRun(subprocess.CompletedProcess):  # type: ignore[type-arg]
    """What subprocess.run returns, and the Run of it (None with TACHO_DISABLE)."""

    run: Optional[Run]

    def __init__(self, args: Any, returncode: int, stdout: Any = None, stderr: Any = None,
                 run: Optional[Run] = None) -> None:
        super().__init__(args, returncode, stdout, stderr)
        self.run = run


def _command(args: Words, shell: bool) -> List[Any]:
    words = [args] if isinstance(args, (str, bytes, os.PathLike)) else list(args)
    if not words:
        raise ValueError("no command to run")
    words = [os.fspath(word) for word in words]
    return ["/bin/sh", "-c", *words] if shell else words


def run(args: Words, *, shell: bool = False, cwd: Optional[Text] = None, env: Optional[Mapping[str, str]] = None,
        stdin: Stream = None, stdout: Stream = None, stderr: Stream = None, input: Union[str, bytes, None] = None,
        capture_output: bool = False, text: Optional[bool] = None, timeout: Union[Duration, None] = None,
        check: bool = False, name: Optional[str] = None, interval: Duration = 1.0, store: Optional[Text] = None,
        keep: bool = True, output: Texts = (), tags: Optional[Tags] = None,
        metadata: Optional[Mapping[str, object]] = None, probes: Texts = (), no_probes: Texts = (), hide: Texts = (),
        options: Iterable[str] = ()) -> CompletedRun:
    """Runs a command to its end and records it; the other arguments are those of subprocess.run and of track()."""
    settings = Settings(name, interval, store, keep, output, tags, metadata, probes, no_probes, hide, options)
    limit = None if timeout is None else _units.seconds(timeout)
    command = _command(args, shell)
    if input is not None and stdin is not None:
        raise ValueError("stdin and input cannot both be given")
    if capture_output:
        if stdout is not None or stderr is not None:
            raise ValueError("stdout and stderr cannot be given with capture_output")
        stdout = stderr = subprocess.PIPE
    if input is not None:
        stdin = subprocess.PIPE
    keywords: Dict[str, Any] = {"cwd": cwd, "env": env, "stdin": stdin, "stdout": stdout, "stderr": stderr,
                                "text": text}
    if is_disabled():
        return _plain_run(args, command, keywords, input, limit, check)
    words, private = _words(settings, limit, env)
    try:
        status, out, err, news = _start(words, command, keywords, input)
        recorded = _judge(command, status, news, words)
    except BaseException:
        if private:
            _options.remove_folder(private, os.getpid())
        raise
    if recorded is not None and private:
        recorded.remove_with_it(private)
    if status == 0 and recorded is not None:
        status = _told(recorded)
    done = CompletedRun(args, status, out, err, recorded)
    if limit is not None and recorded is not None and _timed_out(recorded, status):
        raise _with_run(subprocess.TimeoutExpired(args, limit, out, err), recorded)
    if check and status != 0:
        raise _with_run(subprocess.CalledProcessError(status, args, out, err), recorded)
    return done


def _plain_run(args: Words, command: List[Any], keywords: Dict[str, Any], data: Union[str, bytes, None],
               limit: Optional[float], check: bool) -> CompletedRun:
    if data is not None:
        keywords["stdin"] = None
        keywords["input"] = data
    keywords = {key: value for key, value in keywords.items() if value is not None}
    try:
        start: Any = subprocess.run
        done: Any = start(command, timeout=limit, check=check, **keywords)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        raise _with_run(error, None)
    return CompletedRun(args, done.returncode, done.stdout, done.stderr, None)


def _with_run(error: Any, recorded: Optional[Run]) -> Any:
    error.run = recorded
    return error


def _words(settings: Settings, limit: Optional[float], env: Optional[Mapping[str, str]]) -> Tuple[List[str], str]:
    private = "" if settings.keep else _options.temporary_folder()
    store = private or settings.store
    if not store and env is not None:
        # The command's variables are not tacho's: where runs go is said by ours.
        store = os.path.abspath(_options.default_store())
    words = [find_program(), "run", "--quiet", *settings.words]
    if store:
        words.append(f"--store={store}")
    if limit is not None:
        words.append(f"--timeout={limit:.9g}")
    return words, private


def _start(words: List[str], command: List[Any], keywords: Dict[str, Any],
           data: Union[str, bytes, None]) -> Tuple[int, Any, Any, Dict[str, Any]]:
    reading, writing = _pipe()
    try:
        process: subprocess.Popen[Any] = subprocess.Popen([*words, f"--begun-fd={writing}", "--", *command],
                                                          pass_fds=(writing,), **keywords)
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    with open(reading, "rb") as news, process:
        try:
            out, err = process.communicate(data)
        except BaseException as error:
            _end(process, isinstance(error, KeyboardInterrupt))
            raise
        # All that the program said is there, and it has ended; its end of the pipe may be open in a process that another
        # thread forked meanwhile, and would be waited for.
        os.set_blocking(reading, False)
        return process.returncode, out, err, _line(news.read() or b"")


def _pipe() -> Tuple[int, int]:
    """Behind the places of stdin, stdout and stderr, also where these are closed."""
    ends = os.pipe()
    if min(ends) > 2:
        return ends
    try:
        return _pipe()
    finally:
        for end in ends:
            os.close(end)


def _end(process: subprocess.Popen[Any], interrupted: bool) -> None:
    """As subprocess does, but by a signal that reaches the command: a killed tacho would leave it alone."""
    try:
        if interrupted:
            try:
                process.wait(0.25)
                return
            except subprocess.TimeoutExpired:
                pass
        process.terminate()
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()


def _line(data: bytes) -> Dict[str, Any]:
    import json

    try:
        news = json.loads(data)
    except ValueError:
        return {}
    return as_object(news)


def _judge(command: List[Any], status: int, news: Dict[str, Any], words: List[str]) -> Optional[Run]:
    """The Run; an exception when the command was never started."""
    folder = news.get("folder")
    if "id" in news:
        if news.get("warnings"):
            warn_once(plain(str(news["warnings"])))
        return Run(_options.real_folder(str(folder), words)) if folder else None
    why = plain(str(news.get("error", "")))
    first = os.fsdecode(command[0])
    if status == 127:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), first)
    if status == 126:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), first)
    raise TachoError(why or f"tacho run ended with status {status} before the command was started; its message is on stderr")


def _told(recorded: Run) -> int:
    """The status by run.json. Where SIGCHLD is ignored, or its handler reaps whatever ends, subprocess says 0 of everything."""
    outcome = as_object(recorded.info.get("outcome"))
    code, number = outcome.get("exit_code"), outcome.get("signal")
    if isinstance(number, int) and not outcome.get("timed_out"):
        return -number
    return code if isinstance(code, int) else 0


def _timed_out(recorded: Run, status: int) -> bool:
    return bool(as_object(recorded.info.get("outcome")).get("timed_out", status == 124))
