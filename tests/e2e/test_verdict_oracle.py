"""Runs made at random, each value on, below or above a limit of a rule: `tacho why --json` says what a plain reading of the rules says."""
import os
import pathlib
import sys

from support import SANITIZED, TACHO, Case

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "verdict"))
import oracle  # noqa: E402
import rules  # noqa: E402

RUNS = 150
JUDGED = 40 if SANITIZED else RUNS


class VerdictOracle(Case):
    def test_runs_at_random(self):
        store, seen = self.path("oracle"), set()
        os.mkdir(store, 0o700)
        for seed in range(RUNS):
            seen.update(found[0] for found in oracle.Maker(seed).classes() if found)
        for seed in range(JUDGED):
            self.assertIsNone(oracle.check(pathlib.Path(TACHO), seed, store))
        self.assertEqual(set(rules.CLASSES) - seen, set(), "of these there was no row")
