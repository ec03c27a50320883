#!/usr/bin/env python3
"""The property of the job's tree: whatever its processes do, each row says what a walk over all of /proc at that moment says.

burn_random_tree does at random what processes can do, burn_walk walks beside it without any shortcut, and tacho records. Compared are,
for every row: processes, memory, CPU time so far, and that nobody used more than the machine has; at the end the total, and that the
lines of processes.csv add up to it.

As a program it goes on for long: tree_oracle.py BUILD_DIR [--rounds N] [--seed N] [--ms N] [--kind KIND]; --tacho PROGRAM tries
another build's. It prints the seed of each round; the same seed makes the same choices.
"""
import argparse
import csv
import datetime
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

IS_ROOT = os.geteuid() == 0
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
KINDS = ("run_cgroup_root", "run_tree_root", "run_tree_nobody", "attach_root", "attach_nobody", "attach_group_root",
         "run_exits_root", "attach_exits_root")
TICK_S = 0.01
SLICE_S = 0.004  # what the message about a process's end may lack: a tick of the scheduler's at 250 Hz
WALK_MS = 8


class Wrong(Exception):
    pass


class Walks:
    """What burn_walk saw: begin, end, alive, KiB, CPU seconds, started, ended, KiB that were forked, and KiB of each process."""

    def __init__(self, text):
        self.all = []
        for line in text.splitlines():
            fields = line.split()
            if len(fields) >= 8:
                each = {who: int(kib) for who, _, kib in (field.rpartition(":") for field in fields[8:])}
                self.all.append((*map(float, fields[:2]), *map(int, fields[2:4]), float(fields[4]), *map(int, fields[5:8]), each))

    def around(self, begin, end):
        """All walks inside, and one more at each side; None where there is none before or behind."""
        first = max((i for i, walk in enumerate(self.all) if walk[1] <= begin), default=None)
        last = min((i for i, walk in enumerate(self.all) if walk[0] >= end), default=None)
        return None if first is None or last is None else self.all[first:last + 1]

    def ended_by(self, walk):
        """How many had ended when this walk was over: what is told of a walk is from its begin."""
        behind = self.all.index(walk) + 1
        return self.all[min(behind, len(self.all) - 1)][6]


def stolen_s():
    """CPU time that other guests took from this machine so far: a clock that children inherit (perf's) cannot tell it from their own."""
    with open("/proc/stat", encoding="utf-8") as file:
        fields = file.readline().split()
    return int(fields[8]) / os.sysconf("SC_CLK_TCK") if len(fields) > 8 else 0.0


def letters(kind, chance):
    """What the tree may do. Whom nobody is told of is left out where the total is to be exact: an attached tree's orphans end unseen."""
    words = "txzvpm" + ("r" if "root" in kind else "") + chance.choice(("c", ""))
    if kind.startswith("attach"):
        # One that leads another session, or none, and whose parent ends unseen is nobody's any more.
        return words + ("s" if "group" in kind else "o" if "exits" in kind else chance.choice(("o", "o", "s", "i")))
    return words + "os" + ("i" if chance.random() < 0.25 else "")


