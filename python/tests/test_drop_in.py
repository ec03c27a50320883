"""tacho.resource_tracker: names, frames and results, and the faults of the original that must not come back."""
import gzip
import io
import json
import logging
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

import tacho.resource_tracker as rt
from tacho.resource_tracker import ResourceTracker, helpers, keeper, s3_upload, sentinel_api, streaming, tiny_data_frame, tracker
from tacho.resource_tracker.report import Report, recommend, round_memory
from tacho.resource_tracker.tiny_data_frame import StatSpec, TinyDataFrame

PROCESS = ("timestamp pid children utime stime cpu_usage memory_mib disk_read_bytes disk_write_bytes gpu_usage "
           "gpu_vram_mib gpu_utilized").split()
SYSTEM = ("timestamp processes utime stime cpu_usage memory_free_mib memory_used_mib memory_buffers_mib "
          "memory_cached_mib memory_active_mib memory_inactive_mib disk_read_bytes disk_write_bytes disk_space_total_gb "
          "disk_space_used_gb disk_space_free_gb net_recv_bytes net_sent_bytes gpu_usage gpu_vram_mib "
          "gpu_utilized").split()


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    monkeypatch.setenv("TACHO_KEEPER_URL", "http://127.0.0.1:9")


@pytest.fixture
def measured():
    with ResourceTracker(interval=0.05) as t:
        t.wait_for_samples(2)
    return t


class Server:
    """Answers with what it is given, and remembers what it was asked."""

    def __init__(self, answer):
        asked = self.asked = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                size = int(self.headers.get("Content-Length") or 0)
                asked.append((self.command, self.path, self.rfile.read(size), dict(self.headers)))
                status, body = answer(self.path)
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            do_POST = do_PUT = do_GET

            def log_message(self, *words):
                pass
        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def serve():
    servers = []

    def start(answer):
        servers.append(Server(answer))
        return servers[-1]
    yield start
    for one in servers:
        one.server.shutdown()
        one.server.server_close()


def test_names():
    assert rt.__all__ == ["ProcessTracker", "SystemTracker", "ResourceTracker", "get_cloud_info", "get_server_info"]
    handlers = logging.getLogger("resource_tracker").handlers
    assert any(isinstance(handler, logging.NullHandler) for handler in handlers)
    from tacho.resource_tracker import _version
    assert _version.__version__ == "0.5.0" and _version.tacho_version


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
    assert t.stats()["process_memory_mib"]["max"] > 5
    assert t.get_combined_metrics().columns[-1] == "process_gpu_utilized"
    assert "Finished" in t.report()


def test_helpers(tmp_path):
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
    assert helpers.is_procfs_available() and helpers.get_tracker_implementation() == "procfs"
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
    assert "0 rows" in repr(TinyDataFrame([])) and str(TinyDataFrame([]))


def test_keeper(serve, monkeypatch):
    prices = [{"allocation": "ondemand", "region_id": "r", "operating_system": "Linux", "price": 0.5},
              {"allocation": "spot", "region_id": "r", "operating_system": "linux", "price": 0.1}]
    server = serve(lambda path: (200, prices if "prices" in path else [{"server_id": "small"}]))
    monkeypatch.setenv("TACHO_KEEPER_URL", server.url)
    assert keeper.get_instance_price("aws", "r", "t3.micro") == 0.5
    assert keeper.get_instance_price("aws", "other", "t3.micro") is None
    found = keeper.get_recommended_cloud_servers(2, 2560, gpu=1, vram=300, n=3, vendor=["aws", "gcp"])
    assert found == [{"server_id": "small"}]
    query = server.asked[-1][1]
    for part in ("vcpus_min=2", "memory_min=2.5", "gpu_min=1", "gpu_memory_total=0.3", "limit=3", "order_by=min_price_ondemand",
                 "order_dir=asc", "vendor=aws&vendor=gcp"):
        assert part in query, query
    monkeypatch.setenv("TACHO_KEEPER_URL", "http://127.0.0.1:9")
    assert keeper.keeper_request("/healthcheck") is None


