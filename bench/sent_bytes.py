"""What an hour of the 32 columns at a tick a second weighs in the bucket: runs of some minutes through tacho-deliver into the S3
double, one object a minute, scaled to an hour. One job that only computes, and one that computes, allocates and writes."""
import gzip
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "e2e"))
from service import Service  # noqa: E402

COMPUTES = "import time\nend = time.time() + {seconds}\nwhile time.time() < end: pass"
DOES_ALL = """
import os, random, time
end, kept = time.time() + {seconds}, []
while time.time() < end:
    sum(i * i for i in range(random.randrange(100000)))
    kept.append(bytearray(random.randrange(1 << 20)))
    if len(kept) > 50: kept.pop(random.randrange(50))
    if random.random() < 0.1: open({path!r}, "wb").write(os.urandom(random.randrange(1 << 20)))
"""


def kib_an_hour(bench, job, seconds):
    service = Service()
    env = {**bench.env, **service.environment(), "TACHO_STORE": os.path.join(bench.folder, "sent")}
    code = job.format(seconds=seconds, path=os.path.join(bench.folder, "written"))
    subprocess.run([bench.program("tacho"), "run", "-q", "-i", "1", "--", sys.executable, "-c", code], env=env, check=True)
    bodies = [entry["body"] for entry in service.s3.objects.values()]
    service.close()
    rows = sum(gzip.decompress(body).count(b"\n") - 1 for body in bodies)
    return sum(map(len, bodies)) / rows * 3600 / 1024, rows, len(bodies)


def table(bench):
    seconds = 125 if bench.quick else 245
    print("## Bytes: 32 columns, a tick a second, as they lie in the bucket\n\n| job | rows | objects | KiB an hour | goal |\n|---|---|---|---|---|")
    for name, job in (("computes", COMPUTES), ("computes, allocates and writes", DOES_ALL)):
        kib, rows, objects = kib_an_hour(bench, job, seconds)
        print(f"| {name} | {rows} | {objects} | {kib:.0f} | < 150 |", flush=True)
    print()
