"""What limited a run: a few burners that are bound by one thing, and what carries the verdict."""
import csv
import json
import os

from support import TACHO, Case, burner


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

    def test_what_carries_it(self):
        """Exit summary, show, page and compare say the same as why."""
        done = self.tacho("run", "-i", "100ms", "--", burner("bound"), "sleep", "1.5", self.path())
        self.assertIn(" · waiting (sleep) · run ", done.err)
        self.assertNotIn("limited by", done.err)
        short = self.tacho("run", "-i", "100ms", "--", "true")
        self.assertNotIn("waiting", short.err)
        self.assertNotIn("limited by", short.err)
        mark = f"{TACHO} mark"
        done = self.tacho("run", "-i", "100ms", "--", "sh", "-c",
                          f"{mark} wait; {burner('bound')} epoll 1.5 .; {mark} hold; {burner('bound')} lock 1.5 .; {mark} end")
        self.assertEqual(done.rc, 0, done)
        why = json.loads(self.tacho("why", "last", "--json").out)
        self.assertEqual([(phase["name"], phase["verdict"]) for phase in why["phases"][:2]], [("wait", "network"), ("hold", "lock")], why)
        self.assertEqual(why["verdict"], "mixed", why)
        words = " and ".join(why["detail"].split("+"))
        if why["confidence"] != "low":
            self.assertIn(f" · limited by {words} · run ", done.err)
        self.assertIn(f"limited by {words} (", self.tacho("show", "last").out)
        page = self.path("page.html")
        self.assertEqual(self.tacho("report", "last", "-o", page).rc, 0)
        html = self.read("page.html")
        self.assertIn("<strong>Verdict:</strong> limited by " + words, html)
        self.assertRegex(html, r'"band":\{"words":\["(network|waiting|none|lock|cpu)"')
        runs = [os.path.basename(folder) for folder in sorted(self.run_folders(), key=os.path.getmtime)]
        text = self.tacho("compare", runs[0], runs[-1]).out
        self.assertIn(f"verdict changed from waiting (sleep) to {words}\n", text)
        told = json.loads(self.tacho("compare", "--json", runs[0], runs[-1]).out)
        self.assertEqual([one["verdict"] for one in told["verdict"]], ["waiting", "mixed"])
        self.assertNotIn("verdict changed", self.tacho("compare", runs[0], runs[0]).out)

    def test_two_rows_are_unknown(self):
        why = self.record("sleep", seconds="0.1")
        self.assertEqual((why["verdict"], why["share"], why["confidence"]), ("unknown", 0, "low"))

    def test_columns_that_tell_nothing_are_unknown(self):
        for columns in ("a", "system_disk_space_used_gb", "note"):
            rows = "".join(f"{100 + i},{i}\n" for i in range(20))
            why = json.loads(self.tacho("why", self.write("odd.csv", f"timestamp,{columns}\n{rows}"), "--json").out)
            self.assertEqual((why["verdict"], why["share"], why["confidence"], why["classes"]), ("unknown", 0, "low", {}), why)
            self.assertTrue(why["missing"])
            text = self.tacho("why", self.path("odd.csv")).out
            self.assertIn("no column that tells", text)
            self.assertNotIn("too few", text)

    def test_rows_without_the_number_of_cores_are_not_certain(self):
        """A file of rows does not tell how many cores there were: all of them may have been busy."""
        names = ["timestamp", "process_cpu_usage", "process_threads", *(f"cgroup_pressure_{what}" for what in ("cpu_some", "io_some", "memory_full")),
                 *(f"process_waits_{what}" for what in ("cpu", "disk", "network", "lock", "child", "pipe", "sleep", "gpu", "idle", "other"))]
        rows = "".join(f"{100 + i},4,4,0,0,0,4,0,0,0,0,0,0,0,0,0\n" for i in range(20))
        why = json.loads(self.tacho("why", self.write("rows.csv", ",".join(names) + "\n" + rows), "--json").out)
        self.assertNotEqual(why["confidence"], "high", why)
        self.assertTrue(any("cores" in one for one in why["missing"]), why)

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
        us = {entry["probe"]: entry["us"] for entry in costs}
        with open("/proc/meminfo", encoding="ascii") as file:
            if "SwapTotal:             0 kB" in file.read():  # then a tick leaves the file unread, which takes fifty times as long
                self.assertLess(us["swap"], us["vmstat"])
                self.assertLess(us["swap"], us["waits"], "the job that is looked at did not run")
        self.assertLess(us["waits"], us["process"], "looking at the tree is what it costs")
