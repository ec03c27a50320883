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
    """What burn_walk saw: begin, end, alive, KiB, CPU seconds, started, ended, KiB that were forked."""

    def __init__(self, text):
        self.all = []
        for line in text.splitlines():
            fields = line.split()
            if len(fields) == 8:
                self.all.append((*map(float, fields[:2]), *map(int, fields[2:4]), float(fields[4]), *map(int, fields[5:])))

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


def one_round(tacho, burners, kind, seed, ms, note=lambda text: None):
    """Returns a line about it; raises Wrong with everything that was wrong."""
    chance = random.Random(seed)
    interval = chance.choice((0.05, 0.1, 0.1, 0.25, 0.5))
    with_letters = letters(kind, chance)
    folder = tempfile.mkdtemp(prefix="tacho-tree-")
    os.chmod(folder, 0o777)
    user = NOBODY if kind.endswith("nobody") and IS_ROOT else []
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": folder, "XDG_STATE_HOME": folder, "TACHO_NO_CLOUD": "1",
           "TACHO_E2E_MARK": os.environ.get("TACHO_E2E_MARK", "")}
    ledger, store = os.path.join(folder, "ledger"), os.path.join(folder, "store")
    with open(ledger, "wb") as file:
        file.truncate(4096)
    os.chmod(ledger, 0o666)
    job = [os.path.join(burners, "burn_random_tree"), ledger, str(seed), str(ms), with_letters]
    options = ["-q", "-i", str(interval), "--store", store, "--pss", "never"]
    if "exits" in kind:
        options += ["--probe", "exits"]
    started = []
    stolen = stolen_s()

    def start(words, **keywords):
        keywords.setdefault("start_new_session", True)  # a session each is a fair share of the machine each
        process = subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True, **keywords)
        started.append(process)
        return process

    def end_all():  # whatever hangs: a round takes seconds
        for process in list(started):
            if process.poll() is None:
                process.kill()

    watchdog = threading.Timer(120, end_all)
    watchdog.daemon = True
    watchdog.start()

    def go(worker):
        worker.stdin.write("go\n")
        worker.stdin.flush()

    try:
        if kind.startswith("run"):
            method = ["--method", "cgroup" if "cgroup" in kind else "tree"]
            worker = recorder = start(user + [tacho, "run", *options, *method, "--", *job], stdin=subprocess.PIPE)
            if "i" not in with_letters:
                go(worker)  # what is there at once must be seen at once
            root = int(worker.stdout.readline().split()[1])
            walker = start([os.path.join(burners, "burn_walk"), ledger, str(recorder.pid), str(WALK_MS), "below"])
        else:
            worker = start(user + job, stdin=subprocess.PIPE, start_new_session="group" not in kind)
            root = int(worker.stdout.readline().split()[1])
            walker = start([os.path.join(burners, "burn_walk"), ledger, str(root), str(WALK_MS), "session" if "group" not in kind else "tree"])
            recorder = start(user + [tacho, "attach", *options, "--pid", str(root)])
            end = time.monotonic() + 30
            while not (os.path.isdir(store) and any(os.path.exists(os.path.join(store, run, "metrics.csv")) for run in os.listdir(store))):
                if time.monotonic() > end or recorder.poll() is not None:
                    raise Wrong("tacho attach wrote nothing")
                time.sleep(0.01)
        time.sleep(0.15)  # the walks have begun, and so has a clock that children inherit
        go(worker)
        truth = None
        for line in worker.stdout:
            if line.startswith("{"):
                truth = json.loads(line)
        for process in (recorder, worker):  # who is reaped before tacho read it at last took its time along
            process.wait(60)
        walks = Walks(walker.communicate(timeout=60)[0])
        run_folder = os.path.join(store, os.listdir(store)[0])
        with open(os.path.join(run_folder, "run.json"), encoding="utf-8") as file:
            run = json.load(file)
        with open(os.path.join(run_folder, "metrics.csv"), encoding="utf-8") as file:
            lines = [line.split(",") for line in file.read().splitlines()]
        rows = [dict(zip(lines[0], line)) for line in lines[1:]]
        if truth is None:
            raise Wrong("the tree did not end well")
        with open(os.path.join(run_folder, "processes.csv"), newline="", encoding="utf-8") as file:
            lines_s = sum(float(line["cpu_s"]) for line in csv.DictReader(file))
        return compare(kind, interval, with_letters, rows, walks, truth, run, root, stolen_s() - stolen, lines_s, note)
    finally:
        watchdog.cancel()
        for process in started:
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream:
                    stream.close()
        shutil.rmtree(folder, ignore_errors=True)


