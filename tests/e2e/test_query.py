"""runs, show, list and doctor: for a person, and as JSON."""
import json
import os
import re
import shutil
import signal
import subprocess

from support import COLUMNS, Case, until


class Query(Case):
    def three_runs(self):
        for i in range(3):
            self.assertEqual(self.tacho("run", "-q", "-n", f"job{i}", "--", "sh", "-c", f"exit {i}").rc, i)

    def ids(self):
        return json.loads(self.tacho("runs", "--json").out)

    def test_runs(self):
        self.three_runs()
        runs = self.ids()
        self.assertEqual(len(runs), 3)
        self.assertEqual({run["id"] for run in runs}, {folder.rsplit("/", 1)[1] for folder in self.run_folders()})
        text = self.tacho("runs").out
        for run in runs:
            self.assertIn(run["id"][:13] + " ", text)  # as short as is unique
            self.assertNotIn(run["id"], text)

    def test_runs_of_an_empty_store(self):
        done = self.tacho("runs")
        self.assertEqual(done.rc, 0, done)
        done = self.tacho("runs", "--json")
        self.assertEqual(done.rc, 0, done)
        json.loads(done.out)

    def test_runs_skips_rubbish(self):
        self.three_runs()
        folder = self.run_folders()[1]
        with open(folder + "/run.json", "w", encoding="utf-8") as file:
            file.write('{"id": "tor')
        self.assertEqual(len(self.ids()), 2)

    def test_show(self):
        self.three_runs()
        newest = self.ids()[0]["id"]
        for name in ("last", newest, newest[:-1], self.store + "/" + newest):
            with self.subTest(name=name):
                done = self.tacho("show", name, "--json")
                self.assertEqual(done.rc, 0, done)
                self.assertEqual(json.loads(done.out)["id"], newest)
        done = self.tacho("show", newest)
        self.assertEqual(done.rc, 0)
        self.assertIn(newest[:13], done.out)
        self.assertTrue(done.out.endswith("\n"))

    def test_ids(self):
        """48 random bits; what is printed at the end finds the run again."""
        done = self.tacho("run", "--", "true")
        run, _ = self.the_run()
        self.assertRegex(run["id"], r"^\d{8}-[0-9a-f]{12}$")
        shown = re.search(r" run (\S+)$", done.err.strip()).group(1)
        self.assertEqual(shown, run["id"][:13])
        self.assertEqual(json.loads(self.tacho("show", shown, "--json").out)["id"], run["id"])
        # One of 0.1.0 that begins alike: it keeps its name, and ours gets a longer one.
        old = run["id"][:13]
        shutil.copytree(self.run_folders()[0], os.path.join(self.store, old))
        with open(os.path.join(self.store, old, "run.json"), "w", encoding="utf-8") as file:
            json.dump({**run, "id": old}, file)
        self.assertEqual(json.loads(self.tacho("show", old, "--json").out)["id"], old)
        listed = [line.split()[0] for line in self.tacho("runs").out.splitlines()[1:]]
        self.assertEqual(sorted(listed), [old, run["id"][:14]])

    def test_runs_by_every_name(self):
        self.three_runs()
        newest, middle, oldest = [run["id"] for run in self.ids()]
        rows = os.path.join(self.store, middle, "metrics.csv")
        for name, wanted in (("last", newest), ("last~1", middle), ("last~2", oldest), ("last:job1", middle), ("job0", oldest),
                             (middle[9:15], middle), (middle[11:], middle), (os.path.join(self.store, oldest), oldest),
                             (os.path.join(self.store, oldest) + "/", oldest)):
            with self.subTest(name=name):
                self.assertEqual(json.loads(self.tacho("show", name, "--json").out)["id"], wanted)
                self.assertEqual(self.tacho("report", name, "-o", self.path("r.html")).rc, 0)
                with open(self.path("r.html"), encoding="utf-8") as file:
                    self.assertIn(wanted, file.read())
                self.assertEqual(json.loads(self.tacho("compare", name, newest, "--json").out)["runs"][0]["id"], wanted)
                self.assertEqual(json.loads(self.tacho("advise", name, "--json").out)["runs"], [wanted])
                self.assertEqual(self.tacho("top", name, "--json").rc, 0)
        for words in (["show", rows], ["report", rows, "-o", self.path("r.html")], ["compare", rows, newest], ["top", rows, "--json"]):
            self.assertEqual(self.tacho(*words).rc, 0, words)
        self.assertEqual(self.tacho("advise", rows).rc, 4)  # one sample tells too little
        for name, words in (("last~3", ["only 3"]), ("last:nobody", []), ("last~x", ["last~1"]), ("xyz", ["4 characters"]),
                            (newest[:8], [newest[:13], middle[:13], oldest[:13]])):
            for command in (["show"], ["report"], ["advise"], ["top"]):
                with self.subTest(name=name, command=command):
                    done = self.tacho(*command, name)
                    self.assertEqual(done.rc, 125, done)
                    for word in words:
                        self.assertIn(word, done.err)

    def test_show_unknown(self):
        self.three_runs()
        newest = self.ids()[0]["id"]
        done = self.tacho("show", newest[:-1] + "zz")
        self.assertNotEqual(done.rc, 0)
        self.assertIn(newest[:9], done.err)
        self.assertNotEqual(self.tacho("show").rc, 0)

    def test_show_ambiguous(self):
        self.three_runs()
        self.assertNotEqual(self.tacho("show", "2").rc, 0)

    def test_compare(self):
        self.three_runs()
        ids = [run["id"] for run in self.ids()]
        done = self.tacho("compare", *ids, "--json")
        self.assertEqual(done.rc, 0, done)
        compared = json.loads(done.out)
        self.assertEqual([run["id"] for run in compared["runs"]], ids)
        metrics = {metric["name"]: metric for metric in compared["metrics"]}
        for metric in metrics.values():
            self.assertEqual((len(metric["values"]), len(metric["change_percent"])), (len(ids), len(ids)))
        self.assertLessEqual({"time", "cpu_mean", "memory_peak"}, set(metrics))
        text = self.tacho("compare", *ids).out
        for word in [name[:13] for name in ids] + ["memory peak", "time"]:
            self.assertIn(word, text)
        for words in ([], ids[:1], [ids[0], "nosuch"]):
            self.assertEqual(self.tacho("compare", *words).rc, 125)

    def test_advise_needs_words_and_a_job(self):
        self.assertEqual(self.tacho("advise").rc, 125)
        self.assertEqual(self.tacho("watch", "-q", "-i", "50ms", "--timeout", "100ms").rc, 124)
        done = self.tacho("advise", "last")
        self.assertEqual(done.rc, 4)
        self.assertIn("tacho run -- CMD", done.err)

    def test_top(self):
        """Of a run that goes on, until it ends; of a process; and nothing of it is kept or sent."""
        process = self.spawn("run", "-q", "-i", "50ms", "--", "cat", stdin=subprocess.PIPE)
        self.assertTrue(until(lambda: self.ids()[0]["samples"] > 0))
        view = self.spawn("top", "last", "-i", "20ms")
        self.assertIn("cpu", view.stdout.readline())
        process.stdin.close()
        self.assertEqual((process.wait(30), view.wait(30)), (0, 0))
        rows = [json.loads(line) for line in self.tacho("top", "last", "--json").out.splitlines()]
        self.assertEqual(len(rows), self.ids()[0]["samples"])
        self.assertLessEqual(set(COLUMNS), set(rows[0]))
        for words, word in (([], "cpu"), (["--pid", str(os.getpid())], "memory"), (["--json"], '"cpu"')):
            view = self.spawn("top", "-i", "50ms", *words, env={"SENTINEL_API_TOKEN": "token", "SENTINEL_API_URL": "http://127.0.0.1:9"})
            self.assertIn(word, view.stdout.readline())
            view.send_signal(signal.SIGINT)
            self.assertEqual(view.wait(30), 0)
        self.assertEqual(len(self.ids()), 1)
        self.assertFalse(os.path.exists(self.path("state", "tacho", "spool")))
        for words in (["a", "b"], ["nosuch"], ["last", "--pid", "1"], ["--pid", "0"]):
            self.assertEqual(self.tacho("top", *words).rc, 125)

    def test_store_option(self):
        self.assertEqual(self.tacho("run", "-q", "--store", self.path("s"), "--", "true").rc, 0)
        self.assertEqual(len(json.loads(self.tacho("runs", "--json", "--store", self.path("s")).out)), 1)
        self.assertEqual(self.tacho("show", "last", "--json", env={"TACHO_STORE": self.path("s")}).rc, 0)

    def test_list_metrics(self):
        done = self.tacho("list", "metrics", "--json")
        self.assertEqual(done.rc, 0, done)
        metrics = json.loads(done.out)
        self.assertEqual([metric["name"] for metric in metrics][:32], COLUMNS)
        for metric in metrics:
            self.assertTrue(metric["help"])
            self.assertIn("unit", metric)
        text = self.tacho("list", "metrics").out
        for name in COLUMNS:
            self.assertIn(name, text)

    def test_list_probes_and_sinks(self):
        for what in ("probes", "sinks"):
            done = self.tacho("list", what, "--json")
            self.assertEqual(done.rc, 0, done)
            self.assertEqual({type(entry["available"]) for entry in json.loads(done.out)}, {bool})
            self.assertGreater(len(self.tacho("list", what).out.splitlines()), 2)
        self.assertEqual(self.tacho("list", "metrisc").rc, 125)
        self.assertIn("metrics", self.tacho("list", "metrisc").err)

    def test_doctor(self):
        for user in ("root", "nobody"):
            done = self.tacho("doctor", "--json", user=user)
            self.assertIn(done.rc, (0, 1), done)
            self.assertTrue(json.loads(done.out))
            done = self.tacho("doctor", user=user)
            self.assertGreater(len(done.out.splitlines()), 5)
