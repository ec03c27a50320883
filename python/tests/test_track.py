"""Tracker: with, decorator, start and stop; exports, marks, warnings."""
import asyncio
import json
import os
import pickle
import subprocess
import threading
import time
import warnings

import pytest

import tacho
from conftest import until


def agent_lives(tracker):
    return tracker._agent is not None and tracker._agent.lives()


def test_with():
    with tacho.track("load", tags={"a": 1}, metadata={"team": "x"}, interval=0.05) as t:
        assert t.running and agent_lives(t) and t.pid == os.getpid()
        assert os.environ["TACHO_RUN"] == t.folder and os.path.basename(t.folder) == t.id
        assert t.run.state == "running"
        time.sleep(0.2)
    assert not t.running and "TACHO_RUN" not in os.environ
    info = t.run.info
    assert t.run.state == "finished" and t.run.exit_code is None
    assert info["metadata"]["job_name"] == "load" and info["metadata"]["tags"] == ["a=1"]
    assert info["metadata"]["team"] == "x" and info["pid"] == os.getpid()
    assert info["tracker_pid"] > 0
    assert len(t.run) >= 3
    assert t.stop() is t.run


def test_summary_keys():
    with tacho.track() as t:
        pass
    assert list(t.run.summary()) == ("id state exit_code seconds cpu_seconds cpu_mean memory_peak_mib disk_read_bytes "
                                     "disk_written_bytes net_recv_bytes net_sent_bytes gpu_mean gpu_memory_peak_mib "
                                     "samples method").split()
    assert t.run.summary()["memory_peak_mib"] > 5 and t.run.summary()["samples"] == 1


def test_start_and_stop():
    t = tacho.track(interval="250ms")
    assert t.run is None and t.id is None and t.stop() is None
    assert t.start() is t and t.start() is t
    run = t.stop()
    assert run is t.run and t.stop() is run
    again = t.start().stop()
    assert again is not run


def test_attach_child():
    child = subprocess.Popen(["sleep", "30"])
    try:
        t = tacho.attach(child.pid, interval=0.05)
        assert t.running and t.pid == child.pid
        run = t.stop()
        assert run.info["pid"] == child.pid and child.poll() is None
        t = tacho.attach(child.pid)
    finally:
        child.kill()
        child.wait()
    assert until(lambda: t.run.state == "finished")
    t.stop()


def test_no_children():
    with tacho.track(children=False, interval=0.05) as t:
        subprocess.run(["sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"], check=True)
    assert t.run.summary()["cpu_seconds"] < 0.1
    assert set(t.run.to_dict()["process_children"]) == {0}


def test_exception_passes():
    with pytest.raises(KeyError):
        with tacho.track() as t:
            raise KeyError("x")
    assert t.run.state == "finished"
    if os.path.exists(os.path.join(t.folder, "marks.csv")):
        assert t.run.marks()[-1]["event"] == "point" and t.run.marks()[-1]["name"] == "exception KeyError"


def test_decorators():
    @tacho.track
    def f(x):
        return x + 1

    @tacho.track("g", interval=0.05)
    def g():
        yield 1
        yield 2

    @tacho.track
    async def h():
        await asyncio.sleep(0.01)
        return 7

    @tacho.track()
    async def items():
        yield 1

    assert f.last_run is None and f(1) == 2 and f.last_run.state == "finished"
    assert "f" in f.last_run.info["metadata"]["job_name"]
    first = f.last_run
    f(2)
    assert f.last_run != first
    assert list(g()) == [1, 2] and g.last_run.info["metadata"]["job_name"] == "g"
    assert asyncio.run(h()) == 7 and h.last_run is not None

    async def all_items():
        return [item async for item in items()]
    assert asyncio.run(all_items()) == [1] and items.last_run is not None


def test_nested():
    os.environ["TACHO_RUN"] = "before"
    try:
        with tacho.track("outer", interval=0.02) as outer:
            with tacho.track("inner", interval=0.02) as inner:
                assert os.environ["TACHO_RUN"] == inner.folder
                agents = {outer._agent.pid, inner._agent.pid}
                time.sleep(0.2)
            assert os.environ["TACHO_RUN"] == outer.folder
        assert os.environ["TACHO_RUN"] == "before"
    finally:
        del os.environ["TACHO_RUN"]
    assert outer.id != inner.id
    for run in (inner.run, outer.run):  # nobody but this process, and what started an agent
        seen = {line["pid"] for line in run.processes()}
        assert os.getpid() in seen and not seen & agents
        assert min(run.to_dict()["process_children"]) == 0


def test_no_export():
    with tacho.track(export=False):
        assert "TACHO_RUN" not in os.environ


