"""The faults of resource-tracker 0.5.0 that must not come back, one test a line of the contract."""
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from urllib.parse import parse_qs, urlparse

import pytest

from tacho.resource_tracker import ResourceTracker, get_cloud_info, keeper, streaming, tracker, tracker_procfs
from tacho.resource_tracker.column_maps import PROCESS_COLUMNS
from tacho.resource_tracker.report import recommend, round_memory
from tacho.resource_tracker.tiny_data_frame import TinyDataFrame

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
    assert set(measured.process_metrics["children"]) == {0}
    assert all(type(count) is int for count in measured.process_metrics["children"])  # 0 is 0, not an empty text


def test_the_search_for_the_cloud_is_not_the_jobs(monkeypatch):
    monkeypatch.delenv("TACHO_NO_CLOUD")
    for _ in range(5):
        get_cloud_info.cache_clear()
        with ResourceTracker(interval=0.01) as t:
            t.wait_for_samples(15)
        assert set(t.process_metrics["children"]) == {0}
        assert [line["name"] for line in t._recording.run().processes() if line["name"].startswith("tacho")] == []


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


def test_fault_one_half_says_nothing(caplog):
    with ResourceTracker(interval=0.05, discover_cloud=False, track_processes=False) as t:
        t.wait_for_samples(1)
    caplog.clear()
    assert t.n_samples and t.stats() and len(t.process_metrics) == 0
    assert not caplog.records


def test_fault_default_start_time():
    before = time.time()
    t = tracker.ProcessTracker(autostart=False)
    assert t.start_time >= before and tracker.SystemTracker(autostart=False).start_time >= before


def test_fault_recommend_server(measured, serve, monkeypatch, caplog):
    assert measured.recommend_server(vendor_id="aws") == {}
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    server = serve(lambda path: (200, [{"server_id": "s", "min_price_ondemand": 0.1}]))
    monkeypatch.setenv("TACHO_KEEPER_URL", server.url)
    assert measured.recommend_server(vendor_id="aws", historical_stats=[])["server_id"] == "s"
    assert "vendor_id=aws" in server.asked[-1][1] and "historical" not in server.asked[-1][1]
    assert "&memory_min=0." in server.asked[-1][1]
    assert "USD for this run" in measured.report()


def test_fault_status_as_text(ingest):
    t = ResourceTracker(interval=0.05, sentinel_token="tok", discover_cloud=False)
    t.start()
    t.wait_for_samples(1)
    t.stop(exit_code=2, run_status="failed")
    body = json.loads(ingest.asked[-1][2])
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


def test_fault_exception_in_the_block(ingest):
    with pytest.raises(KeyError):
        with ResourceTracker(interval=0.05, sentinel_token="tok", discover_cloud=False):
            raise KeyError
    body = json.loads(ingest.asked[-1][2])
    assert (body["run_status"], body["exit_code"]) == ("failed", 1)


def test_child_of_a_fork_ends_nothing(ingest):
    """Its stop() is about the parent's recording, and about the parent's run at the service."""
    with ResourceTracker(interval=0.05, sentinel_token="tok", discover_cloud=False) as t:
        t.wait_for_samples(1)
        child = os.fork()
        if child == 0:
            try:
                t.stop(exit_code=7)
            finally:
                os._exit(0 if not t.running else 1)
        assert os.waitpid(child, 0)[1] == 0
        t.wait_for_samples(t.n_samples + 2)
        assert os.path.exists(t._combined_csv_filepath)
    told = [json.loads(body) for _, path, body, _ in ingest.asked if path.endswith("/finish")]
    assert [one["exit_code"] for one in told] == [0]


def test_snapshots_leave_no_files(python, measured, tmp_path):
    (tmp_path / "shot").write_text(measured.dumps())
    (tmp_path / "tmp").mkdir()
    python(f"""
        import os
        from tacho.resource_tracker import ResourceTracker
        text = open({str(tmp_path / "shot")!r}).read()
        copies = [ResourceTracker.loads(text) for _ in range(3)]
        assert not os.listdir(os.environ["TMPDIR"])
        assert all(copy.stats() and copy.report() for copy in copies)
        del copies[0]
        assert len(os.listdir(os.environ["TMPDIR"])) == 2
        """, env={**os.environ, "TMPDIR": str(tmp_path / "tmp")})
    assert not os.listdir(tmp_path / "tmp")


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
    rows = [{"timestamp": 1.0 + i, **dict.fromkeys(PROCESS_COLUMNS[1:], 0)} for i in range(2)]
    rows[0]["cpu_usage"], rows[1]["cpu_usage"], rows[1]["timestamp"] = 4.0, 1.0, 4.0
    shot = {"metadata": {"pid": 1, "children": True, "interval": 1, "start_time": 0.0, "stop_time": 4.0, "track_system": False},
            "process_metrics": rows, "system_metrics": []}
    stats = ResourceTracker.from_snapshot(shot).stats()
    assert stats["process_cpu_usage"]["mean"] == 1.75 and stats["timestamp"]["duration"] == 4.0


def test_fault_children_of_other_threads():
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
        assert tracker_procfs.get_process_stats(os.getpid())["children"] == 1
        with ResourceTracker(interval=0.05, discover_cloud=False) as t:
            t.wait_for_samples(2)
        assert t.process_metrics["children"][1] == 1
    finally:
        end.set()
        thread.join()


