"""What an hour of rows at a tick a second weighs in the bucket: runs of some minutes through tacho-deliver into the S3 double,
one object a minute, scaled to an hour. One job that only computes, and one that computes, allocates and writes. The goal is
for the 32 compatible columns: alone as `resource-tracker` sends them, and cut out of what `tacho run` sends by default."""
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
COMPATIBLE = 32


def objects_of(bench, recorder, job, seconds):
    """The bodies that lie in the bucket after such a job."""
    service = Service()
    env = {**bench.env, **service.environment(), "TACHO_STORE": os.path.join(bench.folder, "sent")}
    code = job.format(seconds=seconds, path=os.path.join(bench.folder, "written"))
    subprocess.run([*recorder, "--quiet", "-i", "1", "--", sys.executable, "-c", code], env=env, check=True)
    bodies = [entry["body"] for entry in service.s3.objects.values()]
    service.close()
    return bodies


def compatible(body):
    lines = gzip.decompress(body).decode().splitlines()
    return gzip.compress("".join(",".join(line.split(",")[:COMPATIBLE]) + "\n" for line in lines).encode(), 9)


def table(bench):
    seconds = 125 if bench.quick else 245
    drop_in = os.path.join(bench.folder, "resource-tracker")
    os.symlink(os.path.abspath(bench.program("tacho")), drop_in)
    native = [bench.program("tacho"), "run"]
    print("## Bytes: an hour at a tick a second, as it lies in the bucket\n\n"
          "| job | recorder | rows | objects | columns | KiB an hour | 32 columns alone, gzip -9 | goal |\n|---|---|---|---|---|---|---|---|")
    for name, recorder, job in (("computes", native, COMPUTES), ("computes, allocates and writes", native, DOES_ALL),
                                ("computes, allocates and writes", [drop_in], DOES_ALL)):
        bodies = objects_of(bench, recorder, job, seconds)
        texts = [gzip.decompress(body).decode().splitlines() for body in bodies]
        rows = sum(len(text) - 1 for text in texts)
        sent, alone = (sum(map(len, some)) / rows * 3600 / 1024 for some in (bodies, map(compatible, bodies)))
        columns = len(texts[0][0].split(","))
        print(f"| {name} | `{os.path.basename(recorder[0])}` | {rows} | {len(bodies)} | {columns} | {sent:.0f} | {alone:.0f} | < 150 |",
              flush=True)
    print()
