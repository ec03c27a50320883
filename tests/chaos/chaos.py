#!/usr/bin/env python3
"""Random trouble for every program of tacho, in bounded steps.

Each step is one scene of one part (tests/chaos/part_*.py): programs are started, killed, stopped, starved, lied to and
attacked by another user, then the weather clears and everything is counted. What must be true afterwards: no row is lost,
none is there twice, no file of anybody else was touched, and no job was hurt. A step is made of its seed alone, so that a
failed one can be repeated: chaos.py BUILD --only PART --seed N --step K. All of it talks to loopback and ends by itself.
The last line is `N passed, N failed`.
"""
import argparse
import concurrent.futures
import os
import random
import signal
import sys
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
E2E = os.path.join(HERE, "..", "e2e")
# How many of sixteen steps a part gets.
PARTS = {"delivery": 6, "stranger": 4, "job": 2, "monitor": 1, "collector": 1, "webhook": 1, "controller": 1}
VERDICTS = ("lost", "doubled", "foreign", "hurt")


class Outcome(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.reason = None
        self.text = ""

    def addSkip(self, test, reason):
        self.reason = reason

    def addFailure(self, test, err):
        self.text += self._exc_info_to_string(err, test)

    addError = addFailure


def options_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build_dir", nargs="?", default="build/test")
    parser.add_argument("--steps", type=int, default=1000, help="all parts together (1000)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="the same seed, the same steps (now)")
    parser.add_argument("--only", choices=PARTS, action="append", help="this part alone; may be repeated")
    parser.add_argument("--step", type=int, action="append", help="this step of the part alone; may be repeated")
    parser.add_argument("-j", type=int, default=6, help="steps at a time (6): most of a step is waiting")
    return parser.parse_args(arguments)


def plan_of(options):
    """(part, number) of every step, the parts mixed."""
    parts = options.only or list(PARTS)
    if options.step:
        return [(part, number) for part in parts for number in options.step]
    whole = sum(PARTS[part] for part in parts)
    plan = []
    for part in parts:
        plan += [(part, number) for number in range(-(-options.steps * PARTS[part] // whole))]
    random.Random(options.seed).shuffle(plan)
    return plan[:options.steps]


def main():
    options = options_of(sys.argv[1:])
    os.environ["TACHO_BUILD_DIR"] = os.path.abspath(options.build_dir)
    sys.path[:0] = [HERE, E2E]
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):  # a shell leaves these ignored in the background
        signal.signal(number, signal.SIG_DFL)
    steps = {part: __import__("part_" + part).Step for part in PARTS}
    print(f"seed {options.seed}", flush=True)
    lock = threading.Lock()
    counts = dict.fromkeys(("passed", "failed", "skipped", *VERDICTS), 0)
    begun = time.monotonic()

    def one(part, number):
        step = steps[part]()
        step.dice = random.Random(f"{options.seed}-{part}-{number}")
        outcome = Outcome()
        step.run(outcome)
        with lock:
            counts["failed" if outcome.text else "skipped" if outcome.reason else "passed"] += 1
            for word in VERDICTS:
                counts[word] += f"{word}: " in outcome.text
            if outcome.text:
                print(f"FAIL {part}: repeat it with --only {part} --seed {options.seed} --step {number}\n{outcome.text}", flush=True)
            done = counts["passed"] + counts["failed"] + counts["skipped"]
            if done % 50 == 0:
                print(f"[{time.monotonic() - begun:5.0f}s] {done} steps, {counts['failed']} failed", flush=True)

    with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
        for future in [pool.submit(one, *step) for step in plan_of(options)]:
            future.result()
    print(f"{counts['skipped']} skipped here, {time.monotonic() - begun:.0f}s; steps with rows lost {counts['lost']}, doubled "
          f"{counts['doubled']}, foreign files touched {counts['foreign']}, jobs hurt {counts['hurt']}")
    print(f"{counts['passed']} passed, {counts['failed']} failed")
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