def compare(kind, interval, with_letters, rows, walks, truth, run, root, stolen, lines_s, note):
    wrong = []
    if "i" not in with_letters or run["method"]["cpu"] == "cgroup":
        stolen = 0.0
    cores = os.cpu_count()
    # Rows are due at whole intervals behind the start; what a row says was read between that moment and its time stamp. Where the
    # machine is so loaded that the walks come late, so may tacho's own steps.
    stamps = [float(row["timestamp"]) for row in rows]
    phase = datetime.datetime.fromisoformat(run["outcome"]["started_at"].replace("Z", "+00:00")).timestamp()
    gaps = sorted(b[0] - a[0] for a, b in zip(walks.all, walks.all[1:]))
    late = max(0.02, 2 * gaps[len(gaps) // 2]) if gaps else 0.02
    told_s = 0.0
    compared = 0
    by_cgroup = run["method"]["cpu"] == "cgroup"
    for index, row in enumerate(rows[:-1]):
        stamp = stamps[index]
        seconds = float(row["process_utime"]) + float(row["process_stime"])
        told_s += seconds
        due = stamp - (stamp - phase) % interval
        window = walks.around(due - late, stamp + 0.002)
        if window is None:
            continue
        compared += 1
        begun, ended = window[-1][5] - window[0][5], walks.ended_by(window[-1]) - window[0][6]
        alive = [walk[2] for walk in window]
        kib = [walk[3] for walk in window]
        moved_kib = sum(abs(b - a) for a, b in zip(kib, kib[1:]))
        context = f"row {index} at {stamp:.3f} (due {due:.3f}): "
        children = int(row["process_children"]) + (1 if kind.startswith("run") else 0)  # below tacho the root is one more
        # Who ended told so just before: it may have been there still. Who forks tells so before, too; on a loaded machine that takes
        # long enough for another to go in the moment in which it comes.
        before = [walk for walk in walks.all if walk[1] < window[0][0] - max(0.03, 2 * late if late > 0.02 else 0)]
        ending = window[0][6] - max((walk[6] for walk in before), default=0)
        if late > 0.02:
            begun += window[0][5] - max((walk[5] for walk in before), default=0)
        if not min(alive) - ended - ending <= children <= max(alive) + begun + ending:
            wrong.append(context + f"{children} processes, the walks saw {alive}; started {begun}, ended {ended}+{ending}")
        memory_kib = float(row["process_memory_mib"]) * 1024
        spare = 2048 + 0.03 * max(kib) + moved_kib + (begun + ended + ending) * 3072
        # A child has its parent's pages until it executes another program; one that did so, or ended, between two walks was in none.
        forked_kib = window[-1][7] - max((walk[7] for walk in before), default=0)
        if not min(kib) - spare <= memory_kib <= max(kib) + spare + forked_kib:
            wrong.append(context + f"{memory_kib:.0f} KiB, the walks saw {kib}; forked {forked_kib}")
        # What was waited for is told in ticks, user and system time apart; what runs is a tick behind, on each core.
        rounding = 2 * TICK_S * (max(alive) + ended + ending + 1)
        low, high = window[0][4], window[-1][4]
        spare = 0.01 * high + cores * TICK_S + stolen
        if told_s > high + spare + 0.003 * max(alive) + 0.001 * window[-1][5]:
            wrong.append(context + f"{told_s:.3f} s so far, the processes had {high:.3f}")
        if exact(with_letters, kind, run) and told_s < low - spare - rounding:
            wrong.append(context + f"{told_s:.3f} s so far, the processes had {low:.3f} already")
        rate = float(row["process_cpu_usage"])
        if rate > 0 and index > 0:
            length = seconds / rate
            if seconds > cores * (length + TICK_S) + (0 if by_cgroup else rounding):
                wrong.append(context + f"{seconds:.3f} s in {length:.3f} s on {cores} cores")
    total = run["totals"]["cpu_user_s"] + run["totals"]["cpu_system_s"]
    leaving = 0.0006 * truth["started"] + 0.02 + stolen  # what a process spends on its own end it cannot tell
    if total > truth["cpu_s"] * 1.01 + leaving:
        wrong.append(f"total {total:.3f} s, the processes had {truth['cpu_s']:.3f}")
    # Where a stranger waits for some, the sum is that of what the kernel told of each.
    told_ends = "exits" in kind and not any("does not tell" in note for note in run["notes"])
    unsaid = 0.02 + (SLICE_S * truth["started"] if kind == "attach_exits_root" else 0)
    if (exact(with_letters, kind, run) or (told_ends and kind.startswith("attach"))) and total < truth["cpu_s"] * 0.99 - unsaid:
        wrong.append(f"total {total:.3f} s of {truth['cpu_s']:.3f}")
    # Of two that had one number in one interval it is not always known who was who.
    if told_ends and abs(run["totals"]["processes_seen"] - truth["started"] - 1) > truth["reused"]:
        wrong.append(f"{run['totals']['processes_seen']} processes of {truth['started'] + 1}")
    if not -0.01 <= total - lines_s <= max(0.05, 0.01 * total):  # never above, but for a tick of who is about to end
        wrong.append(f"total {total:.3f} s, the lines of processes.csv {lines_s:.3f}")
    line = (f"{kind} i={interval} {with_letters}: {len(rows)} rows, {compared} compared with {len(walks.all)} walks, {truth['started']} processes "
            f"({truth['reused']} with a used number), {total:.2f} s of {truth['cpu_s']:.2f}")
    note(line)
    if wrong:
        raise Wrong("\n".join([line, f"root {root}, {run['method']}, {run['notes']}"] + wrong[:20]))
    return line


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
