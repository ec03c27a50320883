#!/usr/bin/env python3
"""Runs the end-to-end tests over a build: run.py BUILD_DIR [-k WORD] [-j N].

One line a test as it ends; a test that this machine cannot do is skipped with its reason and counted apart. A test that
failed among others has one more try alone at the end: if it passes there, its failure stays printed and it is named as
unsteady, which is a bug of the test or of tacho to be looked at, but not of this change. Then come the tests that took
longest, and the CPU time of all. The last line is `N passed, N failed`; the exit status is 0 when nothing failed. Needs
Python 3.9 and its standard library.
"""
import argparse
import concurrent.futures
import os
import signal
import sys
import threading
import time
import unittest

MOST_RETRIED = 8
SLOWEST = 20
HERE = os.path.dirname(os.path.abspath(__file__))


class Outcome(unittest.TestResult):
    """Of one test: ok, skipped with a reason, or failed with a text."""

    def __init__(self):
        super().__init__()
        self.reason = None
        self.text = None

    def addSkip(self, test, reason):
        self.reason = reason

    def addFailure(self, test, err):
        self.text = (self.text or "") + self._exc_info_to_string(err, test)

    addError = addFailure

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.text = (self.text or "") + f"{subtest}\n" + self._exc_info_to_string(err, test)


def flatten(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flatten(test)
        else:
            yield test


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("build_dir")
    parser.add_argument("-k", metavar="WORD", action="append", help="only tests whose name contains WORD")
    parser.add_argument("--without", metavar="WORD", action="append", default=[], help="no tests whose name contains WORD")
    parser.add_argument("-j", metavar="N", type=int, default=3, help="tests at a time (3)")
    return parser.parse_args()


def found(options):
    """The tests that are asked for, the long ones first."""
    tests = list(flatten(unittest.TestLoader().discover(HERE, pattern="test_*.py")))
    if options.k:
        tests = [test for test in tests if any(word in test.id() for word in options.k)]
    tests = [test for test in tests if not any(word in test.id() for word in options.without)]
    return sorted(tests, key=lambda test: -getattr(test, "weight", 1))


def again_alone(failed):
    """Those of the failed tests that pass alone; they are no longer in the list."""
    unsteady = []
    for test in list(failed) if len(failed) <= MOST_RETRIED else []:  # more than that is no accident
        outcome = Outcome()
        type(test)(test._testMethodName).run(outcome)  # noqa: SLF001
        if outcome.text:
            print(f"again FAIL {test.id()}\n{outcome.text}", flush=True)
        else:
            failed.remove(test)
            unsteady.append(test.id())
    return unsteady


def main():
    options = parse()
    os.environ["TACHO_BUILD_DIR"] = os.path.abspath(options.build_dir)
    sys.path.insert(0, HERE)
    # Started in the background, a shell leaves these ignored; jobs would inherit that and not hear a Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # as nohup does
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    tests = found(options)

    lock = threading.Lock()
    done, failed, skipped, seconds = [], [], [], {}
    started = time.monotonic()

    def one(test):
        outcome = Outcome()
        begun = time.monotonic()
        test.run(outcome)
        took = time.monotonic() - begun
        with lock:
            done.append(test)
            seconds[test.id()] = took
            word = "ok  "
            if outcome.text:
                word = "FAIL"
                failed.append(test)
            elif outcome.reason:
                word = "skip"
                skipped.append(test.id())
            tail = f": {outcome.reason}" if word == "skip" else ""
            print(f"[{len(done):3}/{len(tests)}] {word} {test.id()} {took:.1f}s{tail}", flush=True)
            if outcome.text:
                print(outcome.text, flush=True)

    with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
        for future in [pool.submit(one, test) for test in tests]:
            future.result()
    unsteady = again_alone(failed)
    for name in sorted(unsteady):
        print(f"unsteady: {name} (failed among others, passed alone)")
    for name in sorted(test.id() for test in failed):
        print(f"failed: {name}")
    for name in sorted(seconds, key=seconds.get, reverse=True)[:SLOWEST]:
        print(f"slow: {seconds[name]:.1f}s {name}")
    cpu = os.times()
    print(f"CPU time: {cpu.user + cpu.system:.0f}s here, {cpu.children_user + cpu.children_system:.0f}s in the programs that were started")
    print(f"{len(skipped)} skipped, {len(unsteady)} unsteady, {time.monotonic() - started:.0f}s")
    print(f"{len(done) - len(failed) - len(skipped)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
