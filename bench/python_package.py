"""The Python package: what importing it, an empty block, a command and a mark cost; and the drop-in beside upstream over a tree of 100
processes. The wheel is built, installed in a virtual environment of its own, and asked there."""
import json
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
IMPORT = "import time; t = time.perf_counter(); import tacho; print((time.perf_counter() - t) * 1e3)"
REST = """
import json, os, statistics, subprocess, sys, time
import tacho

def median(count, action):
    times = []
    for _ in range(count):
        begun = time.perf_counter()
        action()
        times.append((time.perf_counter() - begun) * 1e3)
    return statistics.median(times)

def block():
    with tacho.track(keep=True):
        pass

found = {"with": median(50, block)}
found["run"] = median(50, lambda: tacho.run(["true"])) - median(50, lambda: subprocess.run(["true"]))
with tacho.track() as t:
    with open(f"/proc/{t._agent.pid}/status") as file:
        status = dict(line.split(":", 1) for line in file)
    found["agent_kib"], found["agent_own_kib"] = (int(status[name].split()[0]) for name in ("VmHWM", "RssAnon"))
    marks = os.path.join(t.folder, "marks.csv")
    if not os.path.exists(marks):
        open(marks, "w").close()
    found["mark_us"] = median(1000, lambda: tacho.mark("x")) * 1e3
print(json.dumps(found))
"""
DROP_IN = """
import json, sys, time
from tacho.resource_tracker import ResourceTracker
from tacho._agent import start_ticks
pid, interval, samples = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
t = ResourceTracker(pid=pid, interval=interval, discover_cloud=False, discover_server=False)
t.start()
def cpu(pid):
    return time.clock_gettime(((~pid) << 3) | 2)
t.wait_for_samples(2, timeout=60)
agent = t._recording._agent.pid
before, rows = cpu(agent) + time.process_time(), t.n_samples
time.sleep(samples * interval)  # the user's program goes on; nobody asks before the end
rows = t.n_samples - rows
print(json.dumps({"us": (cpu(agent) + time.process_time() - before) / rows * 1e6}))
t.stop()
"""


def median_import(python, env):
    done = [subprocess.run([python, "-c", IMPORT], env=env, stdout=subprocess.PIPE, text=True, check=True).stdout for _ in range(20)]
    return statistics.median(float(text) for text in done)


def installed(bench):
    """The interpreter of a fresh environment with the wheel in it; the wheel's size; seconds from pip install to the first summary."""
    venv = os.path.join(bench.folder, "wheel-venv")
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    build = os.path.join(HERE, "..", "python", "build_wheel.py")
    wheel = subprocess.run([sys.executable, build, "--programs", bench.bin, "--out", bench.folder], stdout=subprocess.PIPE, text=True,
                           check=True).stdout.strip()
    python = os.path.join(venv, "bin", "python")
    begun = time.perf_counter()
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-index", "--disable-pip-version-check", wheel], check=True)
    subprocess.run([python, "-c", "import tacho\nwith tacho.track() as t:\n    pass\nt.run.summary()"], env=bench.env, check=True)
    return python, os.path.getsize(wheel), time.perf_counter() - begun


def table(bench):
    bench.env["TACHO_STORE"] = os.path.join(bench.folder, "python-store")
    python, size, ready_s = installed(bench)
    found = json.loads(subprocess.run([python, "-c", REST], env=bench.env, stdout=subprocess.PIPE, text=True, check=True).stdout)
    tree = bench.tree(100)
    try:
        ours = json.loads(subprocess.run([python, "-c", DROP_IN, str(tree.pid), str(bench.interval_s), str(bench.samples)], env=bench.env,
                                         stdout=subprocess.PIPE, text=True, check=True).stdout)["us"]
    finally:
        bench.end(tree)
    theirs = bench.peer("resource-tracker")(100) if "resource-tracker" in bench.install_peers()[0] else None
    print("## Python package\n\n| | measured | goal |\n|---|---|---|")
    print(f"| wheel, MB (programs as built, not stripped) | {size / 1e6:.1f} | ≤ 8 |")
    print(f"| import tacho, ms | {median_import(python, bench.env):.1f} | < 20 |")
    print(f"| with tacho.track(): pass, ms | {found['with']:.1f} | ≤ 10 |")
    print(f"| tacho.run(['true']) above subprocess.run, ms | {found['run']:.1f} | ≤ 5 |")
    print(f"| tacho.mark, µs | {found['mark_us']:.0f} | ≤ 50 |")
    print(f"| agent, MiB; of it not pages of files | {found['agent_kib'] / 1024:.1f}; {found['agent_own_kib'] / 1024:.1f} | ≤ 6 |")
    print(f"| pip install to the first summary, s | {ready_s:.1f} | < 10 |")
    print(f"| drop-in over 100 processes, CPU a sample, µs | {ours:.0f}" + (
        f"; the original {theirs:.0f}, × {theirs / ours:.0f}" if theirs else "") + " | 1/20 of the original |\n", flush=True)