class Round:
    """One random tree, tacho beside it, and the walks: the real programs, in a folder of their own."""

    def __init__(self, tacho, burners, kind, seed, ms):
        chance = random.Random(seed)
        self.tacho, self.burners, self.kind = tacho, burners, kind
        self.interval = chance.choice((0.05, 0.1, 0.1, 0.25, 0.5))
        self.letters = letters(kind, chance)
        self.folder = tempfile.mkdtemp(prefix="tacho-tree-")
        os.chmod(self.folder, 0o777)
        self.user = NOBODY if kind.endswith("nobody") and IS_ROOT else []
        self.env = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": self.folder, "XDG_STATE_HOME": self.folder, "TACHO_NO_CLOUD": "1",
                    "TACHO_E2E_MARK": os.environ.get("TACHO_E2E_MARK", "")}
        self.ledger, self.store, self.walks = (os.path.join(self.folder, name) for name in ("ledger", "store", "walks"))
        with open(self.ledger, "wb") as file:
            file.truncate(4096)
        os.chmod(self.ledger, 0o666)
        self.job = [os.path.join(burners, "burn_random_tree"), self.ledger, str(seed), str(ms), self.letters]
        self.options = ["-q", "-i", str(self.interval), "--store", self.store, "--pss", "never"]
        if "exits" in kind:
            self.options += ["--probe", "exits"]
        self.started = []
        self.stolen_before = stolen_s()
        self.watchdog = threading.Timer(120, self.end_all)  # whatever hangs: a round takes seconds
        self.watchdog.daemon = True
        self.watchdog.start()

    def start(self, words, **keywords):
        keywords.setdefault("start_new_session", True)  # a session each is a fair share of the machine each
        keywords.setdefault("stdout", subprocess.PIPE)
        process = subprocess.Popen(words, env=self.env, text=True, **keywords)
        self.started.append(process)
        return process

    def walk(self, pid, who):
        with open(self.walks, "w", encoding="ascii") as out:  # a pipe that nobody reads meanwhile would stop it
            return self.start([os.path.join(self.burners, "burn_walk"), self.ledger, str(pid), str(WALK_MS), who], stdout=out)

    def end_all(self):
        for process in list(self.started):
            if process.poll() is None:
                process.kill()

    def start_run(self):
        """(worker, recorder, walker, the root's number)"""
        method = ["--method", "cgroup" if "cgroup" in self.kind else "tree"]
        recorder = self.start(self.user + [self.tacho, "run", *self.options, *method, "--", *self.job], stdin=subprocess.PIPE)
        if "i" not in self.letters:
            go(recorder)  # what is there at once must be seen at once
        root = int(recorder.stdout.readline().split()[1])
        return recorder, recorder, self.walk(recorder.pid, "below"), root

    def start_attach(self):
        group = "group" in self.kind
        worker = self.start(self.user + self.job, stdin=subprocess.PIPE, start_new_session=not group)
        root = int(worker.stdout.readline().split()[1])
        walker = self.walk(root, "tree" if group else "session")
        recorder = self.start(self.user + [self.tacho, "attach", *self.options, "--pid", str(root)])
        end = time.monotonic() + 30
        while not (os.path.isdir(self.store) and any(os.path.exists(os.path.join(self.store, run, "metrics.csv")) for run in os.listdir(self.store))):
            if time.monotonic() > end or recorder.poll() is not None:
                raise Wrong("tacho attach wrote nothing")
            time.sleep(0.01)
        return worker, recorder, walker, root

    def record(self):
        """What there is to compare."""
        worker, recorder, walker, root = self.start_run() if self.kind.startswith("run") else self.start_attach()
        time.sleep(0.15)  # the walks have begun, and so has a clock that children inherit
        go(worker)
        truth = None
        for line in worker.stdout:
            if line.startswith("{"):
                truth = json.loads(line)
        for process in (recorder, worker):  # who is reaped before tacho read it at last took its time along
            process.wait(60)
        walker.wait(60)
        with open(self.walks, encoding="ascii") as file:
            walks = Walks(file.read())
        run_folder = os.path.join(self.store, os.listdir(self.store)[0])
        with open(os.path.join(run_folder, "run.json"), encoding="utf-8") as file:
            run = json.load(file)
        with open(os.path.join(run_folder, "metrics.csv"), encoding="utf-8") as file:
            lines = [line.split(",") for line in file.read().splitlines()]
        if truth is None:
            raise Wrong("the tree did not end well")
        with open(os.path.join(run_folder, "processes.csv"), newline="", encoding="utf-8") as file:
            lines_s = sum(float(line["cpu_s"]) for line in csv.DictReader(file))
        rows = [dict(zip(lines[0], line)) for line in lines[1:]]
        return Comparison(self, rows, walks, truth, run, root, stolen_s() - self.stolen_before, lines_s)

    def close(self):
        self.watchdog.cancel()
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream:
                    stream.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def go(worker):
    worker.stdin.write("go\n")
    worker.stdin.flush()


def one_round(tacho, burners, kind, seed, ms, note=lambda text: None):
    """Returns a line about it; raises Wrong with everything that was wrong."""
    this = Round(tacho, burners, kind, seed, ms)
    try:
        comparison = this.record()
        comparison.compare()
        line = comparison.line()
        note(line)
        if comparison.wrong:
            raise Wrong("\n".join([line, comparison.about()] + comparison.wrong[:20]))
        return line
    finally:
        this.close()


