#!/usr/bin/env python3
"""What limited a run, a second time: the rules of docs/bottlenecks.md in plain Python, beside `tacho why --json` over runs made at random.

Values lie on the limits of the rules, one digit below and one above, so that each condition is met both ways. Fractions are exact here; tacho
computes with doubles. As a program it goes on for long: tests/verdict/oracle.py BUILD [--rounds N] [--seed N]. It prints the seed of what differs.
"""
import argparse
import csv
import datetime
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
from fractions import Fraction

from rules import STATES, Judge, Row, judge, least, number

START = 1_700_000_000
# column: what it is near to, and its decimals; a number after / is multiplied by the interval
LIMITS = {
    "process_cpu_usage": ("0 0.1 0.5 0.85 1.15 0.45 1.8 2.7 3.6", 4), "system_cpu_usage": ("0 0.5 1.8 2.7 3.6", 4),
    "cgroup_throttled_time": ("0 0.05/ 0.1/ 0.2/", 6), "cgroup_oom_kills": ("0 0 0 0 0 1", 0),
    "system_swap_in_bytes": ("0 400000/ 500000/", 0), "system_swap_out_bytes": ("0 600000/ 500000/", 0),
    "process_major_page_faults": ("0 10/", 0), "system_major_page_faults": ("0 10/", 0), "process_gpu_utilized": ("0 1", 0),
    "system_gpu_pcie_rx_bytes": ("0 37800000000/", 0), "system_gpu_pcie_tx_bytes": ("0 37800000000/", 0), "system_gpu_pcie_max_bytes_per_s": ("0 63000000000", 0),
    "system_gpu_nvlink_rx_bytes": ("0 270000000000/", 0), "system_gpu_nvlink_tx_bytes": ("0 270000000000/", 0),
    "system_gpu_nvlink_max_bytes_per_s": ("0 450000000000", 0), "process_gpu_pcie_busiest": ("0 0.6", 4), "process_gpu_nvlink_busiest": ("0 0.6", 4),
    "system_disk_read_bytes": ("0 655360", 0), "system_disk_write_bytes": ("0 655360", 0), "system_disk_requests": ("0 10 20", 0), "system_net_busiest": ("0 0.7", 4),
}
for _side in ("process", "system"):
    for _unit, _limit in (("sm_active", "0.6"), ("tensor_active", "0.4"), ("dram_active", "0.6")):
        LIMITS[f"{_side}_gpu_{_unit}"] = (f"0 {_limit}", 4)
for _side in ("cgroup", "system"):
    LIMITS |= {f"{_side}_pressure_cpu_some": ("0 0.3 0.2 0.35 0.85", 4), f"{_side}_pressure_io_some": ("0 0.2 0.3", 4), f"{_side}_pressure_memory_full": ("0 0 0 0.1", 4)}
GPU = [name for name in LIMITS if "_gpu_" in name]
WAITS = [f"process_waits_{state}" for state in STATES]
_IO = [name for name in LIMITS if name.startswith("system_disk_") or name.endswith("_io_some")]
_CPU = ["process_cpu_usage", "system_cpu_usage"]
# The columns of a rule; of two of the same meaning both.
THEMES = [[name for name in LIMITS if name.endswith("_memory_full")], [name for name in LIMITS if "swap" in name or "faults" in name], ["cgroup_oom_kills"],
          ["cgroup_throttled_time"], ["cgroup_throttled_time", *_CPU],
          *[["process_gpu_utilized"] + [name for name in GPU if name.endswith(end)] for end in ("sm_active", "tensor_active", "dram_active")],
          *[["process_gpu_utilized"] + [name for name in GPU if link in name] for link in ("pcie", "nvlink")],
          _IO, [*_IO, "cgroup_pressure_cpu_some", "system_pressure_cpu_some", *_CPU], ["process_waits_disk", *_IO], ["system_net_busiest"],
          ["process_waits_network"], ["process_waits_lock"], ["process_waits_lock", "process_waits_cpu", *_CPU], _CPU,
          ["cgroup_pressure_cpu_some", "system_pressure_cpu_some", "process_waits_cpu"], ["cgroup_pressure_cpu_some", "system_pressure_cpu_some", "process_waits_cpu", *_CPU],
          WAITS, WAITS[2:9]]


