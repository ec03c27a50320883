"""What `tacho-katib db` stores a second, beside Katib's own DB manager where `scripts/interop katib` has installed it. Run by
bench.py; the managers take turns, so that noise hits all."""
import importlib
import os
import re
import shutil
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BATCH = 5000  # rows a call, as the collector sends at most


def serve(bench, *words, env=None):
    """tacho-katib db on any free port; returns (process, address)."""
    process = subprocess.Popen([bench.program("tacho-katib"), "db", "--listen", "127.0.0.1:0", *words], env={**bench.env, **(env or {})},
                               stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return process, re.search(r"serving on (\S+),", process.stderr.readline())[1]


def peers(bench):
    """The real managers and their servers; none when they are not installed."""
    work = os.path.join(ROOT, "build", "interop")
    if not os.path.exists(os.path.join(work, "bin", "katib-db-manager")):
        return [], []
    sys.argv[1:] = [os.path.dirname(bench.bin), work]  # where the interop scripts look
    sys.path.insert(0, os.path.join(ROOT, "tests", "interop"))
    parts = importlib.import_module("katib_parts")
    programs = parts.install()
    postgres, mariadb = parts.Postgres(), parts.MariaDb()
    found = [("katib-db-manager, PostgreSQL", parts.real_manager(programs, postgres, postgres.database("bench"), "bench-postgres").up().address),
             ("katib-db-manager, MariaDB", parts.real_manager(programs, mariadb, mariadb.database("bench"), "bench-mysql").up().address)]
    process, address = serve(bench, "--store", postgres.url("bench"), env={"PGPASSWORD": postgres.password})
    return [*found, ("tacho-katib db, PostgreSQL", address)], [process]


def rows_a_second(bench, address, trial, rows, batch):
    done = subprocess.run([bench.program("bench_db"), address, trial, str(rows), str(batch)], stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout)


def table(bench):
    rows = 50_000 if bench.quick else 200_000
    folder = os.path.join(bench.folder, "db")
    os.makedirs(folder, exist_ok=True)
    process, address = serve(bench, "--store", os.path.join(folder, "katib.db"))
    others, started = peers(bench)
    managers = [("tacho-katib db, SQLite", address), *others]
    try:
        speeds = {name: [] for name, _ in managers}
        for turn in range(bench.rounds):
            for name, place in managers:
                speeds[name].append(rows_a_second(bench, place, f"trial-{turn}", rows, BATCH))
        ours = statistics.median(speeds[managers[0][0]])
        print(f"## DB manager: rows stored a second, reports of {BATCH} rows, {rows} rows a turn, median of {bench.rounds}\n")
        print("| | rows/s | of tacho on SQLite |\n|---|---|---|")
        for name, _ in managers:
            speed = statistics.median(speeds[name])
            print(f"| {name} | {speed:,.0f} | {speed / ours:.2f} |")
        million = rows_a_second(bench, address, "million", 1_000_000, 1_000_000)
        with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
            peak_mib = int(re.search(r"VmHWM:\s+(\d+)", file.read())[1]) / 1024
        print(f"\nOne report of 1,000,000 rows: {million:,.0f} rows/s; the manager's memory was at most {peak_mib:.0f} MiB.\n")
    finally:
        for each in [process, *started]:
            each.terminate()
            each.wait()
        shutil.rmtree(folder, ignore_errors=True)
