"""What an hour of rows at a tick a second weighs in the bucket, sent through tacho-deliver into the S3 double, one object a minute:
scaled from runs of some minutes (part `bytes`), or one real hour (part `hour`). One job only computes, one computes, allocates and
writes. The goal is for the 32 compatible columns of a busy hour: alone as `resource-tracker` sends them, and cut out of what `tacho
run` sends. Every value is sent as it was read and rounded to its column's decimals; none is held back to save bytes."""
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


def print_head(title):
    print(f"## Bytes: {title}, at a tick a second, as it lies in the bucket\n\n"
          "| job | recorder | rows | objects | columns | KiB an hour | 32 columns alone, gzip -9 | goal |\n|---|---|---|---|---|---|---|---|")


def print_row(bench, name, recorder, job, seconds):
    bodies = objects_of(bench, recorder, job, seconds)
    texts = [gzip.decompress(body).decode().splitlines() for body in bodies]
    rows = sum(len(text) - 1 for text in texts)
    sent, alone = (sum(map(len, some)) / rows * 3600 / 1024 for some in (bodies, map(compatible, bodies)))
    columns = len(texts[0][0].split(","))
    print(f"| {name} | `{os.path.basename(recorder[0])}` | {rows} | {len(bodies)} | {columns} | {sent:.0f} | {alone:.0f} | < 200 |",
          flush=True)


def table(bench):
    seconds = 125 if bench.quick else 245
    drop_in = os.path.join(bench.folder, "resource-tracker")
    os.symlink(os.path.abspath(bench.program("tacho")), drop_in)
    native = [bench.program("tacho"), "run"]
    print_head("an hour, scaled from minutes")
    print_row(bench, "computes", native, COMPUTES, seconds)
    print_row(bench, "computes, allocates and writes", native, DOES_ALL, seconds)
    print_row(bench, "computes, allocates and writes", [drop_in], DOES_ALL, seconds)
    print()


def hour(bench):
    """The same for a whole hour, not scaled: the machine should have nothing else to do."""
    print_head("one real hour")
    print_row(bench, "computes, allocates and writes", [bench.program("tacho"), "run"], DOES_ALL, 3600)
    print()