class Maker:
    """A run at random: what its rows hold, how long they took, and what run.json tells."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        chance = self.chance
        self.interval_ms = chance.choice((100, 200, 1000, 1500))
        self.machine, self.own, self.has_gpu = chance.random() < 0.15, chance.random() < 0.6, chance.random() < 0.5
        self.quota = chance.choice((None, None, "0.5", "1.5", "3", "8"))
        self.vcpus, self.cpuset = chance.choice((1, 2, 3, 4)), chance.choice((None, 1, 2, 4))
        self.gone = {name for name in LIMITS if chance.random() < 0.04}
        self.waits = "syscall" if chance.random() < 0.8 else "wchan"
        self.killed = chance.random() < 0.03
        kinds = [self.kind() for _ in range(chance.choice((1, 1, 2, 3)))]
        self.rows = []
        for _ in range(chance.choice((3, 4, 5, 6, 10, 15, 20))):
            seconds = Fraction(round(self.interval_ms * chance.choice((1, 1, 1, Fraction("0.5"), 2))), 1000)
            self.rows.append(Row(self.cells(chance.choice(kinds), seconds), seconds))
        self.cut = chance.randrange(len(self.rows) - 1)  # the last row of the first phase

    def kind(self):
        """Columns that are not 0 in a kind of rows: those of one rule or two, so that these are near to hold, and some others."""
        chance = self.chance
        themes = [theme for theme in THEMES if self.has_gpu or theme[0] not in GPU]
        chosen = {name for theme in chance.sample(themes, chance.choice((1, 1, 2))) for name in theme}
        return chosen | set(chance.sample(list(LIMITS), chance.choice((0, 0, 0, 1, 3)))) | set(chance.sample(WAITS, chance.choice((0, 0, 1, 2)))) | \
            set(chance.sample(("process_cpu_usage", "system_cpu_usage"), chance.choice((0, 1, 2))))

    def near(self, name, seconds):
        limits, decimals = LIMITS[name]
        word = self.chance.choice(limits.split())
        limit = number(word.rstrip("/")) * (seconds if word.endswith("/") else 1)
        step = Fraction(1, 10**decimals)
        exact = round(limit / step) * step
        value = max(Fraction(0), exact + step * self.chance.choice((-1, 0, 0, 1)))
        return f"{float(value):.{decimals}f}"

    def cells(self, kind, seconds):
        cells = {}
        for name in LIMITS:
            absent = name in self.gone or (not self.has_gpu and name in GPU) or (self.machine and name.startswith(("process_", "cgroup_")))
            cells[name] = "" if absent or self.chance.random() < 0.01 else self.near(name, seconds) if name in kind else f"{0:.{LIMITS[name][1]}f}"
        threads = 0 if self.chance.random() < 0.05 else 1
        for state in STATES:
            count = self.chance.choice((1, 1, 2, 3, 4)) if f"process_waits_{state}" in kind else 0
            cells[f"process_waits_{state}"] = "" if self.machine else str(count)
            threads += count if threads else 0
        cells["process_threads"] = "" if self.machine else str(threads)
        return cells

    def facts(self):
        cores = Fraction(self.vcpus)
        if not self.machine:
            cores = min([cores] + [number(str(limit)) for limit in (self.cpuset, self.quota) if limit is not None])
        return {"cores": cores, "machine": self.machine, "own": self.own}

    def classes(self):
        return [Judge(row, self.facts()).row_class() for row in self.rows]

    def write(self, folder, name):
        stamp = lambda at: datetime.datetime.fromtimestamp(at, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        os.makedirs(folder / name, mode=0o700)
        at, lines = Fraction(START), []
        for row in self.rows:
            at += row.seconds
            lines.append({"timestamp": f"{float(at):.3f}", **row.cells})
        with open(folder / name / "metrics.csv", "w", encoding="ascii", newline="") as file:
            writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(lines)
        middle = float(START + sum(row.seconds for row in self.rows[:self.cut + 1]) + self.rows[self.cut + 1].seconds / 2)
        phases = [{"name": "first", "started": START, "ended": middle, "seconds": middle - START},
                  {"name": "second", "started": middle, "ended": float(at), "seconds": float(at) - middle}]
        state = "failed" if self.killed else "finished"
        limits = {key: value for key, value in (("cpuset_cpus", self.cpuset), ("cpu_quota_cores", self.quota and float(self.quota))) if value is not None}
        run = {"id": name, "mode": "watch" if self.machine else "run", "state": state, "host": {"host_vcpus": self.vcpus}, "limits": limits,
               "interval_s": self.interval_ms / 1000, "phases": phases, "method": {"cpu": "cgroup" if self.own else "subreaper", "waits": self.waits},
               "outcome": {"state": state, "oom_killed": self.killed or None, "signal": 9 if self.killed else None, "timed_out": False,
                           "started_at": stamp(START), "finished_at": stamp(float(at)), "duration_s": float(at - START)}}
        (folder / name / "run.json").write_text(json.dumps(run))

    def told(self):
        """Whether each source that could contradict was there in all rows that have a class, in none of them, or in some (then: None)."""
        rows = [row for row, found in zip(self.rows, self.classes()) if found]

        def every(test):
            results = {bool(test(row)) for row in rows}
            return None if len(results) > 1 else next(iter(results), True)
        pressures = [f"{'system' if self.machine else 'cgroup'}_pressure_{what}" for what in (("cpu_some", "io_some") if self.machine else ("cpu_some", "io_some", "memory_full"))]
        needs = [(self.machine or self.own) and every(lambda row: None not in [row(name) for name in pressures])]
        if not self.machine:
            needs.append(self.waits == "syscall")
            if self.quota is not None:
                needs.append(every(lambda row: row("cgroup_throttled_time") is not None))
            if self.has_gpu:
                units = [(row("process_gpu_utilized"), row("process_gpu_sm_active") is not None or row("system_gpu_sm_active") is not None) for row in rows]
                held = {told for held, told in units if least(held, 1)}
                needs.append(None if any(held is None for held, _ in units) or len(held) > 1 else False not in held)
        return False if False in needs else None if None in needs else True

    def lowered(self):
        told = self.told()
        return (0, 1) if told is None else (0,) if told else (1,)

    def expected(self):
        timed = [(*found, row.seconds) for row, found in zip(self.rows, self.classes()) if found]
        return [judge(timed, lowered) for lowered in self.lowered()]

    def expected_phases(self):
        """Of each phase its seconds and what it may be."""
        found, ends = self.classes(), [self.cut + 1, len(self.rows)]
        parts = [[(*found[i], self.rows[i].seconds) for i in range(begin, end) if found[i]] for begin, end in zip([0, *ends], ends)]
        return [[judge(part, lowered) for lowered in self.lowered()] for part in parts]


def mean(rows, name):
    known = [(row(name), row.seconds) for row in rows if row(name) is not None]
    return sum(value * seconds for value, seconds in known) / sum(seconds for _, seconds in known) if known else None


def wrong_evidence(made, why):
    """A sentence where a number is not what the rows say."""
    judged = [(found[0], row) for row, found in zip(made.rows, made.classes()) if found]
    wanted = None if why["verdict"] == "mixed" else why["verdict"]
    if bool(why["evidence"]) != (why["verdict"] not in ("unknown", "none")):
        return f"evidence of {why['verdict']}: {why['evidence']}"
    for one in why["evidence"]:
        value = mean([row for name, row in judged if wanted in (None, name)], one["metric"])
        if value is None or abs(float(value) - one["value"]) > max(1e-6, 1e-9 * abs(one["value"])) or not one["text"]:
            return f"{one} is {value and float(value)}"
    for one in why["against"]:
        if one["metric"] not in made.rows[0].cells:
            return f"{one} is no column"
    return None


def is_same(told, verdict, details, confidence, share, classes):
    return (told["verdict"], told["confidence"]) == (verdict, confidence) and told["detail"] in details and abs(told["share"] - float(share)) < 2e-6 and \
        set(told["classes"]) == set(classes) and all(abs(told["classes"][name] - float(part)) < 1e-5 for name, part in classes.items())


def in_words(verdict, details, confidence, share, classes):
    return f"{verdict} {sorted(map(str, details))} {confidence} {float(share):.6f} " + str({name: round(float(part), 6) for name, part in classes.items()})


def difference(made, why):
    """What tacho says otherwise; None: nothing."""
    if abs(sum(why["classes"].values()) - 1) > 1e-9 and why["classes"]:
        return f"the classes add up to {sum(why['classes'].values())}"
    if made.killed:
        fine = (why["verdict"], why["detail"], why["confidence"]) == ("memory", "oom", "high")
        return None if fine else "ended by the OOM killer"
    for part, expected in zip([why, *why["phases"]], [made.expected(), *made.expected_phases()]):
        if not any(is_same(part, *one) for one in expected):
            return f"expected of {part.get('name', 'all')}: " + " or ".join(in_words(*one) for one in expected) + f"; there is {part['verdict']} {part['detail']} {part['confidence']}"
    return wrong_evidence(made, why)


def check(tacho, seed, folder):
    """A sentence about the first difference of a run with this seed; None: there is none."""
    made, name = Maker(seed), f"20261119-{seed % 2**48:012x}"
    made.write(pathlib.Path(folder), name)
    done = subprocess.run([tacho, "why", "--json", "--store", folder, name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        return f"seed {seed}: {done.returncode} {done.stdout}"
    why = json.loads(done.stdout)
    found = difference(made, why)
    return None if found is None else f"seed {seed}: {found}\n  tacho: " + json.dumps({key: why[key] for key in ("verdict", "detail", "confidence", "share", "classes", "missing")}) + \
        f"\n  rows: {[found and ' '.join(filter(None, found)) for found in made.classes()]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 40))
    options = parser.parse_args()
    print(f"seeds from {options.seed} on", flush=True)
    differ, seen = 0, {}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.seed, options.seed + options.rounds):
            for found in Maker(seed).classes():
                seen[found] = seen.get(found, 0) + 1
            told = check(options.build.resolve() / "bin/tacho", seed, folder)
            if told:
                differ += 1
                print(told, flush=True)
    print("rows: " + ", ".join(f"{' '.join(filter(None, found)) if found else 'without threads'} {count}" for found, count in sorted(seen.items(), key=str)))
    print(f"{options.rounds - differ} of {options.rounds} runs judged alike")
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
