"""How fast the readers of `tacho-katib collect` are, beside Katib's own file collector (where `scripts/interop katib` has built it)
and TensorBoard's reader of event files (from PyPI). Run by bench.py. CPU time, so that other work on the machine matters less."""
import json
import os
import statistics
import subprocess
import tempfile

import katib_tensorflow

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GOALS = {"text_rare": "≥ 1000", "text_all": "≥ 200", "json": "", "tfevent": "≥ 500"}
TITLES = {"text_rare": "TEXT, a metric in one line of a thousand", "text_all": "TEXT, every line matches", "json": "JSON, every line matches",
          "tfevent": "event files, one tag of ten"}
TENSORBOARD = """
import json, resource, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0, "tensors": 0})
events.Reload()
rows = [str(event.value) for event in events.Scalars("loss")]
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"rows": len(rows), "cpu_s": used.ru_utime + used.ru_stime, "peak_kib": used.ru_maxrss}))
"""


def read(bench, kind, path, metrics):
    done = subprocess.run([bench.program("bench_katib"), "read", kind, path, metrics], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def go_collector(path, metrics):
    """CPU seconds and memory of Katib's collector over a finished log, in a pod made of a PID namespace. There is no DB manager to be
    found, so that it ends when it has parsed. None where it is not installed or namespaces are not allowed."""
    program = os.path.join(ROOT, "build", "interop", "bin", "file-metricscollector")
    if not os.path.exists(program) or os.geteuid() != 0:
        return None
    pause = subprocess.Popen(["unshare", "-pf", "--mount-proc", "sh", "-c", "echo; exec sleep 600"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    pause.stdout.readline()
    child = subprocess.run(["pgrep", "-P", str(pause.pid)], stdout=subprocess.PIPE, text=True, check=True).stdout.split()[0]
    enter = ["nsenter", "-t", child, "-p", "-m"]
    folder = os.path.dirname(path)
    trainer = subprocess.Popen([*enter, "sh", "-c", f"sleep 2; echo completed > {folder}/$$.pid"])
    try:
        collector = subprocess.Popen([*enter, program, "-t", "bench", "-m", metrics, "-o-type", "minimize", "-s-db", "127.0.0.1:1", "-path", path,
                                      "-format", "TEXT", "-w", "false"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        used = os.wait4(collector.pid, 0)[2]  # nsenter waits for it, so that its usage is in there
        collector.returncode = 0
    finally:
        subprocess.run(["kill", "-9", child], check=False)
        trainer.wait()
        pause.wait()
    return {"cpu_s": used.ru_utime + used.ru_stime, "peak_kib": used.ru_maxrss}


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
            small = make(kind, 8 if kind == "tfevent" else 64)  # what a peer can read in reasonable time and memory
            size = os.path.getsize(small)
            peer, name = (tensorboard(bench, small), "TensorBoard") if kind == "tfevent" else \
                (go_collector(small, metrics), "Katib's collector") if kind.startswith("text") else (None, "")
            beside = f"{name}: {size / peer['cpu_s'] / 1e6:.1f} MB/s, {peer['peak_kib'] / 1024:.0f} MiB for {size >> 20} MiB; tacho is " \
                     f"{speed / (size / peer['cpu_s'] / 1e6):.0f} × as fast" if peer else f"{name}: not installed" if name else "–"
            print(f"| {title} | {speed:.0f} | {GOALS[kind]} | {runs[0]['rows'] / cpu:.0f} | {max(run['peak_kib'] for run in runs) / 1024:.1f} | {beside} |",
                  flush=True)
            os.remove(path)
    print(flush=True)
    katib_tensorflow.table(bench)
