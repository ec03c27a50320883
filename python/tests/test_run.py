"""run(), Run, runs() and load()."""
import gzip
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time

import pytest

import tacho


def test_like_subprocess():
    done = tacho.run(["sh", "-c", "echo out; echo err >&2; exit 3"], capture_output=True, text=True, name="j")
    assert isinstance(done, subprocess.CompletedProcess) and isinstance(done, tacho.CompletedRun)
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "err\n")
    assert done.args == ["sh", "-c", "echo out; echo err >&2; exit 3"]
    assert done.run.exit_code == 3 and done.run.state == "failed" and done.run.info["metadata"]["job_name"] == "j"
    assert tacho.run("exit 4", shell=True).returncode == 4
    assert tacho.run(["cat"], input=b"x", stdout=subprocess.PIPE).stdout == b"x"
    assert tacho.run(["cat"], input="é", capture_output=True, text=True).stdout == "é"
    assert tacho.run(["pwd"], cwd="/", capture_output=True, text=True).stdout == "/\n"
    assert tacho.run("true").returncode == 0


def test_signal():
    assert tacho.run("kill -TERM $$", shell=True).returncode == -signal.SIGTERM


def test_environment_is_the_commands(tmp_path):
    done = tacho.run(["env"], env={"A": "1", "PATH": os.environ["PATH"]}, capture_output=True, text=True)
    seen = dict(line.split("=", 1) for line in done.stdout.splitlines())
    assert seen["A"] == "1" and set(seen) <= {"A", "PATH", "TACHO_RUN"}
    assert done.run.folder.startswith(os.environ["TACHO_STORE"])


def test_check_and_timeout():
    with pytest.raises(subprocess.CalledProcessError) as failure:
        tacho.run(["sh", "-c", "exit 9"], check=True)
    assert failure.value.returncode == 9 and failure.value.run.exit_code == 9
    with pytest.raises(subprocess.TimeoutExpired) as late:
        tacho.run(["sleep", "30"], timeout="300ms", capture_output=True)
    assert late.value.run.info["outcome"]["timed_out"] and late.value.timeout == 0.3
    assert tacho.run(["sh", "-c", "exit 124"], timeout=30).returncode == 124  # the command's own


def test_cannot_run(tmp_path, capfd):
    with pytest.raises(FileNotFoundError) as missing:
        tacho.run(["no-such-program"])
    assert missing.value.filename == "no-such-program"
    (tmp_path / "x").write_text("x")
    with pytest.raises(PermissionError):
        tacho.run([tmp_path / "x"])
    with pytest.raises(tacho.TachoError, match="no/such"):
        tacho.run(["true"], output="/no/such/a.csv")
    assert capfd.readouterr() == ("", "")
    assert tacho.run(["sh", "-c", "exit 127"]).returncode == 127
    for bad in ([], {"args": ["true"], "timeout": 0}, {"args": ["true"], "interval": "x"}):
        with pytest.raises(ValueError):
            tacho.run(**bad) if isinstance(bad, dict) else tacho.run(bad)


def test_the_programs_own_words(tmp_path, monkeypatch, capfd):
    """Also of what it finds before it looks at the command; nothing of it stands between the command's lines."""
    with pytest.raises(tacho.TachoError, match="--no-such-option"):
        tacho.run(["true"], options=["--no-such-option"], capture_output=True)
    monkeypatch.setenv("TACHO_INTERVAL", "soon")
    with pytest.raises(tacho.TachoError, match="soon"):
        tacho.run(["true"])
    monkeypatch.delenv("TACHO_INTERVAL")
    (tmp_path / "file").write_text("")
    monkeypatch.delenv("TACHO_STORE")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.warns(tacho.TachoWarning, match="not kept"):
        done = tacho.run(["sh", "-c", "echo mine >&2; exit 3"], capture_output=True)
    assert (done.returncode, done.run, done.stderr) == (3, None, b"mine\n")
    assert capfd.readouterr() == ("", "")


def test_what_is_not_recorded_runs(monkeypatch):
    """Inside of a run that records it already, and where tacho is told to let the command run whatever comes."""
    monkeypatch.setenv("TACHO_NESTED", "pass")
    script = "import tacho; done = tacho.run(['sh', '-c', 'ls /proc/self/fd; exit 3'], capture_output=True); print(done.returncode, done.run, done.stdout.split())"
    done = tacho.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "3 None [b'0', b'1', b'2', b'3']\n" and done.run is not None, done
    monkeypatch.setenv("TACHO_INTERVAL", "soon")
    done = tacho.run(["sh", "-c", "exit 4"], options=["--fail-open"], capture_output=True)
    assert (done.returncode, done.run) == (4, None)


