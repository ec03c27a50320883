"""Katib's TensorFlow-based collector and `tacho-katib collect` as whole programs, side by side: the same event file, the same DB manager,
each in a pod made of a PID namespace. CPU time of the whole life, and of what came after the start. Run by katib.py."""
import contextlib
import json
import os
import re
import subprocess
import sys
import time

import katib_db

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "interop"))


def interop():
    """The modules of the interop scripts, which would take our arguments for their folders."""
    words, sys.argv = sys.argv, sys.argv[:1]
    import common
    import katib_parts
    import tensorflow_collector
    sys.argv = words
    return common, katib_parts, tensorflow_collector


def collector_in(process):
    """nsenter stays outside; its child is the collector."""
    with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
        return (file.read().split() or [None])[0]


def cpu_s(pid):
    """By the scheduler's own count of each thread, since a tick is more than tacho needs to start; by ticks where threads have ended."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    exact_ns = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as file:
            exact_ns += int(file.read().split()[0])
    return max((int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), exact_ns / 1e9)


def started(common, process):
    """CPU time when it has nothing to do but to wait for the trainer."""
    pid = common.until(lambda: collector_in(process), 60, "the collector")
    used, end = -1.0, time.monotonic() + 180
    while time.monotonic() < end:
        now = cpu_s(pid)
        if now - used < 0.05:
            return pid, now
        used = now
        time.sleep(2)
    raise TimeoutError("the collector was not ready in three minutes")


def life(common, parts, name, made, start):
    """One trial: the event file appears when the collector is idle, and training ends with it."""
    with parts.Pod(f"bench-{name}") as pod:
        events = os.path.join(pod.folder, "events")
        os.mkdir(events)
        trainer = pod.enter("sh", "-c", f"while [ ! -e {pod.folder}/go ]; do sleep 0.1; done; cp {made} {events}/events.out.tfevents.1.host "
                            f"&& echo completed > {events}/$$.pid", log="trainer.log")
        process = start(pod, events)
        pid, start_s = started(common, process)
        (pod.folder / "go").touch()
        peak_kib, ended = 0, 0
        while ended == 0:
            ended, status, used = os.wait4(process.pid, os.WNOHANG)
            try:
                with open(f"/proc/{pid}/status", encoding="ascii") as file:
                    peak_kib = max(peak_kib, int((re.search(r"VmHWM:\s+(\d+)", file.read()) or [0, 0])[1]))
            except OSError:
                pass
            time.sleep(0.01)
        process.returncode = os.waitstatus_to_exitcode(status)
        trainer.wait(60)
        if process.returncode != 0:
            raise RuntimeError(f"the collector {name} ended with {process.returncode}; see {pod.folder}")
    return {"cpu_s": used.ru_utime + used.ru_stime, "start_s": start_s, "peak_kib": peak_kib}


def measure(bench, made):
    common, parts, tensorflow_collector = interop()
    theirs = tensorflow_collector.TensorFlowCollector()
    store = os.path.join(bench.folder, "tensorflow.db")
    manager, address = katib_db.serve(bench, "--store", store)

    def flags(trial, events):
        return ["-t", trial, "-m", "loss", "-o-type", "minimize", "-s-db", address, "-path", events]

    def rows(trial):
        done = subprocess.run([bench.program("tacho-katib"), "log", trial, "--server", address, "--json"], stdout=subprocess.PIPE, check=True)
        return len(json.loads(done.stdout))

    try:
        runs = [life(common, parts, f"tacho{i}", made, lambda pod, events, trial=f"tacho{i}": pod.enter(
            os.path.abspath(bench.program("tacho-katib")), "collect", *flags(trial, events), log="collector.log")) for i in range(3)]
        ours = sorted(runs, key=lambda run: run["cpu_s"])[1]
        other = life(common, parts, "tensorflow", made, lambda pod, events: theirs.start(pod, *flags("tensorflow", events)))
        ours["rows"], other["rows"] = rows("tacho1"), rows("tensorflow")
        return theirs.versions, ours, other
    finally:
        manager.terminate()
        manager.wait()


def table(bench):
    mib = 8 if bench.quick else 64
    made = os.path.join(bench.folder, "made.tfevents")
    subprocess.run([bench.program("bench_katib"), "make", "tfevent", made, str(mib)], check=True)
    print(f"## Collectors as whole programs: {mib} MiB of events, one tag of ten, reported to `tacho-katib db`\n")
    print("| | CPU time, s | of it to start | the rest | rows | memory, MiB |\n|---|---|---|---|---|---|")
    try:
        if os.geteuid() != 0:
            raise PermissionError("PID namespaces need root")
        with contextlib.redirect_stdout(sys.stderr):  # what is being installed is not part of the table
            versions, ours, theirs = measure(bench, made)
    except Exception as error:  # noqa: BLE001: the rest of the bench goes on
        print(f"| Katib's tfevent collector | not available: {' '.join(str(error).split())[:200] or repr(error)} | | | | |\n", flush=True)
        return
    for name, run in ((f"tfevent-metricscollector ({versions})", theirs), ("tacho-katib collect", ours)):
        print(f"| {name} | {run['cpu_s']:.3f} | {run['start_s']:.3f} | {run['cpu_s'] - run['start_s']:.3f} | {run['rows']} | {run['peak_kib'] / 1024:.1f} |")
    rest = (theirs["cpu_s"] - theirs["start_s"]) / (ours["cpu_s"] - ours["start_s"])
    print(f"| tacho is (goal: ≥ 100 ×) | {theirs['cpu_s'] / ours['cpu_s']:.0f} × | | {rest:.0f} × | | |\n", flush=True)
