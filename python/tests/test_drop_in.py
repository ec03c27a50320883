"""tacho.resource_tracker: how it is switched on, frames and results."""
import gzip
import io
import json
import multiprocessing
import os
import subprocess
import sys
import threading
import time

import pytest

import tacho.resource_tracker as rt
from tacho.resource_tracker import ResourceTracker, helpers, tiny_data_frame, tracker
from tacho.resource_tracker.report import Report
from tacho.resource_tracker.tiny_data_frame import StatSpec, TinyDataFrame

PROCESS = ("timestamp pid children utime stime cpu_usage memory_mib disk_read_bytes disk_write_bytes gpu_usage "
           "gpu_vram_mib gpu_utilized").split()
SYSTEM = ("timestamp processes utime stime cpu_usage memory_free_mib memory_used_mib memory_buffers_mib "
          "memory_cached_mib memory_active_mib memory_inactive_mib disk_read_bytes disk_write_bytes disk_space_total_gb "
          "disk_space_used_gb disk_space_free_gb net_recv_bytes net_sent_bytes gpu_usage gpu_vram_mib "
          "gpu_utilized").split()


def test_install():
    script = """
import sys, types
import tacho.resource_tracker as rt
assert rt.install() is rt
import resource_tracker, resource_tracker.streaming
from resource_tracker.tracker import ResourceTracker
import tacho.resource_tracker.tracker as ours
assert ResourceTracker is ours.ResourceTracker and resource_tracker.streaming is rt.streaming
rt.uninstall()
assert not [name for name in sys.modules if name.split(".")[0] == "resource_tracker"]
real = sys.modules["resource_tracker"] = types.ModuleType("resource_tracker")
try:
    rt.install()
except RuntimeError:
    pass
else:
    sys.exit("no error")
rt.uninstall()
assert sys.modules["resource_tracker"] is real
assert rt.install(force=True) is rt and sys.modules["resource_tracker"] is rt
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_unchanged_script(tmp_path):
    (tmp_path / "beside.py").write_text("x = 3\n")
    (tmp_path / "script.py").write_text("import sys, beside\nfrom resource_tracker import ResourceTracker\n"
                                        "print(sys.argv[1:], __name__, beside.x, ResourceTracker.__module__)\n")
    done = subprocess.run([sys.executable, "-m", "tacho.resource_tracker.as_upstream", tmp_path / "script.py", "a", "-b"],
                          capture_output=True, text=True, check=True)
    assert done.stdout == "['a', '-b'] __main__ 3 tacho.resource_tracker.tracker\n"


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_unchanged_script_with_processes(tmp_path, method):
    """Which import it anew."""
    (tmp_path / "script.py").write_text(f"""
import multiprocessing
from resource_tracker.tracker import ResourceTracker
def work(answers):
    import resource_tracker
    answers.put((ResourceTracker.__module__, resource_tracker.__name__))
if __name__ == "__main__":
    context = multiprocessing.get_context("{method}")
    answers = context.Queue()
    process = context.Process(target=work, args=(answers,))
    process.start()
    process.join()
    print(process.exitcode or answers.get())