def test_threads():
    seen, failures = [], []

    def work():
        try:
            with tacho.track() as t:
                time.sleep(0.05)
            seen.append(t.id)
        except BaseException as error:
            failures.append(error)
    threads = [threading.Thread(target=work) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and len(set(seen)) == 5 and "TACHO_RUN" not in os.environ


def test_keep_false():
    with tacho.track(keep=False) as t:
        folder = t.folder
    assert os.path.exists(folder) and len(t.run) == 1
    assert os.stat(os.path.dirname(folder)).st_mode & 0o777 == 0o700
    place = os.path.dirname(folder)
    del t
    assert not os.path.exists(place)


def test_pickle():
    with tacho.track() as t:
        with pytest.raises(TypeError):
            pickle.dumps(t)
    copy = pickle.loads(pickle.dumps(t.run))
    assert copy == t.run and copy.summary() == t.run.summary()


def test_cannot_start(monkeypatch):
    monkeypatch.setenv("TACHO_BIN", "/nonexistent/tacho")
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr("tacho._program._candidates", lambda name: iter(["/nonexistent/tacho"]))
    with pytest.warns(tacho.TachoWarning) as told:
        for _ in range(3):
            with tacho.track() as t:
                assert t.run is None and not t.running
    assert len(told) == 1
    with pytest.raises(tacho.ProgramNotFound):
        tacho.track(strict=True).start()


def test_pid_gone():
    child = subprocess.Popen(["true"])
    child.wait()
    with pytest.raises(tacho.TachoError, match="no process"):
        tacho.attach(child.pid, strict=True)


def test_running_ends_with_the_process():
    child = subprocess.Popen(["sleep", "30"])
    t = tacho.attach(child.pid, strict=True)
    assert t.running
    child.kill()
    child.wait()
    assert until(lambda: not t.running) and t.run.state == "finished"
    assert t.stop() is t.run


def test_threads_that_start_one_tracker():
    t = tacho.track()
    threads = [threading.Thread(target=t.start) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert t.stop().state == "finished" and len(tacho.runs()) == 1


def test_disabled(monkeypatch):
    monkeypatch.setenv("TACHO_DISABLE", "1")
    with tacho.track() as t:
        assert t.run is None and not tacho.mark("a")
    assert t.stop() is None
    done = tacho.run(["sh", "-c", "echo x; exit 2"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.run) == (2, "x\n", None)


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), "", "x", "1 parsec", "0s", "-3s", True, None, 1e-6,
                                 "2h", "1e999", "++1", "1_0"])
def test_bad_interval(bad):
    with pytest.raises(ValueError):
        tacho.track(interval=bad)


@pytest.mark.parametrize("good", [1, 0.01, "250ms", "5m", "1h", "0.5s", "0.25"])
def test_good_interval(good):
    tacho.track(interval=good)


def test_bad_arguments():
    for keywords in ({"metadata": {"taem": "x"}}, {"tags": ["x"]}, {"tags": {"": 1}}, {"pid": 0}, {"pid": -3}, {"pid": 1.5}, {"pid": "1"},
                     {"store": "a\0b"}):
        with pytest.raises(ValueError):
            tacho.track(**keywords)
    with pytest.raises(ValueError, match="team"):
        tacho.track(metadata={"taem": "x"})


def test_hostile_names():
    for name in ("a\nb", "", "-x", "\udcff", "\ud800", "x" * 5000, "é☃"):
        with tacho.track(name) as t:
            pass
        assert t.run is not None, name


def test_outputs(tmp_path):
    with tacho.track(output=[tmp_path / "a.csv", tmp_path / "a.jsonl"], options=["--summary", "none"]) as t:
        time.sleep(0.1)
    run = tacho.load(tmp_path / "a.csv")
    assert len(run) == len(t.run) and run.rows() == t.run.rows()
    lines = tacho.load(tmp_path / "a.jsonl")
    assert len(lines) == len(t.run)
    assert lines.rows()[0]["process_pid"] == os.getpid()
    assert lines.to_dict()["process_memory_mib"] == t.run.to_dict()["process_memory_mib"]
    assert lines.summary()["samples"] == 1 and lines.state == "finished"


def test_marks_without_a_run():
    assert tacho.mark("a") is False and tacho.end() is False and tacho.point("p") is False
    with tacho.phase("x"):
        pass


def test_marks(tmp_path, monkeypatch):
    (tmp_path / "marks.csv").write_text("timestamp,event,name\n")
    monkeypatch.setenv("TACHO_RUN", str(tmp_path))
    assert tacho.mark("a,b\n\"c") and tacho.point("p") and tacho.end()
    with tacho.phase("inner"):
        pass
    (tmp_path / "run.json").write_text(json.dumps({"id": "x", "state": "finished"}))
    marks = tacho.load(tmp_path).marks()
    assert [(mark["event"], mark["name"]) for mark in marks] == [
        ("phase", 'a,b "c'), ("point", "p"), ("end", None), ("phase", "inner"), ("end", None)]
    assert abs(marks[0]["timestamp"] - time.time()) < 60
    monkeypatch.setenv("TACHO_RUN", str(tmp_path / "none"))
    assert tacho.mark("a") is False


def test_broken_store_falls_back(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TACHO_STORE", str(tmp_path / "file" / "store"))
    with pytest.warns(tacho.TachoWarning, match="instead of the run store"):
        with tacho.track() as t:
            pass
    assert t.run is not None and len(t.run) == 1
    import shutil
    shutil.rmtree(os.path.dirname(t.folder))
    with pytest.raises(tacho.TachoError):
        tacho.track(store=tmp_path / "file" / "store", strict=True).start()


def test_no_warning_in_good_times():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with tacho.track(keep=False):
            pass
