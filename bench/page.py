"""The report: how long it takes and how much memory for a day and for ten million rows, how large the page is, and in chromium how soon
it can be used and how long a zoom takes, beside the same lines drawn by dygraphs (Debian: libjs-dygraphs), where those are installed."""
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
WEB = os.path.join(HERE, "..", "tests", "web")
DYGRAPHS = "/usr/share/javascript/dygraphs/dygraph.min.js"


def ten_million(path, rows):
    with open(path, "w") as out:
        out.write("timestamp,process_cpu_usage,process_memory_mib,system_cpu_usage,process_disk_read_bytes,process_disk_write_bytes,system_net_recv_bytes,system_memory_used_mib\n")
        for start in range(0, rows, 10000):
            out.write("".join(f"{1794735000 + i}.250,{'123.4560' if i == rows * 3 // 4 else '1.2345'},{100 + i % 500}.125,1.5000,{i % 7777},0,1234,4000.5\n" for i in range(start, start + 10000)))


def measure(bench, inputs, name):
    """Seconds, peak MiB and size of the page in KB."""
    page = os.path.join(bench.folder, name + ".html")
    code = "import resource,subprocess,sys,time\nt=time.time()\nsubprocess.run(sys.argv[1:],check=True,stdout=subprocess.DEVNULL)\nprint(time.time()-t,resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    done = subprocess.run([sys.executable, "-c", code, bench.program("tacho"), "report", *inputs, "-o", page], stdout=subprocess.PIPE, text=True, check=True)
    seconds, kib = map(float, done.stdout.split())
    return seconds, kib / 1024, os.path.getsize(page) / 1000, page


def table(bench):
    make = [sys.executable, os.path.join(WEB, "make_run.py")]
    day = os.path.join(bench.folder, "20261115-day")
    subprocess.run([*make, day, "--rows", "86400", "--columns", "80", "--cores", "16", "--processes", "9000"], check=True)
    rows = 1_000_000 if bench.quick else 10_000_000
    many = os.path.join(bench.folder, "many.csv")
    ten_million(many, rows)
    print("## The report\n\n| run | seconds | goal | peak MiB | goal | page, KB | goal |\n|---|---|---|---|---|---|---|")
    for name, inputs, goal in (("a day, 86,400 rows × 80 columns", [day], "1"), (f"{rows:,} rows", [many], "10")):
        seconds, mib, size, page = measure(bench, inputs, "page")
        print(f"| {name} | {seconds:.2f} | < {goal} | {mib:.1f} | ≤ 64 | {size:.0f} | ≤ 600 |")
        with open(page) as file:
            assert name.startswith("a day") or "123.456" in file.read(), "the spike is lost"
    modules = os.path.join(HERE, "..", "build", "web", "modules")
    if not shutil.which("chromium") or not os.path.isdir(modules):
        print("\nIn a browser: not measured (scripts/install-deps test and tests/web/run bring what it takes).\n")
        return
    done = subprocess.run(["node", os.path.join(HERE, "page_browser.mjs"), bench.program("tacho"), bench.folder, DYGRAPHS], stdout=subprocess.PIPE, text=True,
                          env={**bench.env, "TACHO_WEB_MODULES": modules}, check=True)
    print("\n" + done.stdout, flush=True)