def test_keep_false():
    done = tacho.run(["true"], keep=False)
    place = os.path.dirname(done.run.folder)
    assert len(done.run) == 1 and os.path.isdir(place)
    del done
    assert not os.path.exists(place)


def test_inherits_no_descriptor():
    done = tacho.run(["ls", "/proc/self/fd"], capture_output=True, text=True)
    assert done.stdout.split() == ["0", "1", "2", "3"]


def test_runs_and_load(tmp_path):
    assert tacho.runs() == []
    first = tacho.run(["true"], name="a").run
    second = tacho.run(["sh", "-c", "exit 1"], name="b").run
    assert tacho.runs() == [second, first] and tacho.runs(job="a") == [first] and tacho.runs(failed=True) == [second]
    assert tacho.runs(limit=1) == [second] and tacho.runs(since="1h") == [second, first] and tacho.runs(limit=0) == []
    assert tacho.runs(since=time.time() + 100) == [] and tacho.runs(since=3600) == [second, first]
    for nonsense in ({"limit": -1}, {"since": float("nan")}, {"since": -1}, {"since": 0}):
        with pytest.raises(ValueError):
            tacho.runs(**nonsense)
    assert tacho.load() == second and tacho.load("last~1") == first and tacho.load("a") == first
    assert tacho.load(first.id) == first and tacho.load(first.folder) == first
    other = tacho.run(["true"], store=tmp_path / "other").run
    assert tacho.load("last", store=tmp_path / "other") == other and tacho.runs(store=tmp_path / "other") == [other]
    for bad in ("nope-nope", "/no/such/folder", "", "-x", "x.csv"):
        with pytest.raises(tacho.RunNotFound) as error:
            tacho.load(bad)
        assert isinstance(error.value, LookupError) and isinstance(error.value, tacho.TachoError)


@pytest.fixture
def run():
    return tacho.run(["sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"], interval=0.02).run


def test_rows(run):
    rows = run.rows()
    assert len(rows) == len(run) > 1 and bool(run)
    assert list(rows[0]) == run.columns == list(run.to_dict())
    assert type(rows[0]["process_pid"]) is int and type(rows[0]["timestamp"]) is float
    assert type(rows[0]["system_disk_read_bytes"]) is int and type(rows[0]["process_memory_mib"]) is float
    assert rows[0]["process_gpu_usage"] is None or not run.info["method"].get("gpu") == "none"
    assert run.stats["process_cpu_usage"]["max"] > 0


def test_what_the_program_says(run, tmp_path):
    assert "cpu" in run.show()
    page = run.report(tmp_path / "r.html")
    assert page == (tmp_path / "r.html").read_text() and "<html" in page and "<html" in run.report()
    assert isinstance(run.advise(), dict)


def test_html(run):
    page = run._repr_html_()
    assert len(page) <= 20_000 and "<svg" in page and "<script" not in page and "http" not in page and run.id in page


def fake(tmp_path, text, info=None, name="f"):
    folder = tmp_path / name
    folder.mkdir()
    (folder / "metrics.csv").write_text(text)
    (folder / "run.json").write_text(json.dumps(info if info is not None else {"id": name, "state": "finished"}))
    return tacho.load(folder)


def test_torn_and_strange(tmp_path):
    run = fake(tmp_path, "timestamp,a_bytes,b\n1.0,5,\n2.0,,3\n3.0,7")
    assert run.rows() == [{"timestamp": 1.0, "a_bytes": 5, "b": None}, {"timestamp": 2.0, "a_bytes": None, "b": 3.0}]
    empty = fake(tmp_path, "", name="empty")
    assert empty.rows() == [] and len(empty) == 0 and bool(empty) and empty._repr_html_()
    assert all(value is None for key, value in empty.summary().items() if key not in ("id", "state"))
    odd = fake(tmp_path, "timestamp,x\n1,nan\n2,inf\n3,text\n", {"id": "<script>", "state": "from the future", "statistics": 3}, "odd")
    assert [row["x"] for row in odd.rows()] == [None] * 3 and odd.state == "from the future" and odd.stats == {}
    assert "<script>" not in odd._repr_html_()
    (tmp_path / "odd" / "run.json").write_text("{")
    with pytest.raises(tacho.TachoError):
        tacho.load(tmp_path / "odd").info
    (tmp_path / "odd" / "run.json").unlink()
    with pytest.raises(tacho.RunNotFound, match="odd has no run.json; .*metrics.csv"):
        tacho.load(tmp_path / "odd")
    with pytest.raises(tacho.RunNotFound):
        tacho.Run(tmp_path / "none").info


