#!/usr/bin/env python3
"""How often the verdict is right. Usage: tests/verdict_accuracy.py BUILD [--repeats 5] [--seconds 4] [--only KIND,…]

Runs each burner, which is bound by one thing, under tacho and compares `tacho why --json` with what it is bound by; then
loads that are bound by nothing or by two things, for which a clear verdict would be wrong. What the kernel itself says
about each run (pressure and throttling of the job's cgroup) is printed beside. Needs root for the cgroups of quota,
memory and slow disk; without it they are left out, by name.
"""
import argparse
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

V1 = pathlib.Path("/sys/fs/cgroup")


class Cgroup:
    """A cgroup v1 folder of one controller with one limit, for tacho and the job together; empty: not possible here."""

    def __init__(self, controller, settings):
        self.folder = V1 / controller / f"tacho-verdict-{os.getpid()}"
        self.made = False
        try:
            self.folder.mkdir()
            self.made = True
            for name, value in settings:
                (self.folder / name).write_text(value)
        except OSError as error:
            self.remove()
            raise NotHere(f"{controller}: {error}")

    def enter(self):
        (self.folder / "cgroup.procs").write_text("0")

    def remove(self):
        if self.made:
            try:
                self.folder.rmdir()
            except OSError:
                pass


class NotHere(Exception):
    pass


def disk_of(path):
    device = os.stat(path).st_dev
    whole = pathlib.Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve()
    if (whole / "partition").exists():
        whole = whole.parent
    return (whole / "dev").read_text().strip()


def quota():
    return Cgroup("cpu", [("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "50000")])


def small_memory():
    return Cgroup("memory", [("memory.limit_in_bytes", str(48 << 20))])


def slow_disk(path):
    return Cgroup("blkio", [("blkio.throttle.read_bps_device", f"{disk_of(path)} {4 << 20}"),
                            ("blkio.throttle.write_bps_device", f"{disk_of(path)} {64 << 20}")])


# name, burner's kind, cgroup, verdicts that are right (with their detail; None: any)
BOUND = [
    ("cores", "cores", None, {"cpu"}),
    ("crowd", "crowd", None, {"cpu"}),
    ("one", "one", None, {"single_thread"}),
    ("quota", "one", quota, {"cpu_quota"}),
    ("quota, crowd", "crowd", quota, {"cpu_quota"}),
    ("fsync", "fsync", None, {"disk"}),
    ("direct", "direct", None, {"disk"}),
    ("slow disk", "direct", slow_disk, {"disk"}),
    ("socket", "socket", None, {"network"}),
    ("epoll", "epoll", None, {"network"}),
    ("lock", "lock", None, {"lock"}),
    ("pipe", "pipe", None, {"waiting pipe"}),
    ("child", "child", None, {"waiting sleep", "waiting child"}),
    ("sleep", "sleep", None, {"waiting sleep"}),
]
UNCLEAR = [
    ("mix", "mix", None, {"mixed"}),
    ("halves", "halves", None, {"mixed"}),
]


def run_once(build, kind, group, seconds, folder, store):
    tacho, burner = build / "bin/tacho", build / "bin/burn_bound"
    command = [tacho, "run", "-i", "200ms", "--store", store, "-q", "--", burner, kind, str(seconds), folder]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, preexec_fn=group.enter if group else None)
    text = subprocess.run([tacho, "why", "--json", "--store", store, "last"], check=True, stdout=subprocess.PIPE).stdout
    return json.loads(text)


def kernel_says(store):
    newest = max(pathlib.Path(store).glob("*/metrics.csv"), key=os.path.getmtime)
    sums, count = {}, 0
    for row in csv.DictReader(newest.open()):
        count += 1
        for name in ("process_cpu_usage", "cgroup_pressure_cpu_some", "cgroup_pressure_io_some", "cgroup_throttled_time"):
            sums[name] = sums.get(name, 0) + float(row.get(name) or 0)
    return ", ".join(f"{name.replace('cgroup_', '')} {value / count:.2f}" for name, value in sums.items())


def judge(build, entry, options, folder):
    """Right, and clear (high or medium) answers of one burner."""
    name, kind, make, wanted = entry
    try:
        group = make(folder) if make is slow_disk else make() if make else None
    except NotHere as reason:
        print(f"  left out  {name}: {reason}")
        return []
    answers = []
    with tempfile.TemporaryDirectory(dir=folder) as store:
        for _ in range(options.repeats):
            why = run_once(build, kind, group, options.seconds, folder, store)
            words = {why["verdict"], f"{why['verdict']} {why['detail']}"}
            clear = why["confidence"] in ("high", "medium")
            answers.append((bool(words & wanted), clear))
            mark = "right" if words & wanted and clear else "unsure" if not clear else "WRONG"
            print(f"  {mark:9} {name}: {why['verdict']} {why['detail'] or ''} {why['confidence']} {why['share']:.2f}"
                  f"  ({kernel_says(store)}) {'; '.join(why['missing'])}")
    if group:
        group.remove()
    return answers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    only = set(filter(None, options.only.split(",")))
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs")
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/var/tmp")) as folder:
        chosen = lambda entries: [entry for entry in entries if not only or entry[0] in only]
        bound = [one for entry in chosen(BOUND) for one in judge(options.build.resolve(), entry, options, folder)]
        unclear = [one for entry in chosen(UNCLEAR) for one in judge(options.build.resolve(), entry, options, folder)]
    right = sum(1 for good, clear in bound if good and clear)
    false = sum(1 for good, clear in unclear if not good and clear)
    if bound:
        print(f"bound by one thing: {right} of {len(bound)} right at high or medium ({100 * right / len(bound):.0f} %)")
    if unclear:
        print(f"bound by several:   {false} of {len(unclear)} with a false verdict ({100 * false / len(unclear):.0f} %)")
    sys.exit(0 if right >= 0.95 * len(bound) and false <= 0.02 * len(unclear) else 1)


if __name__ == "__main__":
    main()
