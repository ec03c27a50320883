#!/usr/bin/env python3
"""bench.py BUILD_DIR [--quick]: what a sample costs, as ratios measured side by side in one run.

For trees of 1, 10, 100 and 1000 processes (a tenth of them active): tacho (run and attach), the plain kernel floor, and the
peers that can be installed, taking turns so that noise hits all: at 100 ms, and at the default of one second. Then the cost of the wrapper, memory, a 10 ms interval and the
drift of the tick. Prints markdown; nothing here passes or fails.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import delivery
import hook
import katib
import katib_db
import native_peers
import page
import python_package
import query
import seeing
import sent_bytes
import waits
import webhook_peer
from cromwell_sizes import sizes
from monitor import monitor
from peer import cpu_s

HERE = os.path.dirname(os.path.abspath(__file__))


def note(text):
    print(f"# {text}", file=sys.stderr, flush=True)


class Bench:
    def __init__(self, build, quick):
        self.bin = os.path.join(build, "bin")
        self.venv = os.path.join(build, "venv")
        self.quick = quick
        self.folder = tempfile.mkdtemp(prefix="tacho-bench-")
        self.env = {key: value for key, value in os.environ.items() if not key.startswith(("TACHO_", "TRACKER_", "SENTINEL_"))}
        self.env["TACHO_NO_CLOUD"] = "1"
        self.stores = 0
        self.interval_s = 0.05 if quick else 0.1
        self.rounds = 2 if quick else 4
        self.samples = 15 if quick else 30

    def program(self, name):
        return os.path.join(self.bin, name)

    # --- one measurement each, in µs a sample ---

    def tree(self, count):
        """burn_tree, ready; ended by end()."""
        process = subprocess.Popen(self.tree_command(count), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        process.stdout.readline()
        return process

    def tree_command(self, count):
        percent = 10 if count > 1 else 100  # of a single process a tenth is none
        return [self.program("burn_tree"), str(count), str(percent), str(int(self.interval_s * 1000)), "100"]

    @staticmethod
    def end(process):
        process.stdin.close()
        process.stdout.close()
        process.wait()

    def start_tacho(self, words, **keywords):
        """tacho with a store of its own; returns (process, path of metrics.csv once it has rows)."""
        self.stores += 1
        store = os.path.join(self.folder, f"store{self.stores}")
        process = subprocess.Popen([self.program("tacho"), words[0], "-q", "--store", store] + words[1:], env=self.env, **keywords)
        end = time.monotonic() + 30
        while time.monotonic() < end:
            runs = os.listdir(store) if os.path.isdir(store) else []
            path = os.path.join(store, runs[0], "metrics.csv") if runs else ""
            if path and os.path.exists(path):
                return process, path
            time.sleep(0.01)
        process.kill()
        raise RuntimeError("tacho wrote no rows")

    @staticmethod
    def rows(path):
        with open(path, "rb") as file:
            return file.read().count(b"\n") - 1

    def at_row(self, path, row):
        """Waits until the row is there, with a phase between two ticks."""
        while self.rows(path) < row:
            time.sleep(self.interval_s / 10)
        return self.rows(path)

    def measure_tacho(self, process, path, count=1):
        # Start-up, first readings and caches are not a steady tick, nor is one that looks at 64 threads for the first time.
        first = self.at_row(path, 5 + count // 64)
        before = cpu_s(process.pid)
        last = self.at_row(path, first + self.samples)
        return (cpu_s(process.pid) - before) / (last - first) * 1e6

    def attach(self, count):
        target = self.tree(count)
        process, path = self.start_tacho(["attach", "-i", f"{self.interval_s}", "--pid", str(target.pid)])
        value = self.measure_tacho(process, path, count)
        process.terminate()
        process.wait()
        self.end(target)
        return value

    def run(self, count, options=()):
        process, path = self.start_tacho(["run", "-i", f"{self.interval_s}", *options, "--"] + self.tree_command(count),
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        process.stdout.readline()
        value = self.measure_tacho(process, path, count)
        self.end(process)
        return value

    def over_tree(self, count, *command):
        target = self.tree(count)
        words = [str(target.pid) if word == "PID" else word for word in command]
        done = subprocess.run(words, stdout=subprocess.PIPE, text=True, env=self.env, check=False)
        self.end(target)
        return json.loads(done.stdout)["us_per_sample"] if done.returncode == 0 else None

    def floor(self, count):
        return self.over_tree(count, self.program("bench_floor"), "PID", str(int(self.interval_s * 1000)), str(self.samples))

    def peer(self, name):
        def measure(count):
            samples = self.samples if count <= 100 else max(5, self.samples // 4)
            return self.over_tree(count, os.path.join(self.venv, "bin", "python"), os.path.join(HERE, "peer.py"), name, "PID",
                                  str(self.interval_s), str(samples))
        return measure

    # --- the tables ---

    def install_peers(self):
        """psutil and the Python tracker from PyPI; what cannot be installed is left out and named."""
        python = os.path.join(self.venv, "bin", "python")
        have, missing = [], []
        if not os.path.exists(python):
            subprocess.run([sys.executable, "-m", "venv", self.venv], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        for name, module in (("psutil", "psutil"), ("resource-tracker", "resource_tracker")):
            def works():
                return os.path.exists(python) and subprocess.run(
                    [python, "-c", f"import {module}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0
            if not works() and os.path.exists(python):
                subprocess.run([python, "-m", "pip", "install", "-q", name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            (have if works() else missing).append(name)
        return have, missing

    def native_peer(self, command):
        def measure(count):
            target = self.tree(count)
            value = native_peers.us_per_sample(command, target.pid, self.interval_s, max(5, self.samples // 2), self.folder, self.env)
            self.end(target)
            return value
        return measure

    def table_of_samples(self):
        """At a short interval, and at the default of one second, which is the peers' own too."""
        have, missing = self.install_peers()
        native, native_missing = native_peers.find(os.path.join(os.path.dirname(self.bin), "peers"))
        own = {"floor": self.floor, "tacho run": self.run, "tacho attach": self.attach}
        python = {name: self.peer(name) for name in have}
        short = self.interval_s, self.samples, self.rounds
        values = self.samples_at({**own, **python}, have)
        self.print_samples(values, "| goal: tacho | ≤ × 1.3 | ≤ × 1.3 | ≤ × 0.6 | ≤ × 0.4 |")
        tracker = values.get("resource-tracker", {}).get(100)
        if tracker:
            print(f"\nAt 100 processes the Python tracker costs {tracker / values['tacho run'][100]:.0f} × tacho run and "
                  f"{tracker / values['tacho attach'][100]:.0f} × tacho attach (goal: at least 20 ×).")
        print()
        # The memory of processes is read within a budget of 1 % of a core: at one second it may take ten milliseconds.
        self.interval_s, self.samples, self.rounds = 1.0, 5 if self.quick else 12, 1
        native_kinds = {name: self.native_peer(command) for name, command in native.items()}
        values = self.samples_at({**own, **python, **native_kinds}, [*have, *native])
        self.print_samples(values, "| goal: tacho, with the budget for PSS | – | – | – | ≤ 10000 µs |")
        self.interval_s, self.samples, self.rounds = short
        for name in missing:
            print(f"\n{name} could not be installed here and was not measured.")
        for name, why in native_missing.items():
            print(f"\n{name} was not measured: {why}.")
        print(flush=True)

    COUNTS = (1, 10, 100, 1000)

    def samples_at(self, kinds, slow):
        """{kind: {processes: median µs}}; each of `slow` is measured once where the tree is large: they are far away from any limit."""
        values = {kind: {} for kind in kinds}
        for count in self.COUNTS:
            seen = {kind: [] for kind in kinds}
            rounds = self.rounds if count > 10 else 3 * self.rounds  # small figures are the noisy ones
            for turn in range(rounds):
                for kind, measure in kinds.items():
                    if kind in slow and turn >= (1 if count == 1000 else self.rounds):
                        continue
                    note(f"{self.interval_s:g} s, {count} processes, round {turn + 1} of {rounds}: {kind}")
                    value = measure(count)
                    if value is not None:
                        seen[kind].append(value)
            for kind, all_values in seen.items():
                values[kind][count] = statistics.median(all_values) if all_values else None
        return values

    def print_samples(self, values, goal):
        print(f"## CPU time a sample, µs (× the floor); interval {self.interval_s * 1000:.0f} ms, median of {3 * self.rounds} rounds (at 100 and 1000: {self.rounds})\n")
        print("| processes (10 % active) | " + " | ".join(str(count) for count in self.COUNTS) + " |")
        print("|---|" + "---|" * len(self.COUNTS))
        for kind, figures in values.items():
            cells = []
            for count in self.COUNTS:
                value, floor = figures[count], values["floor"][count]
                cells.append("–" if value is None else f"{value:.0f}" + ("" if kind == "floor" or not floor else f" (× {value / floor:.2f})"))
            print(f"| {kind} | " + " | ".join(cells) + " |")
        print(goal, flush=True)

    def neighbours(self):
        """A tree of two beside many processes of others that fork all the time, at the default interval of a second."""
        others, forks = (500, 100) if self.quick else (2000, 100)
        was = self.interval_s, self.samples
        self.interval_s, self.samples = 1.0, 5 if self.quick else 20

        def run(*options):
            process, path = self.start_tacho(["run", "-i", "1", *options, "--"] + self.tree_command(2), stdin=subprocess.PIPE,
                                             stdout=subprocess.PIPE, text=True)
            process.stdout.readline()
            value = self.measure_tacho(process, path)
            self.end(process)
            return value

        def attach():
            target = subprocess.Popen(self.tree_command(2), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
            target.stdout.readline()
            process, path = self.start_tacho(["attach", "-i", "1", "--pid", str(target.pid)])
            value = self.measure_tacho(process, path)
            process.terminate()
            process.wait()
            self.end(target)
            return value

        kinds = {"tacho run": run, "tacho run --method tree": lambda: run("--method", "tree"), "tacho attach (the root leads a session)": attach}
        values = {kind: [] for kind in kinds}
        for count in (0, others):
            busy = subprocess.Popen([self.program("burn_neighbours"), str(count), str(forks if count else 0)], stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, text=True)
            busy.stdout.readline()
            for kind, measure in kinds.items():
                note(f"{count} neighbours: {kind}")
                values[kind].append(measure())
            self.end(busy)
        self.interval_s, self.samples = was
        print(f"## CPU time a sample beside busy neighbours, ms; a tree of two, interval 1 s\n\n| | alone | {others} other processes, {forks} forks a second |\n|---|---|---|")
        for kind, (alone, beside) in values.items():
            print(f"| {kind} | {alone / 1000:.2f} | {beside / 1000:.2f} |")
        print("| goal | | ≤ 0.3 |\n", flush=True)

    def wrapper_cost(self):
        """Wall time of a program that does nothing, with and without tacho, taking turns."""
        turns = 40 if self.quick else 300
        true = shutil.which("true")
        tacho = self.program("tacho")
        kinds = {"true": [true], "tacho run --no-store -- true": [tacho, "run", "-q", "--no-store", "--", true],
                 "tacho run -- true": [tacho, "run", "-q", "--store", os.path.join(self.folder, "wrapper"), "--", true]}
        times = {kind: [] for kind in kinds}
        note("wrapper cost")
        for _ in range(turns):
            for kind, words in kinds.items():
                begun = time.perf_counter_ns()
                os.waitpid(os.posix_spawn(words[0], words, self.env), 0)
                times[kind].append((time.perf_counter_ns() - begun) / 1e6)
        plain = statistics.median(times["true"])
        print(f"## Cost of the wrapper, ms of wall time, median of {turns}\n\n| | median | added |\n|---|---|---|")
        for kind, all_times in times.items():
            median = statistics.median(all_times)
            print(f"| `{kind}` | {median:.2f} | {'' if kind == 'true' else f'{median - plain:.2f}'} |")
        print("| goal | | ≤ 5 |\n", flush=True)

    def status_kib(self, pid, key):
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            return next((int(line.split()[1]) for line in file if line.startswith(key + ":")), 0)

    def fast_ticks(self):
        """10 ms on a tree of 10: share of a core, drift of the tick, memory at the start and at the end."""
        ticks = 500 if self.quick else 10_000
        note(f"{ticks} ticks of 10 ms")
        process, path = self.start_tacho(["run", "-i", "10ms", "--"] + self.tree_command(10), stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, text=True)
        process.stdout.readline()
        while self.rows(path) < 50:
            time.sleep(0.05)
        cpu, wall, rss = cpu_s(process.pid), time.monotonic(), self.status_kib(process.pid, "VmRSS")
        time.sleep(ticks * 0.01)
        share = (cpu_s(process.pid) - cpu) / (time.monotonic() - wall) * 100
        rss_end, peak = self.status_kib(process.pid, "VmRSS"), self.status_kib(process.pid, "VmHWM")
        self.end(process)
        with open(path, encoding="utf-8") as file:
            stamps = [float(line.split(",", 1)[0]) for line in file.read().splitlines()[1:]][:-1]
        steps = [round((b - a) / 0.01) for a, b in zip(stamps, stamps[1:])]
        missed = sum(step - 1 for step in steps if step > 1)
        drift = (stamps[-1] - stamps[0]) - 0.01 * (len(stamps) - 1 + missed)
        print(f"## 10 ms interval, tree of 10, {len(stamps)} ticks\n\n| | measured | goal |\n|---|---|---|")
        print(f"| CPU of tacho, % of one core | {share:.2f} | < 2 |")
        print(f"| drift over the run, intervals (ticks skipped: {missed}) | {drift / 0.01:+.2f} | within 1 |")
        print(f"| resident memory at its highest, MiB | {peak / 1024:.2f} | ≤ 6 |")
        print(f"| resident memory, end − start, KiB | {rss_end - rss:+d} | 0 |\n", flush=True)

    def replay(self):
        """A million samples on a replayed clock: memory must stay flat."""
        samples = 50_000 if self.quick else 1_000_000
        note(f"{samples} samples on a replayed clock")
        done = json.loads(subprocess.run([self.program("bench_replay"), str(samples)], stdout=subprocess.PIPE, env=self.env, check=True).stdout)
        print(f"## {samples} samples, replayed clock\n\n| | measured | goal |\n|---|---|---|")
        print(f"| resident memory at the end, MiB | {done['end_kib'] / 1024:.2f} | ≤ 6 |")
        print(f"| growth since a tenth of them, KiB | {done['end_kib'] - done['early_kib']:+d} | 0 |\n", flush=True)

    def cromwell(self):
        """A workflow's metadata: both passes against a plain read of the same file, and the memory."""
        if not os.path.exists(self.program("bench_cromwell")):
            return
        print("\n## Metadata of a Cromwell workflow\n")
        print("| calls | document | pass 1 | pass 2 | pass 2 with JSON | both passes together | against a plain read | pass 1 against RapidJSON's SAX | peak memory |")
        print("|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
        for calls in (10_000, 100_000) if self.quick else (10_000, 100_000, 1_000_000):
            path = os.path.join(self.folder, "metadata.json")
            note(f"a document with {calls} calls")
            subprocess.run([sys.executable, os.path.join(HERE, "cromwell_document.py"), str(calls), path], check=True, stdout=subprocess.DEVNULL)
            done = json.loads(subprocess.run([self.program("bench_cromwell"), path], check=True, stdout=subprocess.PIPE, text=True).stdout)
            os.unlink(path)
            size = done["bytes"] / 1e6
            both = done["pass1_s"] + done["pass2_s"]
            peer = f"{done['peer_s'] / done['pass1_s']:.1f} × faster" if done["peer_s"] else "not installed"
            print(f"| {calls} | {size:.0f} MB | {size / done['pass1_s']:.0f} MB/s | {size / done['pass2_s']:.0f} MB/s | {size / done['pass2_json_s']:.0f} MB/s "
                  f"| {size / both:.0f} MB/s | {both / max(done['read_s'], 1e-3):.1f} × its CPU time | {peer} | {done['peak_kib'] / 1024:.1f} MiB |")


# A part is called with the Bench and prints its table.
PARTS = {
    "samples": Bench.table_of_samples,
    "waits": waits.table,
    "seeing": seeing.table,
    "neighbours": Bench.neighbours,
    "wrapper": Bench.wrapper_cost,
    "hook": hook.table,
    "ticks": Bench.fast_ticks,
    "replay": Bench.replay,
    "bytes": sent_bytes.table,
    "hour": sent_bytes.hour,
    "delivery": delivery.table,
    "monitor": monitor,
    "python": python_package.table,
    "katib": katib.table,
    "db": katib_db.table,
    "cromwell": Bench.cromwell,
    "sizes": sizes,
    "inject": webhook_peer.table,
    "page": page.table,
    "query": query.table,
}
ONLY_WHEN_ASKED = {"hour"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build_dir")
    parser.add_argument("--quick", action="store_true", help="fewer samples: about a minute and a half")
    parser.add_argument("--only", choices=PARTS)
    options = parser.parse_args()
    bench = Bench(os.path.abspath(options.build_dir), options.quick)
    try:
        print(f"{os.cpu_count()} cores, Linux {os.uname().release}\n")
        for name, part in PARTS.items():
            if options.only == name or (options.only is None and name not in ONLY_WHEN_ASKED):
                part(bench)
    finally:
        shutil.rmtree(bench.folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
