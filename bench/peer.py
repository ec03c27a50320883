"""A peer of tacho over the tree of PID, in a virtual environment: peer.py psutil|resource-tracker PID INTERVAL_S SAMPLES.

Prints the CPU time a sample as JSON, start-up left out, all processes of the peer taken together.
"""
import json
import os
import signal
import sys
import tempfile
import time


def cpu_s(pid):
    """CPU clock of any process: the clock id that clock_getcpuclockid(3) would give."""
    return time.clock_gettime(((~pid) << 3) | 2)


def with_psutil(pid, interval, samples):
    import psutil

    def sample():
        psutil.cpu_times()
        psutil.virtual_memory()
        psutil.disk_io_counters()
        psutil.net_io_counters()
        psutil.getloadavg()
        psutil.disk_usage("/")
        root = psutil.Process(pid)
        for process in [root] + root.children(recursive=True):
            try:
                with process.oneshot():
                    process.cpu_times()
                    process.memory_info()
                    process.io_counters()
            except psutil.Error:
                pass

    sample()
    before = time.process_time()
    for _ in range(samples):
        time.sleep(interval)
        sample()
    return (time.process_time() - before) / samples


def count_lines(path):
    """0 where there is no such file yet."""
    try:
        with open(path, "rb") as file:
            return file.read().count(b"\n")
    except FileNotFoundError:
        return 0


def with_resource_tracker(pid, interval, samples):
    """Its two trackers as it runs them itself: a process each, writing CSV files."""
    from resource_tracker import ProcessTracker, SystemTracker

    def start(kind, path):
        child = os.fork()
        if child == 0:
            try:
                if kind is ProcessTracker:
                    kind(pid=pid, start_time=time.time(), interval=interval, output_file=path)
                else:
                    kind(start_time=time.time(), interval=interval, output_file=path)
            finally:
                os._exit(0)
        return child

    total = 0.0
    with tempfile.TemporaryDirectory() as folder:
        trackers = [(start(kind, os.path.join(folder, kind.__name__)), os.path.join(folder, kind.__name__))
                    for kind in (ProcessTracker, SystemTracker)]
        try:
            end = time.monotonic() + 60
            while any(count_lines(path) < 3 for _, path in trackers) and time.monotonic() < end:
                time.sleep(0.02)
            before = [(cpu_s(child), count_lines(path)) for child, path in trackers]
            end = time.monotonic() + max(interval * samples, 5 * interval) * 4
            while count_lines(trackers[0][1]) - before[0][1] < samples and time.monotonic() < end:
                time.sleep(0.05)
            for (child, path), (cpu, row) in zip(trackers, before):
                total += (cpu_s(child) - cpu) / max(1, count_lines(path) - row)
        finally:
            for child, _ in trackers:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
    return total


def main():
    what, pid, interval, samples = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    function = {"psutil": with_psutil, "resource-tracker": with_resource_tracker}[what]
    print(json.dumps({"us_per_sample": function(pid, interval, samples) * 1e6}))


if __name__ == "__main__":
    main()