@pytest.mark.parametrize("minimum, mib", [(0.1, 1), (0.5, 512), (2.5, 2560), (2.6, 2600)])
def test_fault_units_of_the_price_list(serve, monkeypatch, minimum, mib):
    server = serve(lambda path: (200, []))
    monkeypatch.setenv("TACHO_KEEPER_URL", server.url)
    keeper.get_recommended_cloud_servers(1, mib, gpu=1, vram=mib)
    query = parse_qs(urlparse(server.asked[0][1]).query)
    assert [float(query[name][0]) for name in ("memory_min", "gpu_memory_total")] == [minimum, minimum]


@pytest.mark.parametrize("variable", ["SENTINEL_API_TOKEN", "SENTINEL_API_KEY"])
def test_fault_name_of_the_token(ingest, monkeypatch, variable):
    monkeypatch.setenv(variable, " tok\n")
    with ResourceTracker(interval=0.05, discover_cloud=False):
        pass
    assert ingest.asked[0][3]["Authorization"] == "Bearer tok"


def test_fault_host_and_cloud_are_not_passed(ingest):
    with ResourceTracker(interval=0.05, sentinel_token="tok", discover_cloud=False):
        pass
    sent = json.loads(ingest.asked[0][2])
    assert sent["host_vcpus"] == os.cpu_count() and sent["host_memory_mib"] > 0


def test_fault_signal_to_the_recorder():
    """Who records ends well by SIGTERM: its rows are there, and nothing fails after."""
    with ResourceTracker(interval=0.05, discover_cloud=False) as t:
        t.wait_for_samples(1)
        agent = t._recording._agent
        os.kill(agent.pid, signal.SIGTERM)
        while agent.lives():
            time.sleep(0.01)
    with open(os.path.join(agent.folder, "run.json"), encoding="utf-8") as file:
        assert json.load(file)["state"] == "finished"
    assert t.n_samples >= 1 and t.stats()


def test_fault_names_with_blanks(tmp_path):
    program = tmp_path / "a b) R 1"
    shutil.copy2(shutil.which("sleep"), program)
    with subprocess.Popen([program, "30"]) as child:
        try:
            assert tracker_procfs.get_process_stats(os.getpid())["children"] == 1
            own = tracker_procfs.get_process_stats(child.pid)
            assert own["pid"] == child.pid and own["memory_mib"] > 0 and own["utime"] < 5
            with ResourceTracker(interval=0.05, discover_cloud=False) as t:
                t.wait_for_samples(2)
            assert t.process_metrics["children"][-1] == 1
        finally:
            child.kill()


def test_fault_loopback_is_counted():
    before = tracker_procfs.get_system_stats()
    size = 64 << 20
    with ResourceTracker(interval=0.1, discover_cloud=False) as t:
        with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as sender:
            receiver, _ = server.accept()
            with receiver:
                reading = threading.Thread(target=lambda: [None for _ in iter(lambda: receiver.recv(1 << 20), b"")])
                reading.start()
                sender.sendall(bytes(size))
                sender.shutdown(socket.SHUT_WR)
                reading.join()
    after = tracker_procfs.get_system_stats()
    assert after["net_recv_bytes"] - before["net_recv_bytes"] < size / 2
    assert sum(value or 0 for value in t.system_metrics["net_recv_bytes"]) < size / 2


def test_fault_units_and_places_of_disks(monkeypatch):
    """The kernel counts 512 bytes whatever the disk's own unit is; each file system counts once, /proc and its like never."""
    stats = "   8 0 sda 1 0 100 0 1 0 50 0 0 0 0\n   8 1 sda1 1 0 99 0 1 0 9 0 0 0 0\n   7 0 loop0 1 0 9 0 0 0 0 0 0 0 0\n"
    mounts = ("1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 8:1 /x /bind rw - ext4 /dev/sda1 rw\n3 1 0:4 / /proc rw - proc proc rw\n"
              "4 1 0:5 / /nfs rw - nfs4 host:/x rw\n")
    texts = {"/proc/diskstats": stats, "/proc/self/mountinfo": mounts}
    real = tracker_procfs._read
    monkeypatch.setattr(tracker_procfs, "_read", lambda path: texts[path] if path in texts else real(path))
    monkeypatch.setattr(tracker_procfs.os.path, "isdir", lambda path: path == "/sys/block/sda")
    monkeypatch.setattr(tracker_procfs.os, "listdir", lambda path: [])
    assert tracker_procfs._disks() == {"sda": {"read_bytes": 100 * 512, "write_bytes": 50 * 512}}
    assert list(tracker_procfs._spaces()) == ["/"]


def test_fault_a_program_a_sample(monkeypatch):
    """No sample starts a process."""
    def start(*words, **names):
        raise AssertionError(words)
    monkeypatch.setattr(subprocess, "Popen", start)
    tracker_procfs.get_system_stats()
    tracker_procfs.get_process_stats(os.getpid())


def test_fault_instance_of_hetzner(serve, monkeypatch):
    """What identifies the machine is not what kind of machine it is."""
    server = serve(lambda path: (200, b"availability-zone: fsn1-dc14\nhostname: x\ninstance-id: 4711\nregion: eu-central\n"))
    for name, value in (("TACHO_CLOUD_PROBE", "hcloud"), ("TACHO_IMDS_HCLOUD_URL", server.url), ("XDG_RUNTIME_DIR", "/nonexistent")):
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("TACHO_NO_CLOUD")
    get_cloud_info.cache_clear()
    try:
        found = get_cloud_info()
    finally:
        get_cloud_info.cache_clear()
    if found["vendor"] == "unknown":
        pytest.skip("tacho-deliver, which asks clouds, is not beside tacho")
    assert found["vendor"] == "hcloud" and found["instance_type"] == "unknown" and "4711" not in json.dumps(found)