class Window:
    """The walks around the moment at which a row was read."""

    def __init__(self, walks, inside, late):
        self.walks = inside
        self.begun, self.ended = inside[-1][5] - inside[0][5], walks.ended_by(inside[-1]) - inside[0][6]
        self.alive = [walk[2] for walk in inside]
        self.kib = [walk[3] for walk in inside]
        # One by one: where one gives memory back while another takes as much, all walks have the same sum, and a row that
        # read one after and the other before that is right, too.
        each = [walk[8] for walk in inside]
        self.least_kib = sum(min(walk.get(who, 0) for walk in each) for who in each[0])
        self.most_kib = sum(max(walk.get(who, 0) for walk in each) for who in set().union(*each))
        # Who ended told so just before: it may have been there still. Who forks tells so before, too; on a loaded machine that takes
        # long enough for another to go in the moment in which it comes.
        before = [walk for walk in walks.all if walk[1] < inside[0][0] - max(0.03, 2 * late if late > 0.02 else 0)]
        self.ending = inside[0][6] - max((walk[6] for walk in before), default=0)
        if late > 0.02:
            self.begun += inside[0][5] - max((walk[5] for walk in before), default=0)
        # A child has its parent's pages until it executes another program; one that did so, or ended, between two walks was in none.
        self.forked_kib = inside[-1][7] - max((walk[7] for walk in before), default=0)


