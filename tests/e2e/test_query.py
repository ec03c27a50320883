"""runs, show, list and doctor: for a person, and as JSON."""
import json

from support import COLUMNS, Case


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
            self.assertIn(run["id"], text)

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
        self.assertIn(newest, done.out)
        self.assertTrue(done.out.endswith("\n"))

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
            self.assertTrue(json.loads(done.out))
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
