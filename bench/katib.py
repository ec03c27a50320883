"""How fast the readers of `tacho-katib collect` are, beside TensorBoard's reader of event files (from PyPI), and the whole program beside
Katib's own file collector (where `scripts/interop katib` has built it): like with like. Run by bench.py. CPU time, so that other work on
the machine matters less."""
import json
import os
import statistics
import subprocess
import tempfile

import katib_db
import katib_tensorflow

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GOALS = {"text_rare": "≥ 1000", "text_all": "≥ 200", "json": "", "tfevent": "≥ 500"}
TITLES = {"text_rare": "TEXT, a metric in one line of a thousand", "text_all": "TEXT, every line matches", "json": "JSON, every line matches",
          "tfevent": "event files, one tag of ten"}
TENSORBOARD = """
import json, resource, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
before = resource.getrusage(resource.RUSAGE_SELF)
events = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0, "tensors": 0})
events.Reload()
rows = [str(event.value) for event in events.Scalars("loss")]
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"rows": len(rows), "cpu_s": used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime, "peak_kib": used.ru_maxrss}))
"""


def read(bench, kind, path, metrics):
    done = subprocess.run([bench.program("bench_katib"), "read", kind, path, metrics], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


FILTERS = (("the default filter", []), ("a filter of two groups", ["-f", r"(\w+)=([-+0-9.eE]+)"]), ("the default filter, --profile tacho", ["--profile", "tacho"]))


def whole_program(words, path, metrics, address, trial, more):
    """A collector's CPU seconds and memory over a finished log, from its start to its end, every row reported; in a pod made of a PID
    namespace."""
    pause = subprocess.Popen(["unshare", "-pf", "--mount-proc", "sh", "-c", "echo; exec sleep 600"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    pause.stdout.readline()
    child = subprocess.run(["pgrep", "-P", str(pause.pid)], stdout=subprocess.PIPE, text=True, check=True).stdout.split()[0]
    enter = ["nsenter", "-t", child, "-p", "-m"]
    folder = os.path.dirname(path)
    trainer = subprocess.Popen([*enter, "sh", "-c", f"sleep 1; echo completed > {folder}/$$.pid"])
    try:
        collector = subprocess.Popen([*enter, *words, "-t", trial, "-m", metrics, "-o-type", "minimize", "-s-db", address, "-path", path,
                                      "-format", "TEXT", "-w", "false", *more], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(collector.pid, 0)  # nsenter waits for it, so that its usage is in there
        collector.returncode = os.waitstatus_to_exitcode(status)
    finally:
        subprocess.run(["kill", "-9", child], check=False)
        trainer.wait()
        pause.wait()
        for name in os.listdir(folder):
            if name != os.path.basename(path):
                os.remove(os.path.join(folder, name))
    if collector.returncode != 0:
        raise RuntimeError(f"{words[0]} ended with {collector.returncode}")
    return {"cpu_s": used.ru_utime + used.ru_stime, "peak_kib": used.ru_maxrss}


def whole_programs(bench, make):
    """Both collectors, the same log, the same DB manager."""
    mib = 64 if bench.quick else 192
    print(f"## Collectors as whole programs: {mib} MiB of TEXT in which every line matches, reported to `tacho-katib db`, median of 3\n")
    print("| | MB/s of CPU time | goal | memory, MiB | Katib's file collector (64 MiB) | |\n|---|---|---|---|---|---|")
    if os.geteuid() != 0:
        return print("| not available: PID namespaces need root | | | | | |\n", flush=True)
    metrics, theirs = "loss;accuracy", os.path.join(ROOT, "build", "interop", "bin", "file-metricscollector")
    for number, (title, more) in enumerate(FILTERS):
        store = os.path.join(bench.folder, f"whole{number}.db")
        manager, address = katib_db.serve(bench, "--store", store)
        try:
            path = make("text_all", mib)
            ours = [os.path.abspath(bench.program("tacho-katib")), "collect"]
            runs = [whole_program(ours, path, metrics, address, f"tacho{i}", ["--echo=false", *more]) for i in range(3)]
            cpu, size = statistics.median(run["cpu_s"] for run in runs), os.path.getsize(path)
            os.remove(path)
            beside, times = "not installed", ""
            if "--profile" in more:
                beside = "–"
            elif os.path.exists(theirs):
                small = make("text_all", 64)
                peer = whole_program([theirs], small, metrics, address, "katib", more)
                speed = os.path.getsize(small) / peer["cpu_s"] / 1e6
                beside, times = f"{speed:.1f} MB/s, {peer['peak_kib'] / 1024:.0f} MiB", f"tacho is {size / cpu / 1e6 / speed:.0f} × as fast"
            print(f"| {title} | {size / cpu / 1e6:.0f} | {'≥ 200' if '--profile' not in more else ''} | {max(run['peak_kib'] for run in runs) / 1024:.1f} | {beside} | {times} |",
                  flush=True)
        finally:
            manager.terminate()
            manager.wait()
            for name in os.listdir(bench.folder):
                if name.startswith(f"whole{number}.db"):
                    os.remove(os.path.join(bench.folder, name))
    print(flush=True)


def tensorboard(bench, path):
    """None where TensorBoard cannot be installed."""
    python = os.path.join(bench.venv, "bin", "python")
    subprocess.run(["python3", "-m", "venv", bench.venv], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    subprocess.run([python, "-m", "pip", "install", "-q", "tensorboard"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    done = subprocess.run([python, "-c", TENSORBOARD, path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def table(bench):
    mib = 64 if bench.quick else 512
    metrics = "loss;accuracy"
    with tempfile.TemporaryDirectory(prefix="tacho-bench-") as folder:
        def make(kind, size):
            os.makedirs(os.path.join(folder, f"{kind}{size}"), exist_ok=True)
            path = os.path.join(folder, f"{kind}{size}", "events.tfevents.1" if kind == "tfevent" else "metrics.log")
            subprocess.run([bench.program("bench_katib"), "make", kind, path, str(size)], check=True)
            return path

        print(f"## Readers of the metrics collector, MB a second of CPU time, files of {mib} MiB, median of 5\n")
        print("| | MB/s | goal | rows/s | memory, MiB | peer |\n|---|---|---|---|---|---|")
        for kind, title in TITLES.items():
            path = make(kind, mib)
            wanted = "loss" if kind == "tfevent" else metrics
            runs = [read(bench, kind, path, wanted) for _ in range(5)]
            cpu = statistics.median(run["cpu_s"] for run in runs)
            speed = runs[0]["bytes"] / cpu / 1e6
            small = make(kind, 8)  # what a peer can read in reasonable time and memory
            size = os.path.getsize(small)
            peer, name = (tensorboard(bench, small), "TensorBoard's reader") if kind == "tfevent" else (None, "")
            beside = f"{name}: {size / peer['cpu_s'] / 1e6:.1f} MB/s, {peer['peak_kib'] / 1024:.0f} MiB for {size >> 20} MiB; tacho is " \
                     f"{speed / (size / peer['cpu_s'] / 1e6):.0f} × as fast" if peer else f"{name}: not installed" if name else "–"
            print(f"| {title} | {speed:.0f} | {GOALS[kind]} | {runs[0]['rows'] / cpu:.0f} | {max(run['peak_kib'] for run in runs) / 1024:.1f} | {beside} |",
                  flush=True)
            os.remove(path)
        print(flush=True)
        whole_programs(bench, make)
    katib_tensorflow.table(bench)