""")
    done = subprocess.run([sys.executable, "-m", "tacho.resource_tracker.as_upstream", tmp_path / "script.py"],
                          capture_output=True, text=True, check=True)
    assert done.stdout == "('tacho.resource_tracker.tracker', 'tacho.resource_tracker')\n"


def test_pytest_plugin_of_it(pytester):
    pytester.makepyfile("import resource_tracker\ndef test_a():\n    assert resource_tracker.__name__ == 'tacho.resource_tracker'\n")
    result = pytester.runpytest_subprocess("-p", "tacho.resource_tracker.as_upstream")
    result.assert_outcomes(passed=1)


def test_frames(measured):
    assert measured.process_metrics.columns == PROCESS
    assert measured.system_metrics.columns == SYSTEM
    combined = measured.get_combined_metrics()
    assert combined.columns == ["timestamp", *("system_" + name for name in SYSTEM[1:]), *("process_" + name for name in PROCESS[1:])]
    assert len(combined) == measured.n_samples == len(measured.process_metrics)
    assert len(measured.get_combined_metrics(offset=1)) == measured.n_samples - 1
    human = measured.get_combined_metrics(human_names=True)
    assert human.columns[0] == "Timestamp" and "Process CPU usage" in human.columns and "System used memory" in human.columns
    assert "System memory page/file cached" in human.columns and "Process GPUs in use" in human.columns
    in_bytes = measured.get_combined_metrics(bytes=True)
    assert in_bytes["process_memory_mib"][0] == combined["process_memory_mib"][0] * 2**20
    assert in_bytes["system_disk_space_total_gb"][0] == combined["system_disk_space_total_gb"][0] * 10**9
    renamed = measured.get_combined_metrics(system_prefix="s.", process_prefix="p.")
    assert renamed.columns[1] == "s.processes" and renamed.columns[-1] == "p.gpu_utilized"


def test_stats(measured):
    stats = measured.stats()
    assert set(stats["process_cpu_usage"]) == {"mean", "max"} and set(stats["timestamp"]) == {"duration"}
    assert set(stats["system_net_recv_bytes"]) == {"sum"} and set(stats["system_disk_space_used_gb"]) == {"max"}
    own = measured.stats([StatSpec("process_cpu_usage", min), StatSpec("process_pid", max, "top"), StatSpec("nope", max)])
    assert own["process_pid"] == {"top": os.getpid()} and "min" in own["process_cpu_usage"] and "nope" not in own
    with pytest.raises(RuntimeError):
        ResourceTracker().stats()


def test_snapshot(measured, tmp_path):
    shot = measured.snapshot()
    assert list(shot) == ["metadata", "server_info", "cloud_info", "process_metrics", "system_metrics"]
    assert list(shot["metadata"]) == ("version resource_tracker pid children interval method autostart track_processes "
                                      "track_system discover_server discover_cloud start_time stop_time duration").split()
    assert shot["metadata"]["version"] == 1
    assert shot["metadata"]["resource_tracker"] == {"version": "0.5.0", "implementation": "tacho"}
    assert json.loads(json.dumps(shot)) == shot
    copy = ResourceTracker.from_snapshot(shot)
    assert copy.process_metrics.to_dict() == measured.process_metrics.to_dict()
    assert copy.stats()["process_cpu_usage"] == pytest.approx(measured.stats()["process_cpu_usage"], abs=0.05)
    # Folded from the rows, with their decimals; what was between two of them only the recording itself knows.
    assert copy.stats()["process_memory_mib"]["max"] == pytest.approx(max(measured.process_metrics["memory_mib"]), abs=0.006)
    assert copy.server_info == measured.server_info and not copy.running and copy.stop_time == measured.stop_time
    with pytest.raises(RuntimeError):
        copy.start()
    measured.dump(tmp_path / "t.gz")
    with gzip.open(tmp_path / "t.gz") as file:
        assert json.load(file)["metadata"]["pid"] == os.getpid()
    assert ResourceTracker.load(tmp_path / "t.gz").n_samples == measured.n_samples
    stream = io.BytesIO()
    measured.dump(stream)
    assert ResourceTracker.load(io.BytesIO(stream.getvalue())).n_samples == measured.n_samples
    assert ResourceTracker.loads(measured.dumps()).n_samples == measured.n_samples


def test_report(measured):
    page = measured.report()
    assert isinstance(page, Report) and "Process CPU usage" in page and "System CPU usage" in page and "Finished" in page
    assert "from <code>" not in page
    card = measured.report(integration="Metaflow", status_failed=True)
    assert len(card) > 100_000 and "Failed" in card and "from <code>Metaflow</code>" in card
    assert measured.report(integration="R").startswith("<html>")
    with ResourceTracker(interval=0.05) as t:
        t.wait_for_samples(1)
        assert "Pending" in t.report()


def test_report_methods(tmp_path, monkeypatch):
    page = Report("<html>")
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert page.save(tmp_path / "a.html") is page and (tmp_path / "a.html").read_text() == "<html>"
    assert page.browse() is page and opened[0].startswith("file://")
    os.unlink(opened[0][7:])


def test_foreground(tmp_path):
    out = tmp_path / "rows.csv"
    child = subprocess.Popen(["sleep", "0.5"])
    t = rt.ProcessTracker(pid=child.pid, interval=0.1, autostart=False)
    assert t.status == "running" and t.stats["pid"] == child.pid
    reaper = threading.Thread(target=child.wait)
    reaper.start()
    t.start_tracking(str(out))
    reaper.join()
    assert t.status == "exited" and t.cycle >= 2
    lines = out.read_bytes().split(b"\n")
    assert lines[0] == ",".join(f'"{name}"' for name in PROCESS).encode() and b"\r" not in out.read_bytes()
    assert len(lines) == t.cycle + 2
    s = rt.SystemTracker(autostart=False)
    time.sleep(0.05)
    assert list(s.diff_stats()) == SYSTEM
    with pytest.warns(DeprecationWarning):
        tracker.PidTracker(autostart=False)


def test_procfs_functions():
    from tacho.resource_tracker import tracker_procfs, tracker_psutil
    assert tracker_psutil.get_system_stats is tracker_procfs.get_system_stats
    process, system = tracker_procfs.get_process_stats(os.getpid()), tracker_procfs.get_system_stats()
    assert set(process) == set(PROCESS) - {"cpu_usage"} | {"gpu_utilized_indexes"}
    assert set(SYSTEM) - set(system) == {"cpu_usage", "disk_read_bytes", "disk_write_bytes"}
    assert process["memory_mib"] > 5 and system["disk_space_total_gb"] > 0
    for space in system["disk_spaces"].values():
        assert space["total"] == space["used"] + space["free"]


def test_pure_python(monkeypatch):
    """Where no program can be executed."""
    monkeypatch.setattr("tacho._program._candidates", lambda name: iter([]))
    monkeypatch.setattr("tacho._program._found", {})
    with ResourceTracker(interval=0.05) as t:
        t.wait_for_samples(2)
    assert t.snapshot()["metadata"]["resource_tracker"]["implementation"] == "procfs"
    assert "no charts here" in t.report()
    assert t.stats()["process_memory_mib"]["max"] > 5
    assert t.get_combined_metrics().columns[-1] == "process_gpu_utilized"
    assert "Finished" in t.report()


def test_helpers(tmp_path, monkeypatch):
    first = {"a": {"mean": 1.0, "max": 2.0}, "timestamp": {"duration": 2.0}}
    second = {"a": {"mean": 3.0, "max": 1.0}, "b": {"sum": 7}, "timestamp": {"duration": 4.0}}
    assert helpers.aggregate_stats([first, second]) == {"a": {"mean": 2.0, "max": 2.0}, "timestamp": {"duration": 3.0}, "b": {"sum": 7}}
    with pytest.raises(ValueError):
        helpers.aggregate_stats([{"a": {"median": 1}}])
    assert helpers.render_csv_row(["a", 1, 2.5]) == b'"a",1,2.5\n'
    (tmp_path / "x").write_text("")
    helpers.cleanup_files([str(tmp_path / "x"), str(tmp_path / "y")])
    assert not (tmp_path / "x").exists()
    for name, expected in (("sda1", True), ("nvme9n9p1", True), ("nvme9n9", False), ("sdzz", False), ("mmcblk9p2", True)):
        assert helpers.is_partition(name) is expected, name
    assert helpers.is_procfs_available()
    of_process, of_system = helpers.get_tracker_implementation()
    assert of_process(os.getpid(), children=False)["pid"] == os.getpid() and of_system()["processes"] > 0
    monkeypatch.setattr(helpers, "is_procfs_available", lambda: False)
    with pytest.raises(ImportError):
        helpers.get_tracker_implementation()
    assert isinstance(helpers.get_zfs_pools_space(), dict)
    process = multiprocessing.get_context("fork").Process(target=time.sleep, args=(30,))
    process.start()
    helpers.cleanup_processes([process])
    assert not process.is_alive()


def test_tiny_data_frame(tmp_path, monkeypatch):
    frame = TinyDataFrame([{"a": 1, "b": "x"}, {"a": 2, "b": "y"}, {"a": 3, "b": "z"}])
    assert frame.columns == ["a", "b"] and len(frame) == 3 and frame["a"] == [1, 2, 3] and frame[0] == {"a": 1, "b": "x"}
    assert frame[["b"]].columns == ["b"] and len(frame[1:3]) == 2 and [row["a"] for row in frame] == [1, 2, 3]
    assert frame.head(1).to_dict() == [{"a": 1, "b": "x"}] and frame.tail(1)["a"] == [3]
    frame["c"] = [7, 8, 9]
    assert frame.rename({"c": "d"}) is frame and frame.columns == ["a", "b", "d"]
    assert frame.to_csv() == '"a","b","d"\r\n1,"x",7\r\n2,"y",8\r\n3,"z",9\r\n'
    assert frame.to_csv(quote_strings=False).startswith("a,b,d\r\n")
    for error, action in ((KeyError, lambda: frame["q"]), (TypeError, lambda: frame[1.5]), (KeyError, lambda: frame.rename({"q": "r"})),
                          (ValueError, lambda: frame.__setitem__("e", [1])), (AssertionError, TinyDataFrame),
                          (AssertionError, lambda: TinyDataFrame([], "x")), (ValueError, lambda: TinyDataFrame({"a": [1], "b": []}))):
        with pytest.raises(error):
            action()
    slept = []
    monkeypatch.setattr(tiny_data_frame, "sleep", slept.append)
    with pytest.raises(RuntimeError):
        TinyDataFrame(csv_file_path=str(tmp_path / "none"), retries=2, retry_delay=3)
    assert slept == [3, 3]
    frame.to_csv(str(tmp_path / "a.csv"))
    assert TinyDataFrame(csv_file_path=str(tmp_path / "a.csv"))["a"] == [1, 2, 3]
    assert "0 rows" in repr(TinyDataFrame([])) and str(TinyDataFrame([])) == "Empty dataframe"
    (tmp_path / "b.csv").write_text("a,b\n1,2,3\n")  # a field without a name
    with pytest.raises(RuntimeError, match="Failed to read CSV file after 1 tries"):
        TinyDataFrame(csv_file_path=str(tmp_path / "b.csv"))
    long = str(TinyDataFrame({"n": list(range(100, 111))}))
    assert "109" in long and "110" not in long and long.endswith("...") and len(long.splitlines()) == 14


def test_frame_from_a_server(serve):
    server = serve(lambda path: (200, b"a,b\r\n1,x\r\n"))
    assert TinyDataFrame(csv_file_path=server.url + "/rows.csv").to_dict() == [{"a": 1, "b": "x"}]


def test_tiny_bars():
    from tacho.resource_tracker.tiny_bars import _filter_pretty_number, _resolve_var, render_template
    assert render_template("a {{ x }} {{y.z}} {{ n | pretty_number }}", {"x": 1, "y": {"z": "q"}, "n": 1234.5}) == "a 1 q 1,234"
    both = "{{#if a}}yes{{#else}}no{{/if}}{{#each l as one}}[{{one}}{{#if one.b}}!{{/if}}]{{/each}}"
    assert render_template(both, {"a": 0, "l": [1, 2]}) == "no[1][2]" and render_template(both, {"a": "x"}) == "yes"
    assert render_template("{{#each l as p}}{{ p.name }};{{/each}}", {"l": [{"name": "<a>"}, StatSpec("c", max)._replace(column="d")]}) == "&lt;a&gt;;;"
    assert render_template("{{ t }} {{{ t }}}", {"t": "<b>"}) == "&lt;b&gt; <b>" and render_template("{{ none }}", {}) == ""
    assert [_filter_pretty_number(one) for one in (1000000, 7.0004, 1.6, -1234.6, "x", None)] == ["1,000,000", "7", "2", "-1,235", "x", "None"]
    assert [_filter_pretty_number(one, digits=2) for one in (12.28912, 1.5, 100, 12.00012)] == ["12.29", "1.5", "100", "12"]
    assert _resolve_var("l | index:1", {"l": [5, 6]}) == 6
    assert _resolve_var("a.1.b | divide:4 | round:1", {"a": [0, {"b": 9}]}) == 2.2
    assert _resolve_var("m | round_memory", {"m": 200}) == 256 and _resolve_var("m | round", {"m": 2.6}) == 3
    with pytest.raises(KeyError):
        _resolve_var("a.c", {"a": {"b": 1}})
    for bad in ("{{#if a}}", "{{/if}}", "{{ a | shout }}"):
        with pytest.raises(ValueError):
            render_template(bad, {"a": 1})


def test_workloads(python):
    """In a process of its own: what multiprocessing keeps for the next time would stay our child."""
    python("""
        from tacho.resource_tracker.dummy_workloads import cpu_multi, cpu_single
        if __name__ == "__main__":
            cpu_single(0.02)
            cpu_multi(0.02, 2)
    """)


def test_infos():
    assert set(rt.get_server_info()) == {"os", "vcpus", "memory_mib", "gpu_count", "gpu_names", "gpu_name", "gpu_memory_mib"}
    assert set(rt.get_cloud_info()) == {"vendor", "instance_type", "region", "discovery_time"}


def test_method_is_kept():
    assert ResourceTracker(method="spawn").method == "spawn"
    with pytest.raises(ValueError):
        ResourceTracker(method="thread")
    for bad in (0, -1, float("nan"), "1", True):
        with pytest.raises(ValueError):
            ResourceTracker(interval=bad)
