"""tacho query: a hundred thousand runs on a cold cache, then on a warm one, and a scan of a million rows of samples."""
import json
import os
import subprocess
import sys
import time

RUNS, RUNS_QUICK, ROWS = 100_000, 10_000, 1_000_000
GROUPED = "SELECT job_name, count(*), avg(cpu_s), max(memory_peak_bytes) FROM runs GROUP BY 1"
SCAN = "SELECT run, avg(process_cpu_usage), max(process_memory_mib), sum(process_utime) FROM samples GROUP BY run"


def recorded(bench):
    """run.json and metrics.csv of a real run, as texts, and its id."""
    store = os.path.join(bench.folder, "query-one")
    subprocess.run([bench.program("tacho"), "run", "-q", "--store", store, "--tag", "a=b", "--", "sleep", "0.1"], env=bench.env, check=True)
    name = os.listdir(store)[0]
    texts = []
    for part in ("run.json", "metrics.csv"):
        with open(os.path.join(store, name, part), encoding="utf-8") as file:
            texts.append(file.read())
    return (*texts, name)


def make_store(folder, count, texts, rows=None):
    run, samples, name = texts
    os.mkdir(folder)
    for i in range(count):
        new = f"{20260101 + i % 28}-{i * 2654435761 % (1 << 48):012x}"
        os.mkdir(os.path.join(folder, new))
        facts = json.loads(run.replace(name, new)) if i == 0 else None
        text = run.replace(name, new).replace('"metadata": {', f'"metadata": {{\n    "job_name": "job{i % 50}",')
        assert facts is None or json.loads(text)["metadata"]["job_name"] == "job0"
        for part, content in (("run.json", text), ("metrics.csv", rows or samples)):
            with open(os.path.join(folder, new, part), "w", encoding="utf-8") as file:
                file.write(content)


def measure(bench, store, sql):
    """Seconds, CPU seconds and peak MiB."""
    code = ("import resource,subprocess,sys,time\nt=time.time()\nsubprocess.run(sys.argv[1:],check=True,stdout=subprocess.DEVNULL)\n"
            "u=resource.getrusage(resource.RUSAGE_CHILDREN)\nprint(time.time()-t,u.ru_utime+u.ru_stime,u.ru_maxrss/1024)")
    done = subprocess.run([sys.executable, "-c", code, bench.program("tacho"), "query", "--store", store, sql], stdout=subprocess.PIPE, text=True, check=True,
                          env={**bench.env, "XDG_CACHE_HOME": os.path.join(bench.folder, "query-cache")})
    return [float(word) for word in done.stdout.split()]


def table(bench):
    texts = recorded(bench)
    count = RUNS_QUICK if bench.quick else RUNS
    many, long = os.path.join(bench.folder, "query-many"), os.path.join(bench.folder, "query-long")
    make_store(many, count, texts)
    header, row = texts[1].splitlines()[:2]
    stamp, rest = row.split(",", 1)
    make_store(long, 10, texts, header + "\n" + "".join(f"{float(stamp) + i:.3f},{rest}\n" for i in range(ROWS // 10)))
    time.sleep(2.5)  # what was changed in the last two seconds is read again
    print("## SQL over the run store\n\n| query | seconds | goal | CPU s | peak MiB | goal |\n|---|---|---|---|---|---|")
    for name, store, sql, goal in ((f"{count:,} runs, no cache yet", many, GROUPED, "< 2"), ("the same again", many, GROUPED, "≤ 0.5"),
                                   (f"{ROWS:,} rows of samples in 10 runs", long, SCAN, "≤ 3"), (f"the samples of {count:,} short runs", many, "SELECT count(*) FROM samples", "–"),
                                   (f"the statistics of all columns of {count:,} runs, first", many, "SELECT name, max(max) FROM columns GROUP BY 1", "–"),
                                   ("the same again", many, "SELECT name, max(max) FROM columns GROUP BY 1", "–")):
        seconds, cpu, mib = measure(bench, store, sql)
        print(f"| {name} | {seconds:.2f} | {goal} | {cpu:.2f} | {mib:.1f} | < 64 |", flush=True)
    print()
