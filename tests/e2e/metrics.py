"""A receiver of metrics in the test's own process, runs that send to it, and what must have arrived of them."""
import csv
import glob
import json
import os
import sys

from service import Running
from support import Case

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "doubles"))
import metrics_double  # noqa: E402


def rows_of(folder):
    with open(os.path.join(folder, "metrics.csv"), encoding="utf-8") as file:
        return list(csv.DictReader(file))


class MetricsCase(Case):
    weight = 2

    def setUp(self):
        super().setUp()
        self.receiver, self.server = self.another_receiver()

    def another_receiver(self):
        receiver = metrics_double.Receiver()
        server = Running(metrics_double.Handler, receiver)
        self.addCleanup(server.close)
        return receiver, server

    def spools(self):
        return sorted(glob.glob(self.path("state", "tacho", "spool", "2*")))

    def letters(self):
        return sorted(glob.glob(self.path("state", "tacho", "spool", "dead-letter", "*")))

    def rules(self, *rules):
        self.receiver.rules.replace(rules)

    def place(self, kind="prometheus", fragment="", server=None):
        return f"{kind}+{(server or self.server).url}{'/api/v1/write' if kind == 'prometheus' else ''}{fragment}"

    def go(self, *job, kind="prometheus", options=(), rc=0, fragment="", server=None, **env):
        done = self.tacho("run", "-i", "0.1", "-o", self.place(kind, fragment, server), *options, "--",
                          *(job or ("sleep", "0.35")), env=env)
        self.assertEqual(done.rc, rc, done)
        return done

    def rows(self):
        return rows_of(self.run_folders()[0])

    def facts(self):
        with open(os.path.join(self.run_folders()[0], "run.json"), encoding="utf-8") as file:
            return json.load(file)

    def check(self, folder=None, receiver=None, killed=False):
        """Each cell of the CSV is a sample, once, and the series end."""
        folder, receiver = folder or self.run_folders()[0], receiver or self.receiver
        rows, run = rows_of(folder), os.path.basename(folder)
        ms = [round(float(row["timestamp"]) * 1000) for row in rows]
        sums, total = [], 0
        for row in rows:
            total += round(float(row["process_utime"]) * 1e6)
            sums.append(total / 1e6)
        user = receiver.values("tacho_job_cpu_seconds_total", mode="user", run_id=run)
        self.assertEqual(user[1:-1], list(zip(ms, sums)))
        self.assertEqual(user[0][1], 0)
        self.assertEqual(user[-1], (ms[-1] + 1, None))
        memory = [(t, float(row["process_memory_mib"]) * 2 ** 20) for t, row in zip(ms, rows) if row["process_memory_mib"]]
        self.assertEqual(receiver.values("tacho_job_memory_bytes", run_id=run)[:-1], memory)
        running = receiver.values("tacho_job_running", run_id=run)
        self.assertEqual([value for _, value in running], [1] * len(rows) + [1 if killed else 0, None])
        self.assertEqual(receiver.changed, 0)
        self.assertEqual(self.spools(), [])
