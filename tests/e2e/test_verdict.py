"""What limited a run: a few burners that are bound by one thing, and what carries the verdict."""
import csv
import json
import os

from support import Case, burner


class Verdict(Case):
    def record(self, kind, seconds="1.5", options=()):
        done = self.tacho("run", "-q", "-i", "100ms", *options, "--", burner("bound"), kind, seconds, self.path())
        self.assertEqual(done.rc, 0, done)
        return json.loads(self.tacho("why", "last", "--json").out)

    def rows(self):
        newest = max(self.run_folders(), key=os.path.getmtime)
        with open(os.path.join(newest, "metrics.csv")) as file:
            return list(csv.DictReader(file))

    def test_waits_add_up_and_name_the_state(self):
        for kind, wanted in (("sleep", "sleep"), ("pipe", "pipe")):
            why = self.record(kind)
            self.assertEqual((why["verdict"], why["detail"]), ("waiting", wanted), why)
            self.assertAlmostEqual(sum(why["classes"].values()), 1, 6)
            for row in self.rows():
                waits = [int(value) for name, value in row.items() if name.startswith("process_waits_")]
                self.assertEqual(len(waits), 10)
                self.assertEqual(sum(waits), int(row["process_threads"]))

    def test_network_peer(self):
        why = self.record("epoll")
        self.assertEqual((why["verdict"], why["detail"]), ("network", "peer"), why)
        self.assertTrue(why["evidence"])

    def test_lock(self):
        self.assertEqual(self.record("lock")["verdict"], "lock")

    def test_two_rows_are_unknown(self):
        why = self.record("sleep", seconds="0.1")
        self.assertEqual((why["verdict"], why["share"], why["confidence"]), ("unknown", 0, "low"))

    def test_energy_is_there_with_nulls(self):
        self.record("sleep", seconds="0.1", options=("--carbon-intensity", "300"))
        energy = json.loads(self.tacho("show", "last", "--json").out)["energy"]
        self.assertEqual(set(energy), {"cpu_j", "gpu_j", "job_j", "method", "job_share", "co2_g"})
        if energy["cpu_j"] is None and energy["gpu_j"] is None:
            self.assertIsNone(energy["co2_g"])
        self.record("sleep", seconds="0.1")
        self.assertNotIn("co2_g", json.loads(self.tacho("show", "last", "--json").out)["energy"])
        for wrong in ("-1", "x", "nan", "1e999"):
            self.assertEqual(self.tacho("run", "--no-store", "--carbon-intensity", wrong, "--", "true").rc, 125)

    def test_no_such_run(self):
        self.assertEqual(self.tacho("why", "nosuch").rc, 125)
        self.assertEqual(self.tacho("why").rc, 125)

    def test_cost(self):
        costs = json.loads(self.tacho("doctor", "--cost", "--json").out)
        names = [entry["probe"] for entry in costs]
        for probe in ("cpu", "memory", "process", "waits", "pressure"):
            if probe != "pressure" or os.path.exists("/proc/pressure/cpu"):
                self.assertIn(probe, names)
        for entry in costs:
            self.assertGreaterEqual(entry["us"], 0)