def test_a_file_without_rows(tmp_path):
    (tmp_path / "h.csv").write_text("timestamp,process_pid\n")
    run = tacho.load(tmp_path / "h.csv")
    assert run.columns == ["timestamp", "process_pid"] and run.rows() == [] and bool(run) and run.show() and run.report()
    assert {key: value for key, value in run.summary().items() if value} == {"id": "h.csv", "state": "finished"}
    assert run.summary()["seconds"] is None and run.summary()["samples"] == 0


def test_long_html(tmp_path):
    lines = "".join(f"{i}.0,{i % 7}.5,{i % 11}.25\n" for i in range(20000))
    run = fake(tmp_path, "timestamp,process_cpu_usage,process_memory_mib\n" + lines)
    assert len(run._repr_html_()) <= 20_000


def test_files(tmp_path, run):
    text = open(os.path.join(run.folder, "metrics.csv")).read()
    with gzip.open(tmp_path / "a.csv.gz", "wt") as file:
        file.write(text)
    packed = tacho.load(tmp_path / "a.csv.gz")
    assert packed.rows() == run.rows() and packed.summary()["samples"] == len(run)
    data = (tmp_path / "a.csv.gz").read_bytes()
    (tmp_path / "cut.csv.gz").write_bytes(data[:len(data) // 2])
    assert len(tacho.load(tmp_path / "cut.csv.gz")) < len(run)


def test_killed_recorder():
    child = subprocess.Popen(["sleep", "30"])
    try:
        t = tacho.attach(child.pid, interval=0.05)
        time.sleep(0.2)
        os.kill(t._agent.pid, signal.SIGKILL)
        t.stop()
        assert t.run.state == "interrupted" and len(t.run) >= 1
        assert t.run.summary()["samples"] == len(t.run)
    finally:
        child.kill()
        child.wait()


def test_processes_and_pickle(run):
    assert isinstance(run.processes(), list) and isinstance(run.phases, list)
    assert pickle.loads(pickle.dumps(run)) == run


def test_missing_library(run, monkeypatch):
    for name, call in (("pandas", run.to_pandas), ("polars", run.to_polars), ("pyarrow", run.to_arrow)):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(ImportError, match=name):
            call()


def test_pandas(run):
    pandas = pytest.importorskip("pandas")
    frame = run.to_pandas()
    assert frame.index.name == "timestamp" and str(frame.index.tz) == "UTC" and len(frame) == len(run)
    assert str(frame["process_pid"].dtype) == "Int64" and str(frame["process_memory_mib"].dtype) == "Float64"
    assert abs(frame.index[0].timestamp() - run.rows()[0]["timestamp"]) < 1e-6
    assert frame["process_gpu_usage"].isna().all() or True
    assert run.to_pandas(datetime=False).index[0] == run.rows()[0]["timestamp"]
    assert isinstance(frame, pandas.DataFrame)


def test_polars(run):
    polars = pytest.importorskip("polars")
    frame = run.to_polars()
    assert frame.schema["timestamp"] == polars.Datetime("ms", "UTC") and len(frame) == len(run)
    assert frame.schema["process_pid"] == polars.Int64 and frame.schema["process_memory_mib"] == polars.Float64


def test_arrow(run):
    arrow = pytest.importorskip("pyarrow")
    table = run.to_arrow()
    assert table.schema.field("timestamp").type == arrow.timestamp("ms", tz="UTC") and table.num_rows == len(run)
    assert table.schema.field("process_pid").type == arrow.int64()


def test_find_program(tmp_path, monkeypatch):
    real = tacho.find_program()
    monkeypatch.setenv("TACHO_BIN", real)
    assert tacho.find_program() == real
    monkeypatch.setenv("TACHO_BIN", os.path.dirname(real))
    assert tacho.find_program() == real
    unfit = tmp_path / "tacho"
    unfit.write_bytes(open(real, "rb").read(100))
    monkeypatch.setenv("TACHO_BIN", str(unfit))
    monkeypatch.setattr("tacho._program._candidates", lambda name: iter([str(unfit)]))
    with pytest.raises(tacho.ProgramNotFound, match="not executable"):
        tacho.find_program()
    unfit.chmod(0o755)
    data = bytearray(unfit.read_bytes())
    data[18:20] = (183 if os.uname().machine == "x86_64" else 62).to_bytes(2, "little")
    unfit.write_bytes(data)
    with pytest.raises(tacho.ProgramNotFound, match="this machine is"):
        tacho.find_program()
    monkeypatch.setattr("tacho._program._candidates", lambda name: iter([]))
    with pytest.raises(tacho.ProgramNotFound, match="TACHO_BIN"):
        tacho.find_program()


def test_the_program_of_this_package(python, tmp_path):
    """One copy of the package stands in the prefix of an interpreter, one in a folder of its own: each finds its own program, not one that
    stands where another interpreter or PATH has it."""
    package, real = os.path.dirname(tacho.__file__), tacho.find_program()
    for place in ("usr/local/lib/python3.11/dist-packages", "target"):
        shutil.copytree(package, tmp_path / place / "tacho", ignore=shutil.ignore_patterns("__pycache__"))
    programs = {place: tmp_path / place / "bin" / "tacho" for place in ("usr/local", "target", "usr", "base", "path")}
    for program in programs.values():
        program.parent.mkdir(parents=True)
        shutil.copy2(real, program)
    env = {**os.environ, "PATH": str(programs["path"].parent)}
    env.pop("TACHO_BIN", None)

    def found(place, prefix):
        script = (f"import sys\nsys.path.insert(0, {str(tmp_path / place)!r})\nsys.prefix = sys.exec_prefix = {str(tmp_path / prefix)!r}\n"
                  f"sys.base_prefix, sys.executable = {str(tmp_path / 'base')!r}, ''\nimport tacho\nprint(tacho.find_program())")
        return subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True).stdout.strip()
    assert found("usr/local/lib/python3.11/dist-packages", "usr") == str(programs["usr/local"])
    assert found("target", "usr") == str(programs["usr"])
    assert found("target", "none") == str(programs["target"])
    programs["target"].unlink()
    assert found("target", "none") == str(programs["base"])
    programs["base"].unlink()
    assert found("target", "none") == str(programs["path"])


def test_module_is_the_program():
    done = subprocess.run([sys.executable, "-m", "tacho", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == subprocess.run([tacho.find_program(), "--version"], capture_output=True, text=True).stdout
    assert done.stdout.split()[1] == tacho.__version__
    script = "import sys; sys.argv[1:] = ['--version']; from tacho._program import resource_tracker_command as c; c()"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == done.stdout


def test_sizes():
    from tacho._units import size
    assert size("500MiB") == 500 * 2**20 and size("2GB") == 2e9 and size(1024) == 1024 and size("1 kB") == 1000
    for bad in (0, -1, "x", "5 XB", float("nan"), None, "MiB", ""):
        with pytest.raises(ValueError):
            size(bad)


def test_numbers_of_other_kinds():
    import decimal
    import fractions
    from tacho._units import interval, seconds
    assert interval(decimal.Decimal("0.5")) == seconds(fractions.Fraction(1, 2)) == 0.5
    for bad in (decimal.Decimal("NaN"), decimal.Decimal("sNaN"), fractions.Fraction(0), 1j, True, b"5s"):
        with pytest.raises(ValueError):
            seconds(bad)


def test_exceptions():
    assert issubclass(tacho.TachoError, RuntimeError) and issubclass(tacho.ProgramNotFound, tacho.TachoError)
    assert issubclass(tacho.RunNotFound, LookupError) and issubclass(tacho.LimitExceeded, AssertionError)
    assert issubclass(tacho.TachoWarning, UserWarning)
    assert set(tacho.__all__) <= set(dir(tacho))
    with pytest.raises(AttributeError):
        tacho.nothing_of_that_name


def test_imports_nothing_heavy(python):
    done = python("""
        import sys
        before = set(sys.modules)
        import tacho
        new = {name for name in set(sys.modules) - before}
        print(sorted(new))
        """)
    assert eval(done.stdout) == ["tacho"]
    for heavy in ("subprocess", "json", "typing", "dataclasses", "pathlib", "tempfile", "importlib.metadata"):
        assert f"'{heavy}'" not in done.stdout


def test_interrupted(python):
    """Ctrl-C: the command ends, and its record is whole."""
    done = python("""
        import os, signal, threading, time, tacho
        def interrupt():
            while not tacho.runs():
                time.sleep(0.05)
            time.sleep(0.2)
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=interrupt).start()
        try:
            tacho.run(["sleep", "30"])
        except KeyboardInterrupt:
            print("interrupted", tacho.load().state)
        """)
    assert done.stdout == "interrupted failed\n"


@pytest.mark.parametrize("name", ["run.json", "metrics.csv", "processes.csv", "marks.csv"])
def test_a_pipe_in_the_folder_is_not_waited_for(tmp_path, name):
    folder = str(tmp_path)
    with open(os.path.join(folder, "run.json"), "w", encoding="utf-8") as file:
        json.dump({"id": "x", "state": "finished"}, file)
    run = tacho.load(folder)
    if os.path.exists(os.path.join(folder, name)):
        os.unlink(os.path.join(folder, name))
    os.mkfifo(os.path.join(folder, name))
    if name in ("run.json", "metrics.csv"):
        with pytest.raises(tacho.TachoError):
            run.info if name == "run.json" else run.rows()
    else:
        assert run.processes() == [] and run.marks() == []
