"""The task monitor beside plain `tacho watch`: CPU time a sample and memory of the sampler, taking turns; at the interval that tasks have (a second),
where caches are cold, and at a tenth of it. Rows go through the spool; there is no BigQuery, so tacho-deliver tries again and again."""
import os
import statistics
import subprocess
import time

from peer import cpu_s


def start(bench, kind, interval_s, number):
    rows = os.path.join(bench.folder, f"monitor{number}")
    env = {**bench.env, "MEASURE_INTERVAL_MS": str(int(interval_s * 1000)), "DATASET_ID": "d", "PROJECT_ID": "p", "DISK_MOUNTS": "/",
           "BIGQUERY_EMULATOR_HOST": "127.0.0.1:1", "TACHO_SPOOL_DIR": os.path.join(bench.folder, "spool"), "WORKFLOW_ID": "w"}
    words = {"tacho monitor": ["monitor", "-o", rows],
             "tacho watch": ["watch", "-q", "--no-store", "-i", str(interval_s), "-o", rows, "-f", "csv"]}[kind]
    process = subprocess.Popen([bench.program("tacho")] + words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not os.path.exists(rows) or bench.rows(rows) < 3:
        time.sleep(interval_s / 10)
    return process, rows


def measure(bench, kind, interval_s, samples, number):
    """µs a sample, and the highest resident memory in KiB."""
    process, rows = start(bench, kind, interval_s, number)
    first = bench.at_row(rows, bench.rows(rows) + 2)
    before = cpu_s(process.pid)
    last = bench.at_row(rows, first + samples)
    value = (cpu_s(process.pid) - before) / (last - first) * 1e6
    peak = bench.status_kib(process.pid, "VmHWM")
    process.terminate()
    time.sleep(0.2)
    if process.poll() is None:
        process.terminate()  # the second one ends the waiting for a BigQuery that never comes
    process.wait()
    return value, peak


def monitor(bench):
    print("## Task monitor: CPU time a sample, µs, median; memory of the sampler\n\n| | `tacho watch` | `tacho monitor` | ratio | goal |\n|---|---|---|---|---|")
    number = 0
    for interval_s in (0.1, 1.0):
        seen = {"tacho watch": [], "tacho monitor": []}
        for turn in range(bench.rounds):
            for kind, values in seen.items():
                number += 1
                values.append(measure(bench, kind, interval_s, max(5, int(bench.samples * min(1, 0.3 / interval_s))), number))
        costs = {kind: statistics.median(value for value, _ in values) for kind, values in seen.items()}
        watch, ours = costs["tacho watch"], costs["tacho monitor"]
        print(f"| every {interval_s:g} s | {watch:.0f} | {ours:.0f} | × {ours / watch:.2f} | ≤ 300 |")
        peaks = {kind: max(peak for _, peak in values) / 1024 for kind, values in seen.items()}
    print(f"| memory at its highest, MiB | {peaks['tacho watch']:.2f} | {peaks['tacho monitor']:.2f} | | ≤ 6 |\n", flush=True)
