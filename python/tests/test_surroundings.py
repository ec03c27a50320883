"""Bad surroundings: one test a line of the table."""
import os
import signal
import subprocess
import sys

import pytest
import tacho
from conftest import until
from surroundings import gone, info_of, only_run


def test_fork_inside_the_block(python):
    done = python("""
        import os, sys, time, tacho
        with tacho.track(interval=0.05) as t:
            child = os.fork()
            if child == 0:
                assert not t.running and t.stop() is t.run
                with tacho.track(store=os.environ["TACHO_STORE"] + "-child") as mine:
                    pass
                assert mine.run.info["pid"] == os.getpid(), "records the parent"
                time.sleep(0.2)
                sys.exit(0)  # leaves the parent's block, and runs atexit
            status = os.waitpid(child, 0)[1]
            assert status == 0 and t.running and t._agent.lives()
            assert t.run.state == "running"
        assert t.run.state == "finished"
        print(max(t.run.to_dict()["process_children"]))
        """)
    assert int(done.stdout) >= 1


def test_fork_after_import(python):
    python("""
        import os, tacho
        tacho.track
        child = os.fork()
        if child == 0:
            with tacho.track() as t:
                pass
            os._exit(0 if t.run.info["pid"] == os.getpid() else 1)
        assert os.waitpid(child, 0)[1] == 0
        """)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_pools(python, method):
    """Workers are daemonic; a Run comes back from them, a Tracker does not."""
    python(f"""
        import multiprocessing, os, tacho
        def work(_):
            with tacho.track(interval=0.05) as t:
                pass
            return t.run.info["pid"] == os.getpid(), t.run
        def give_tracker(_):
            return tacho.track()
        if __name__ == "__main__":
            with multiprocessing.get_context("{method}").Pool(2) as pool:
                answers = pool.map(work, range(3))
                try:
                    pool.map(give_tracker, [0])
                    raise SystemExit("a Tracker was pickled")
                except multiprocessing.pool.MaybeEncodingError as error:
                    assert "cannot be pickled" in str(error)
            assert all(right for right, _ in answers)
            assert len({{run.folder for _, run in answers}}) == 3 and all(len(run) >= 1 for _, run in answers)
        """)


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 9)", "os._exit(3)"])
def test_process_ends_in_the_block(python, end):
    python(f"""
        import os, time, tacho
        with tacho.track(interval=0.05) as t:
            print(t._agent.pid, flush=True)
            time.sleep(0.3)
            {end}
        """, check=False)
    folder = only_run()
    assert until(lambda: info_of(folder)["state"] == "finished", 5)
    run = tacho.load(folder)
    assert len(run) >= 4 and run.rows()[-1]["timestamp"] >= run.rows()[0]["timestamp"]
    assert until(lambda: gone(run.info["tracker_pid"]), 5)


def test_exec_in_the_block(python):
    python("""
        import os, tacho
        tacho.attach(interval=0.05)
        os.execv("/bin/sh", ["sh", "-c", "sleep 0.3"])
        """)
    folder = only_run()
    assert until(lambda: info_of(folder)["state"] == "finished", 5)
    assert len(tacho.load(folder)) >= 4


def test_waits_of_the_user(python):
    done = python("""
        import os, signal, tacho
        seen = []
        def reap(*_):
            try:
                while True:
                    pid = os.waitpid(-1, os.WNOHANG)[0]
                    if pid == 0:
                        break
                    seen.append(pid)
            except ChildProcessError:
                pass
        signal.signal(signal.SIGCHLD, reap)
        with tacho.track(strict=True) as t:
            agent = t._agent.pid
        assert t.run.state == "finished" and agent not in seen
        with tacho.track(strict=True):
            try:
                os.wait()
            except ChildProcessError:
                print("no child")
        """)
    assert done.stdout == "no child\n"


@pytest.mark.parametrize("reaped_by", ["kernel", "handler"])
def test_status_that_another_took(python, reaped_by):
    """subprocess.run says 0 there; run.json knows better."""
    done = python(f"""
        import os, signal, subprocess, time, tacho
        def reap(*_):
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                pass
        signal.signal(signal.SIGCHLD, signal.SIG_IGN if "{reaped_by}" == "kernel" else reap)
        for word in ("exit 3", "kill -9 $$", "exit 0"):
            print(tacho.run(["sh", "-c", word]).returncode, end=" ")
        for words in ({{"check": True}}, {{"timeout": 0.2}}):
            try:
                tacho.run(["sh", "-c", "sleep 1; exit 4"], **words)
            except subprocess.SubprocessError as error:
                print(type(error).__name__, getattr(error, "returncode", ""), error.run.state, end=" ")
        """)
    assert done.stdout == "3 -9 0 CalledProcessError 4 failed TimeoutExpired  failed "


def test_ignored_and_blocked_signals(python):
    """What this process does not want to hear the agent must."""
    python("""
        import signal, tacho
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGINT])
        with tacho.track(strict=True) as t:
            pass
        assert t.run.state == "finished"
        """)


def test_orphans_come_back(python):
    """As in a container whose first process this is: agents that have ended leave no zombies, and no other child is reaped."""
    done = python("""
        import ctypes, glob, os, tacho
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
        other = os.fork()
        if other == 0:
            os._exit(7)
        for _ in range(30):
            with tacho.track(strict=True):
                pass
        states = {}
        for path in glob.glob("/proc/[0-9]*/stat"):
            try:
                name, rest = open(path).read().split("(", 1)[1].rsplit(")", 1)
            except OSError:
                continue
            if int(rest.split()[1]) == os.getpid():
                states[name] = rest.split()[0]
        print([name for name in states if "tacho" in name], os.waitstatus_to_exitcode(os.waitpid(other, 0)[1]))
        """)
    assert done.stdout == "[] 7\n"


