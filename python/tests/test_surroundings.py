"""Bad surroundings: one test a line of the table."""
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

import tacho
from conftest import until


def info_of(folder):
    with open(os.path.join(folder, "run.json")) as file:
        return json.load(file)


def only_run():
    store = os.environ["TACHO_STORE"]
    folders = os.listdir(store)
    assert len(folders) == 1
    return os.path.join(store, folders[0])


def gone(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] in "ZX"
    except OSError:
        return True


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


@pytest.mark.parametrize("home", ["missing", "readonly"])
def test_home(python, monkeypatch, tmp_path, home):
    if home == "readonly" and os.geteuid() == 0:
        if not shutil.which("setpriv"):
            pytest.skip("root writes anywhere")
    folder = tmp_path / "home"
    if home == "readonly":
        folder.write_text("")  # a file: not even root can make a folder in it
    env = {**os.environ, "HOME": str(folder / "x"), "PYTHONWARNINGS": "always"}
    for name in ("TACHO_STORE", "XDG_STATE_HOME"):
        env.pop(name, None)
    done = python("""
        import os, shutil, tacho
        for _ in range(2):
            with tacho.track() as t:
                pass
            assert t.run is not None and len(t.run) == 1
            print(os.path.dirname(t.folder))
        """, env=env)
    places = done.stdout.split()
    if home == "readonly":
        assert done.stderr.count("instead of the run store") == 1
        for place in places:
            shutil.rmtree(place)


def test_full_store(python, tmp_path):
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        pytest.skip("needs a file system of its own")
    (tmp_path / "small").mkdir()
    script = tmp_path / "x.py"
    script.write_text("import tacho\nwith tacho.track() as t:\n    pass\nassert t.run is not None and len(t.run) == 1\n"
                      "import os, shutil; shutil.rmtree(os.path.dirname(t.folder))\n")
    shell = (f"mount -t tmpfs -o size=64k none {tmp_path}/small && (cat /dev/zero > {tmp_path}/small/fill 2>/dev/null; "
             f"TACHO_STORE={tmp_path}/small/store {sys.executable} -W always {script})")
    done = subprocess.run(["unshare", "-m", "sh", "-c", shell], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr.count("TachoWarning") == 1, done


def test_noexec_temporary_folder(python, tmp_path):
    """Nothing is ever executed from there."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        pytest.skip("needs a mount of its own")
    (tmp_path / "tmp").mkdir()
    script = tmp_path / "x.py"
    script.write_text("import tacho\nwith tacho.track(keep=False, strict=True) as t:\n    pass\nassert len(t.run) == 1\n")
    shell = f"mount -t tmpfs -o noexec none {tmp_path}/tmp && TMPDIR={tmp_path}/tmp {sys.executable} {script}"
    subprocess.run(["unshare", "-m", "sh", "-c", shell], check=True)


def test_program_without_permission(python, tmp_path):
    unfit = tmp_path / "tacho"
    unfit.write_bytes(b"\x7fELF")
    env = {**os.environ, "TACHO_BIN": str(unfit), "PATH": "/nonexistent"}
    done = python("""
        import tacho
        tacho._program = __import__("tacho._program")._program
        tacho._program._candidates = lambda name: iter([__import__("os").environ["TACHO_BIN"]])
        with tacho.track() as t:
            assert t.run is None
        """, "-W", "always", env=env)
    assert "not executable" in done.stderr and str(unfit) in done.stderr


def test_no_temporary_place_but_one(python, tmp_path):
    env = {**os.environ, "TMPDIR": str(tmp_path / "none")}
    python("import tacho\nwith tacho.track(keep=False, strict=True) as t:\n    pass\n", env=env, cwd=tmp_path)


def test_uid_without_a_name(python, tmp_path):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("needs root")
    for folder in [tmp_path, *tmp_path.parents]:
        if not os.stat(folder).st_mode & 0o001:
            pytest.skip("the temporary folder is closed to others")
    os.chmod(tmp_path, 0o777)
    if subprocess.run(["setpriv", "--reuid=54321", "--clear-groups", sys.executable, "-c", "import tacho"], capture_output=True).returncode:
        pytest.skip("the interpreter is closed to others")
    subprocess.run(["setpriv", "--reuid=54321", "--clear-groups", sys.executable, "-c",
                    "import tacho\nwith tacho.track(strict=True) as t:\n    pass\nassert len(t.run) == 1"], check=True)


def test_old_kernel(python):
    """No pidfd_open: by seccomp, or before Linux 5.3."""
    python("""
        import os, signal, tacho
        def refuse(*words):
            raise OSError(38, "Function not implemented")
        os.pidfd_open = refuse
        with tacho.track(strict=True) as t:
            pass
        assert t.run.state == "finished"
        """)


@pytest.mark.parametrize("options", [["-I"], ["-S"], ["-O"], ["-OO"], ["-E", "-s"]])
def test_interpreter_options(python, tmp_path, options):
    package = os.path.dirname(os.path.dirname(tacho.__file__))
    done = python(f"""
        import sys, os
        sys.path.insert(0, {package!r})
        os.environ["TACHO_BIN"] = {tacho.find_program()!r}
        import tacho
        with tacho.track(strict=True) as t:
            pass
        print(t.run.state, tacho.find_program() == os.environ["TACHO_BIN"])
        """, *options)
    assert done.stdout == "finished True\n"


def test_frozen(python):
    python(f"""
        import sys
        sys.path.insert(0, {os.path.dirname(os.path.dirname(tacho.__file__))!r})
        sys.frozen, sys.executable = True, ""
        import os
        os.environ["PATH"] = {os.path.dirname(tacho.find_program())!r}
        os.environ.pop("TACHO_BIN", None)
        import tacho
        assert tacho.find_program()
        """)


def test_two_trackers_of_one_process():
    child = subprocess.Popen(["sleep", "30"])
    try:
        first, second = tacho.attach(child.pid), tacho.attach(child.pid)
        assert first.stop().state == second.stop().state == "finished" and first.id != second.id
    finally:
        child.kill()
        child.wait()


def test_stuck_agent_is_killed(monkeypatch):
    import tacho._agent
    monkeypatch.setattr(tacho._agent, "_STOP_SECONDS", 0.2)
    t = tacho.track(strict=True).start()
    agent = t._agent
    os.kill(agent.pid, signal.SIGSTOP)
    begun = time.monotonic()
    with pytest.warns(tacho.TachoWarning, match="killed"):
        t.stop()
    assert time.monotonic() - begun < 10 and until(lambda: gone(agent.pid), 5)


def test_forgotten_tracker_ends_at_exit(python):
    python("import tacho\ntacho.attach(interval='1h')\n")
    folder = only_run()
    assert info_of(folder)["state"] == "finished"


def test_agent_is_small():
    """What is the agent's own. How many pages of its program file count as resident depends on how the file came into the page cache:
    the kernel maps by the pieces that it holds there, so that equal files of two environments differ by a megabyte or two. The sum is
    judged for the program that users get, by scripts/package --check."""
    with tacho.track(interval=0.05) as t:
        assert until(lambda: len(t.run) >= 10)
        with open(f"/proc/{t._agent.pid}/status") as file:
            status = dict(line.split(":", 1) for line in file)
    most, own = (int(status[name].split()[0]) for name in ("VmHWM", "RssAnon"))
    assert own <= 2 * 1024, status
    assert most <= os.path.getsize(tacho.find_program()) // 1024 + 3 * 1024, status  # with every page of its file, which it lets go of when it has started
