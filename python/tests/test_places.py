"""Bad surroundings: homes, stores, programs and systems that are not as they should be."""
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
import tacho
from conftest import until
from surroundings import gone, info_of, only_run


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


def test_a_store_whose_name_is_not_utf8(tmp_path):
    store = os.path.join(os.fsencode(tmp_path), b"\xff\xfe dir\n")
    with tacho.track("t", interval=0.05, store=store, strict=True) as t:
        assert t.mark("here") and os.environb[b"TACHO_RUN"].startswith(store)
    assert t.run.state == "finished" and t.run.marks()[0]["name"] == "here" and os.fsencode(t.folder).startswith(store)
    done = tacho.run(["true"], store=os.fsdecode(store))
    assert done.run.exit_code == 0 and tacho.load(store=store).id == done.run.id
    assert {run.state for run in tacho.runs(store=store)} == {"finished"} and len(tacho.runs(store=store)) == 2


@pytest.mark.parametrize("call", [lambda store: tacho.track(store=store), lambda store: tacho.run(["true"], store=store),
                                  lambda store: tacho.runs(store=store), lambda store: tacho.load(store=store)])
def test_a_store_without_a_name(call):
    with pytest.raises(ValueError, match="store is empty"):
        call("")
    with pytest.raises(TypeError):
        call(5)