class Comparison:
    """Every row against the walks around it, and the totals against what the processes told of themselves."""

    def __init__(self, this, rows, walks, truth, run, root, stolen, lines_s):
        self.kind, self.interval, self.letters = this.kind, this.interval, this.letters
        self.rows, self.walks, self.truth, self.run, self.root, self.lines_s = rows, walks, truth, run, root, lines_s
        self.by_cgroup = run["method"]["cpu"] == "cgroup"
        self.exact = exact(self.letters, self.kind, run)
        self.stolen = 0.0 if "i" not in self.letters or self.by_cgroup else stolen
        self.cores = os.cpu_count()
        self.compared = 0
        self.wrong = []

    def compare(self):
        # Rows are due at whole intervals behind the start; what a row says was read between that moment and its time stamp. Where the
        # machine is so loaded that the walks come late, so may tacho's own steps.
        phase = datetime.datetime.fromisoformat(self.run["outcome"]["started_at"].replace("Z", "+00:00")).timestamp()
        gaps = sorted(b[0] - a[0] for a, b in zip(self.walks.all, self.walks.all[1:]))
        late = max(0.02, 2 * gaps[len(gaps) // 2]) if gaps else 0.02
        told_s = 0.0
        for index, row in enumerate(self.rows[:-1]):
            stamp = float(row["timestamp"])
            told_s += float(row["process_utime"]) + float(row["process_stime"])
            due = stamp - (stamp - phase) % self.interval
            inside = self.walks.around(due - late, stamp + 0.002)
            if inside is None:
                continue
            self.compared += 1
            window = Window(self.walks, inside, late)
            context = f"row {index} at {stamp:.3f} (due {due:.3f}): "
            self.compare_members(row, window, context)
            self.compare_time(row, window, told_s, index, context)
        self.compare_totals()

    def compare_members(self, row, window, context):
        children = int(row["process_children"]) + (1 if self.kind.startswith("run") else 0)  # below tacho the root is one more
        if not min(window.alive) - window.ended - window.ending <= children <= max(window.alive) + window.begun + window.ending:
            self.wrong.append(context + f"{children} processes, the walks saw {window.alive}; started {window.begun}, ended {window.ended}+{window.ending}")
        memory_kib = float(row["process_memory_mib"]) * 1024
        spare = 2048 + 0.03 * max(window.kib)
        if not window.least_kib - spare <= memory_kib <= window.most_kib + spare + window.forked_kib:
            each = sorted({who for walk in window.walks for who in walk[8]})
            table = "; ".join(f"{who} {[walk[8].get(who, 0) for walk in window.walks]}" for who in each)
            self.wrong.append(context + f"{memory_kib:.0f} KiB, the walks saw {window.kib}: {table}; forked {window.forked_kib}")

    def compare_time(self, row, window, told_s, index, context):
        # What was waited for is told in ticks, user and system time apart; what runs is a tick behind, on each core.
        rounding = 2 * TICK_S * (max(window.alive) + window.ended + window.ending + 1)
        low, high = window.walks[0][4], window.walks[-1][4]
        spare = 0.01 * high + self.cores * TICK_S + self.stolen
        if told_s > high + spare + 0.003 * max(window.alive) + 0.001 * window.walks[-1][5]:
            self.wrong.append(context + f"{told_s:.3f} s so far, the processes had {high:.3f}")
        if self.exact and told_s < low - spare - rounding:
            self.wrong.append(context + f"{told_s:.3f} s so far, the processes had {low:.3f} already")
        seconds = float(row["process_utime"]) + float(row["process_stime"])
        rate = float(row["process_cpu_usage"])
        if rate > 0 and index > 0:
            length = seconds / rate
            if seconds > self.cores * (length + TICK_S) + (0 if self.by_cgroup else rounding):
                self.wrong.append(context + f"{seconds:.3f} s in {length:.3f} s on {self.cores} cores")

    def total(self):
        return self.run["totals"]["cpu_user_s"] + self.run["totals"]["cpu_system_s"]

    def compare_totals(self):
        total, truth, totals = self.total(), self.truth, self.run["totals"]
        leaving = 0.0006 * truth["started"] + 0.02 + self.stolen  # what a process spends on its own end it cannot tell
        if total > truth["cpu_s"] * 1.01 + leaving:
            self.wrong.append(f"total {total:.3f} s, the processes had {truth['cpu_s']:.3f}")
        # Where a stranger waits for some, the sum is that of what the kernel told of each.
        told_ends = "exits" in self.kind and not any("does not tell" in note for note in self.run["notes"])
        unsaid = 0.02 + (SLICE_S * truth["started"] if self.kind == "attach_exits_root" else 0)
        if (self.exact or (told_ends and self.kind.startswith("attach"))) and total < truth["cpu_s"] * 0.99 - unsaid:
            self.wrong.append(f"total {total:.3f} s of {truth['cpu_s']:.3f}")
        # Of two that had one number in one interval it is not always known who was who.
        if told_ends and abs(totals["processes_seen"] - truth["started"] - 1) > truth["reused"]:
            self.wrong.append(f"{totals['processes_seen']} processes of {truth['started'] + 1}")
        if not -0.01 <= total - self.lines_s <= max(0.05, 0.01 * total):  # never above, but for a tick of who is about to end
            self.wrong.append(f"total {total:.3f} s, the lines of processes.csv {self.lines_s:.3f}")

    def line(self):
        return (f"{self.kind} i={self.interval} {self.letters}: {len(self.rows)} rows, {self.compared} compared with {len(self.walks.all)} walks, "
                f"{self.truth['started']} processes ({self.truth['reused']} with a used number), {self.total():.2f} s of {self.truth['cpu_s']:.2f}")

    def about(self):
        return f"root {self.root}, {self.run['method']}, {self.run['notes']}"


def exact(with_letters, kind, run):
    """Whether the kernel lets every second be known."""
    if run["method"]["cpu"] == "cgroup":
        return True
    if kind.startswith("attach") and "o" in with_letters:
        return False  # an orphan is waited for by a stranger, who alone is told what it used at last
    return "i" not in with_letters or any("clock that" in note for note in run["notes"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build_dir")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--ms", type=int, default=3000)
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--tacho")
    options = parser.parse_args()
    burners = os.path.join(os.path.abspath(options.build_dir), "bin")
    tacho = options.tacho or os.path.join(burners, "tacho")
    failed = 0
    for number in range(options.rounds):
        seed = options.seed + number
        for kind in [options.kind] if options.kind else KINDS:
            if "root" in kind and not IS_ROOT:
                continue
            try:
                print(f"ok   seed {seed} {one_round(tacho, burners, kind, seed, options.ms)}", flush=True)
            except Wrong as wrong:
                failed += 1
                print(f"FAIL seed {seed} {wrong}", flush=True)
    print(f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