def test_signature():
    """The example of AWS's own documentation."""
    key = s3_upload._derive_signing_key("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "20120215", "us-east-1", "iam")
    assert key.hex() == "f4780e2d9f65fa895f9c67b32ce1baf0b0d8a43505a000a1a9e090d414db404d"
    assert s3_upload._parse_s3_uri("s3://b/a/c") == ("b", "a/c")
    for bad in ("http://b/a", "s3://b", "s3:///a"):
        with pytest.raises(ValueError):
            s3_upload._parse_s3_uri(bad)


def test_put(serve, monkeypatch, tmp_path):
    server = serve(lambda path: (200, {}))
    monkeypatch.setenv("TACHO_S3_ENDPOINT", server.url)
    keys = {"access_key": "AK", "secret_key": "SK", "session_token": "T", "region": "eu-west-1"}
    s3_upload.put_bytes_with_sts(s3_uri="s3://bucket/a b/0001.csv.gz", body=b"x", **keys)
    (tmp_path / "f").write_bytes(b"y")
    s3_upload.put_object_with_sts(s3_uri="s3://bucket/k", file_path=str(tmp_path / "f"), **keys)
    method, path, body, headers = server.asked[0]
    assert (method, path, body) == ("PUT", "/bucket/a%20b/0001.csv.gz", b"x")
    assert "Credential=AK/" in headers["Authorization"] and "eu-west-1/s3/aws4_request" in headers["Authorization"]
    assert server.asked[1][2] == b"y"


def sentinel(path):
    if path.endswith("/runs"):
        return 201, {"run_id": "r1", "upload_uri_prefix": "s3://b/p/",
                     "upload_credentials": {"access_key": "a", "secret_key": "s", "session_token": "t", "region": "x",
                                            "expires_at": "2099-01-01T00:00:00Z"}}
    return 200, {"ok": True}


def test_sentinel_calls(serve, monkeypatch):
    server = serve(sentinel)
    monkeypatch.setenv("SENTINEL_API_URL", server.url + "/base/")
    sentinel_api.register_run("tok", {"job_name": "j", "tags": {"a": "b"}}, host_info={"host_vcpus": 2}, cloud_info={"x": None})
    method, path, body, headers = server.asked[0]
    assert (method, path) == ("POST", "/base/runs") and headers["Authorization"] == "Bearer tok"
    assert json.loads(body) == {"job_name": "j", "tags": {"a": "b"}, "host_vcpus": 2}
    for status in ("failed", sentinel_api.RunStatus.failed):
        sentinel_api.finish_run("tok", "r 1", exit_code=3, run_status=status, data_source="inline", data_csv="a\n")
        assert server.asked[-1][1] == "/base/runs/r%201/finish"
        assert json.loads(server.asked[-1][2]) == {"data_source": "inline", "run_status": "failed", "exit_code": 3, "data_csv": "a\n"}
    with pytest.raises(ValueError):
        sentinel_api.finish_run("tok", "r1")
    refused = serve(lambda path: (422, {"detail": []}))
    monkeypatch.setenv("SENTINEL_API_URL", refused.url)
    with pytest.raises(sentinel_api.SentinelAPIError) as error:
        sentinel_api.register_run("tok")
    assert error.value.status_code == 422 and "detail" in error.value.body


def test_streaming(serve, monkeypatch, tmp_path):
    server = serve(sentinel)
    monkeypatch.setenv("SENTINEL_API_URL", server.url)
    monkeypatch.setenv("TACHO_S3_ENDPOINT", server.url)
    rows = tmp_path / "rows.csv"
    rows.write_text("timestamp,a\r\n1,2\r\n")
    manager = streaming.StreamingManager("tok", csv_path=str(rows), upload_interval=60, metadata={"job_name": "x"})
    manager.start()
    assert manager.is_alive and manager.run_id == "r1"
    manager._upload_batch()
    with rows.open("a") as file:
        file.write("3,4\r\n")
    manager.stop(0, "finished")
    assert manager.uploaded_uris == ["s3://b/p/0001.csv.gz", "s3://b/p/0002.csv.gz"]
    puts = [gzip.decompress(body) for method, _, body, _ in server.asked if method == "PUT"]
    assert puts == [b"timestamp,a\r\n1,2\r\n", b"timestamp,a\r\n3,4\r\n"]
    assert json.loads(server.asked[-1][2])["data_uris"] == manager.uploaded_uris


def test_streamed_run(serve, monkeypatch):
    server = serve(sentinel)
    monkeypatch.setenv("SENTINEL_API_URL", server.url)
    monkeypatch.setenv("SENTINEL_API_KEY", "tok")
    metadata = {"job_name": "x"}
    with ResourceTracker(interval=0.05, streaming_metadata=metadata) as t:
        t.wait_for_samples(1)
    posts = [(path, json.loads(body)) for method, path, body, _ in server.asked]
    assert [path for path, _ in posts] == ["/runs", "/runs/r1/finish"]
    assert posts[0][1]["job_name"] == "x" and posts[0][1]["host_vcpus"] == os.cpu_count()
    assert posts[1][1]["data_source"] == "inline" and posts[1][1]["data_csv"].startswith("timestamp,system_processes,")
    assert posts[1][1]["data_csv"].count("\r\n") == t.n_samples + 1
    assert t.sentinel_result == {"ok": True} and t._streaming.run_id == "r1"


def test_tiny_bars():
    from tacho.resource_tracker.tiny_bars import _filter_pretty_number, render_template
    assert render_template("a {{ x }} {{y.z}} {{ n | pretty_number }}", {"x": 1, "y": {"z": "q"}, "n": 1234.5}) == "a 1 q 1,234.50"
    assert render_template("{{#if a}}yes{{else}}no{{/if}}{{#each l}}[{{this}}]{{/each}}", {"a": 0, "l": [1, 2]}) == "no[1][2]"
    assert _filter_pretty_number(1000000) == "1,000,000" and render_template("{{ none }}", {}) == ""


def test_workloads():
    from tacho.resource_tracker.dummy_workloads import cpu_multi, cpu_single
    cpu_single(0.02)
    cpu_multi(0.02, 2)


def test_infos():
    assert set(rt.get_server_info()) == {"os", "vcpus", "memory_mib", "gpu_count", "gpu_names", "gpu_name", "gpu_memory_mib"}
    assert set(rt.get_cloud_info()) == {"vendor", "instance_type", "region", "discovery_time"}


# The faults of the original, one test a line of the contract.

def test_fault_memory_advice():
    assert recommend({"process_memory_mib": {"max": 932.0}})["memory"] == 2048
    assert [round_memory(m) for m in (1, 128, 129, 2048, 2049, 3073)] == [128, 128, 256, 2048, 3072, 4096]
    assert recommend({"process_cpu_usage": {"mean": 2.5}})["cpu"] == 3  # half up, not to even


def test_fault_default_pid_after_fork():
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with ResourceTracker(interval=0.05, discover_cloud=False) as t:
                t.wait_for_samples(1)
            ok = t.pid == os.getpid() and t.process_metrics["pid"][0] == os.getpid()
            os.write(writing, b"y" if ok else b"n")
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as file:
        assert file.read() == b"y"
    os.waitpid(child, 0)


def test_fault_own_processes_count_as_children(measured):
    assert set(measured.process_metrics["children"]) <= {0, 1} and measured.process_metrics["children"][0] == 0
    assert all(type(count) is int for count in measured.process_metrics["children"])  # 0 is 0, not an empty text


def test_fault_no_row_in_a_short_run():
    with ResourceTracker(interval=1, discover_cloud=False) as t:
        time.sleep(0.1)
    assert t.n_samples == 1


def test_fault_wait_counts_from_start():
    with ResourceTracker(interval=0.1, discover_cloud=False) as t:
        time.sleep(0.4)
        t.wait_for_samples(t.n_samples + 1, timeout=0.4 + 5)
        with pytest.raises(RuntimeError):
            t.wait_for_samples(10_000, timeout=0.1)


def test_fault_stop_twice_and_before_start():
    t = ResourceTracker(discover_cloud=False)
    for action in (t.stop, t.snapshot):
        with pytest.raises(RuntimeError):
            action()
    t.start()
    with pytest.raises(RuntimeError, match="already running"):
        t.start()
    t.stop()
    t.stop()
    with pytest.raises(RuntimeError):
        t.start()


def test_fault_without_discovery():
    with ResourceTracker(interval=0.05, discover_server=False, discover_cloud=False) as t:
        t.wait_for_samples(1)
    assert t.server_info is None and t.cloud_info is None and t.snapshot()["server_info"] is None
    assert "Finished" in t.report()


def test_fault_allocation():
    from tacho.resource_tracker.server_info import guess_allocation
    assert guess_allocation({"system_cpu_usage": 1.0, "process_cpu_usage": 1.0}) == "dedicated"
    assert guess_allocation({"system_cpu_usage": 1.3, "process_cpu_usage": 1.0}) == "shared"
    assert guess_allocation({"system_memory_used_mib": 1600.0, "process_memory_mib": 1000.0}) == "shared"
    assert guess_allocation({"system_memory_used_mib": 1400.0, "process_memory_mib": 1000.0}) == "dedicated"
    assert guess_allocation({}) is None


@pytest.mark.parametrize("without", ["track_processes", "track_system"])
def test_fault_one_half_only(without):
    with ResourceTracker(interval=0.05, discover_cloud=False, **{without: False}) as t:
        t.wait_for_samples(1)
    assert t.n_samples >= 1 and t.stats()
    copy = ResourceTracker.from_snapshot(t.snapshot())
    assert copy.n_samples == t.n_samples
    assert len(t.process_metrics if without == "track_processes" else t.system_metrics) == 0
    t.report()


def test_fault_recommend_server(measured, serve, monkeypatch, caplog):
    assert measured.recommend_server(vendor_id="aws") == {} and caplog.records
    server = serve(lambda path: (200, [{"server_id": "s", "min_price_ondemand": 0.1}]))
    monkeypatch.setenv("TACHO_KEEPER_URL", server.url)
    assert measured.recommend_server(vendor_id="aws", historical_stats=[])["server_id"] == "s"
    assert "vendor_id=aws" in server.asked[-1][1] and "historical" not in server.asked[-1][1]
    assert "&memory_min=0." in server.asked[-1][1]
    assert "USD for this run" in measured.report()


def test_fault_status_as_text(serve, monkeypatch):
    server = serve(sentinel)
    monkeypatch.setenv("SENTINEL_API_URL", server.url)
    t = ResourceTracker(interval=0.05, sentinel_token="tok", discover_cloud=False)
    t.start()
    t.wait_for_samples(1)
    t.stop(exit_code=2, run_status="failed")
    body = json.loads(server.asked[-1][2])
    assert (body["run_status"], body["exit_code"]) == ("failed", 2)


def test_fault_start_waits_for_the_service(monkeypatch):
    release = threading.Event()
    monkeypatch.setattr(streaming, "register_run", lambda *words, **names: release.wait(20) and {"run_id": "r"})
    monkeypatch.setattr(streaming, "finish_run", lambda *words, **names: {"done": True})
    t = ResourceTracker(interval=0.05, sentinel_token="tok", discover_cloud=False)
    t.start()  # comes back
    t.wait_for_samples(1)
    release.set()
    t.stop()
    assert t.sentinel_result == {"done": True}


def test_fault_exception_in_the_block(serve, monkeypatch):
    server = serve(sentinel)
    monkeypatch.setenv("SENTINEL_API_URL", server.url)
    with pytest.raises(KeyError):
        with ResourceTracker(interval=0.05, sentinel_token="tok", discover_cloud=False):
            raise KeyError
    body = json.loads(server.asked[-1][2])
    assert (body["run_status"], body["exit_code"]) == ("failed", 1)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_fault_daemonic_workers(python, method):
    python(f"""
        import multiprocessing, os
        from tacho.resource_tracker import ResourceTracker
        def work(_):
            with ResourceTracker(interval=0.05, discover_cloud=False) as t:
                t.wait_for_samples(1)
            return t.pid == os.getpid() and t.n_samples >= 1
        if __name__ == "__main__":
            with multiprocessing.get_context("{method}").Pool(1) as pool:
                assert pool.map(work, [0]) == [True]
        """)


def test_fault_shared_lists():
    first, second = TinyDataFrame([]), TinyDataFrame([])
    first["a"] = []
    assert second.columns == []
    assert repr(first)


def test_fault_mean_by_time():
    rows = [{"timestamp": 1.0 + i, **dict.fromkeys(PROCESS[1:], 0)} for i in range(2)]
    rows[0]["cpu_usage"], rows[1]["cpu_usage"], rows[1]["timestamp"] = 4.0, 1.0, 4.0
    shot = {"metadata": {"pid": 1, "children": True, "interval": 1, "start_time": 0.0, "stop_time": 4.0, "track_system": False},
            "process_metrics": rows, "system_metrics": []}
    stats = ResourceTracker.from_snapshot(shot).stats()
    assert stats["process_cpu_usage"]["mean"] == 1.75 and stats["timestamp"]["duration"] == 4.0


def test_fault_children_of_other_threads(measured):
    from tacho.resource_tracker.tracker_procfs import get_process_stats
    started, end = threading.Event(), threading.Event()

    def work():
        child = subprocess.Popen(["sleep", "30"])
        started.set()
        end.wait()
        child.kill()
        child.wait()
    thread = threading.Thread(target=work)
    thread.start()
    started.wait()
    try:
        assert get_process_stats(os.getpid())["children"] == 1
        with ResourceTracker(interval=0.05, discover_cloud=False) as t:
            t.wait_for_samples(2)
        assert t.process_metrics["children"][1] == 1
    finally:
        end.set()
        thread.join()


def test_method_is_kept():
    assert ResourceTracker(method="spawn").method == "spawn"
    with pytest.raises(ValueError):
        ResourceTracker(method="thread")
    for bad in (0, -1, float("nan"), "1", True):
        with pytest.raises(ValueError):
            ResourceTracker(interval=bad)