def test_pipes_held_by_a_stranger(python):
    """A process that another thread forks while the agent starts holds its pipes; so does the command of run() those of its starter."""
    done = python("""
        import os, time, tacho
        tacho.find_program()
        real, held = os.posix_spawn, []
        def spawn(*words, **names):
            held.append(os.fork())
            if held[-1] == 0:
                time.sleep(60)
                os._exit(0)
            return real(*words, **names)
        os.posix_spawn = spawn
        begun = time.monotonic()
        with tacho.track(strict=True) as t:
            pass
        try:
            tacho.track(strict=True, pid=held[0] + (1 << 30)).start()
        except tacho.TachoError as error:
            print("process" in str(error))
        print(t.run.state, time.monotonic() - begun < 8)
        for pid in held:
            os.kill(pid, 9)
        """)
    assert done.stdout == "True\nfinished True\n"


def test_mark_of_a_signals_handler(python):
    """The handler may come while the main thread sets a mark."""
    python("""
        import signal, tacho
        from tacho import _tracker
        signal.signal(signal.SIGALRM, lambda *_: tacho.mark("by a signal"))
        with tacho.track(strict=True) as t:
            with _tracker._lock:
                signal.raise_signal(signal.SIGALRM)
        assert t.run.marks()[0]["name"] == "by a signal"
        """, timeout=20)


def test_exception_of_a_signals_handler(python, tmp_path):
    """While the agent starts: it passes, and nothing records on."""
    slow = tmp_path / "slow"
    slow.write_text(f"#!/bin/sh\nsleep 0.5\nexec {tacho.find_program()} \"$@\"\n")
    slow.chmod(0o755)
    done = python("""
        import os, signal, tacho
        def late(*_):
            raise TimeoutError("mine")
        signal.signal(signal.SIGALRM, late)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        try:
            tacho.track().start()
        except TimeoutError as error:
            print(error)
        from tacho.resource_tracker import ResourceTracker
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        try:
            ResourceTracker().start()
        except TimeoutError as error:
            print(error)
        os.environ.pop("TACHO_BIN")
        print(tacho.runs()[0].state, len(os.listdir("/proc/self/fd")) < 8)
        """, env={**os.environ, "TACHO_BIN": str(slow)})
    assert done.stdout == "mine\nmine\nfinished True\n"


def test_closed_standard_streams(python, tmp_path):
    python(f"""
        import os
        os.closerange(0, 3)
        import tacho
        with tacho.track(strict=True) as t:
            pass
        done = tacho.run(["sh", "-c", "exit 3"])
        with open({str(tmp_path / "told")!r}, "w") as file:
            print(t.run.state, done.returncode, done.run.exit_code, file=file)
        """)
    assert (tmp_path / "told").read_text() == "finished 3 3\n"


def test_warnings_that_are_errors(python, tmp_path):
    """Nothing records on behind the back of a script that was told so by an exception."""
    (tmp_path / "file").write_text("")
    env = {**os.environ, "HOME": str(tmp_path / "file"), "TMPDIR": str(tmp_path)}
    for name in ("TACHO_STORE", "XDG_STATE_HOME"):
        env.pop(name, None)
    done = python("""
        import os, tacho
        try:
            tacho.track().start()
        except tacho.TachoWarning:
            place = [name for name in os.listdir(os.environ["TMPDIR"]) if name.startswith("tacho-")][0]
            print(tacho.runs(store=os.path.join(os.environ["TMPDIR"], place))[0].state, tacho._tracker._active)
        """, "-W", "error", env=env)
    assert done.stdout == "finished []\n"


def test_reader_gets_the_end_at_once(tmp_path):
    script = tmp_path / "x.py"
    script.write_text("import os, tacho\nwith tacho.track(interval='1h'):\n    print('in', flush=True)\n    os.kill(os.getpid(), 9)\n")
    process = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE)
    with process:
        assert process.stdout.read() == b"in\n"  # would hang if the agent held the pipe


def test_control_c(tmp_path):
    script = tmp_path / "x.py"
    script.write_text("import time, tacho\ntry:\n    with tacho.track(interval='1h') as t:\n        print('in', flush=True)\n"
                      "        time.sleep(30)\nexcept KeyboardInterrupt:\n    print(t.run.state, len(t.run))\n")
    process = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True, start_new_session=True)
    with process:
        assert process.stdout.readline() == "in\n"
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the whole group
        assert process.stdout.read() == "finished 1\n"


def test_a_locale_that_knows_ascii_alone(python, monkeypatch):
    for name, value in (("LC_ALL", "C"), ("PYTHONCOERCECLOCALE", "0"), ("PYTHONUTF8", "0")):
        monkeypatch.setenv(name, value)
    done = python("""
        import tacho
        with tacho.track("caf\\xe9", tags={"k": "\\xfc"}, strict=True, interval=0.05) as t:
            assert t.mark("na\\xefve")
        assert t.run.info["metadata"]["job_name"] == "caf\\xe9" and t.run.marks()[0]["name"] == "na\\xefve", t.run.info
        assert tacho.runs(job="caf\\xe9")[0].id == t.id
        with tacho.track("half \\ud800", strict=True, interval=0.05) as t:
            pass
        print(t.run.state)
        """)
    assert done.stdout == "finished\n" and not done.stderr
