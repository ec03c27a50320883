"""The sampler with and without delivery, taking turns: how far ticks are off, and its memory, while the server accepts connections
and never answers. Beside a job that sleeps, and beside one that keeps the disk busy. A batch is sealed every second."""
import os
import re
import socket
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "e2e"))
from service import Service  # noqa: E402

INTERVAL_S = 0.05
SLEEPS = "import time; time.sleep({seconds})"
WRITES = """
import os, time
end, file = time.time() + {seconds}, os.open({path!r}, os.O_CREAT | os.O_WRONLY)
while time.time() < end:
    os.pwrite(file, os.urandom(1 << 20), 0)
    os.fsync(file)
"""


def off_ms(rows):
    times = [float(line.split(",", 1)[0]) for line in open(rows, encoding="utf-8").read().splitlines()[1:]]
    between = [later - before for before, later in zip(times[:-2], times[1:-1])]  # the last row is the rest of a tick
    return [abs(each - INTERVAL_S) * 1000 for each in between]


def deliverer_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
        children = file.read().split()
    return next((int(child) for child in children if os.readlink(f"/proc/{child}/exe").endswith("/tacho-deliver")), None)


def run(bench, job, port, number):
    rows = os.path.join(bench.folder, f"delivery{number}.csv")
    seconds = 6 if bench.quick else 30
    env = {**bench.env, "TACHO_SPOOL_DIR": os.path.join(bench.folder, "spool"), "TACHO_FINISH_TIMEOUT": "0"}
    if port:
        env |= {"SENTINEL_API_TOKEN": "token", "SENTINEL_API_URL": f"http://127.0.0.1:{port}", "TACHO_NO_CLOUD": "1"}
    code = job.format(seconds=seconds, path=os.path.join(bench.folder, "hammered"))
    process = subprocess.Popen([bench.program("tacho"), "run", "-q", "--no-store", "-i", str(INTERVAL_S), "--upload-interval", "1", "-o", rows,
                                "--", sys.executable, "-c", code], env=env, stderr=subprocess.DEVNULL)
    time.sleep(seconds - 2)
    deliverer = deliverer_of(process.pid) if port else None
    seen = {"sampler": bench.status_kib(process.pid, "VmHWM"), "deliverer": deliverer and bench.status_kib(deliverer, "VmHWM")}
    with open(f"/proc/{process.pid}/maps", encoding="utf-8") as file:
        seen["network"] = len(re.findall(r"lib(?:curl|ssl|nss_dns|resolv)[.-]", file.read()))
    process.wait()
    return off_ms(rows), seen


def wake_ups(pid):
    """How often a process began to run again, by its own will or not."""
    count = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status", encoding="utf-8") as file:
            count += sum(int(line.split()[1]) for line in file if "ctxt_switches" in line)
    return count


def wake_ups_between_batches(bench):
    """Of tacho-deliver, beside a service that answers: (count, seconds), begun well after the start and ended before the first batch."""
    service, seconds = Service(), 10 if bench.quick else 40
    env = {**bench.env, **service.environment(), "TACHO_STORE": os.path.join(bench.folder, "asleep")}
    process = subprocess.Popen([bench.program("tacho"), "run", "-q", "-i", "1", "--", "sleep", str(seconds + 8)], env=env)
    time.sleep(5)
    deliverer = deliverer_of(process.pid)
    before = wake_ups(deliverer)
    time.sleep(seconds)
    count = wake_ups(deliverer) - before
    process.wait()
    service.close()
    return count, seconds


def table(bench):
    silent = socket.create_server(("127.0.0.1", 0), backlog=64)
    port, number = silent.getsockname()[1], 0
    print("## Delivery: the sampler beside a server that never answers; ticks of 50 ms, a batch a second\n\n"
          "| | without delivery | with it |\n|---|---|---|")
    seen = {}
    for name, job in (("sleeps", SLEEPS), ("keeps the disk busy", WRITES)):
        off = {0: [], port: []}
        for _ in range(bench.rounds):
            for where, values in off.items():
                number += 1
                late, seen[where] = run(bench, job, where, number)
                values += late
        for part, of in (("median", 50), ("99th percentile", 99)):
            without, beside = (statistics.quantiles(off[where], n=100)[of - 1] for where in (0, port))
            print(f"| tick off by, job {name}, {part}, ms | {without:.1f} | {beside:.1f} |", flush=True)
    print(f"| memory of the sampler at its highest, MiB | {seen[0]['sampler'] / 1024:.2f} | {seen[port]['sampler'] / 1024:.2f} |")
    print(f"| network libraries mapped | {seen[0]['network']} | {seen[port]['network']} |")
    print(f"| memory of tacho-deliver at its highest, MiB (goal < 16) | – | {seen[port]['deliverer'] / 1024:.1f} |")
    count, seconds = wake_ups_between_batches(bench)
    print(f"| wake-ups of tacho-deliver in {seconds} s between two batches, ticks of 1 s | – | {count} |\n", flush=True)
    silent.close()
