"""Every option of run, attach and watch, row by row."""
import gzip
import json
import os

from support import COLUMNS, Case, Table


class Options(Case):
    def quick(self, *options, env=None, job=("true",), rc=0):
        """A short run in its own store; returns (done, run.json)."""
        store = self.path(f"store{len(os.listdir(self.dir))}")
        done = self.tacho("run", "--store", store, *options, "--", *job, env=env)
        self.assertEqual(done.rc, rc, done)
        return done, self.the_run(store)[0]

    def test_interval_forms(self):
        for text, seconds in (("0.25", 0.25), ("250ms", 0.25), ("5m", 300), ("1h", 3600), ("10ms", 0.01), ("2", 2),
                              ("2s", 2)):
            with self.subTest(text=text):
                self.assertAlmostEqual(self.quick("-i", text)[1]["interval_s"], seconds)
        self.assertAlmostEqual(self.quick("--interval=3s")[1]["interval_s"], 3)
        self.assertAlmostEqual(self.quick()[1]["interval_s"], 1)

    def test_interval_refused(self):
        for text in ("0", "-1", "9ms", "2h", "x", "", "1x", "nan", "inf", "1e9", "0x10", "1 s s"):
            with self.subTest(text=text):
                self.refused(self.tacho("run", f"--interval={text}", "--", "true"), "interval")

    def test_output_csv(self):
        self.quick("-o", self.path("a.csv"), "-o", self.path("b.csv"))
        for name in ("a.csv", "b.csv"):
            table = Table(self.read(name))
            self.assertEqual(table.header[:32], COLUMNS)
            self.assertEqual(len(table.rows), 1)

    def test_output_csv_gz(self):
        self.quick("-o", self.path("a.csv.gz"))
        with gzip.open(self.path("a.csv.gz"), "rt") as file:
            self.assertEqual(Table(file.read()).header[:32], COLUMNS)

    def test_output_jsonl(self):
        self.quick("-o", self.path("a.jsonl"))
        lines = self.read("a.jsonl").splitlines()
        self.assertEqual(len(lines), 1)
        self.assertIn("cpu", json.loads(lines[0]))

    def test_output_stdout(self):
        done = self.tacho("run", "-q", "-o", "-", "-f", "csv", "--", "true")
        self.assertEqual(Table(done.out).header[:32], COLUMNS)
        done = self.tacho("run", "-q", "-o", "-", "-f", "json", "--", "true")
        self.assertIn("timestamp", json.loads(done.out))

    def test_output_format_without_extension(self):
        self.quick("-o", self.path("plain"), "-f", "csv")
        self.assertEqual(Table(self.read("plain")).header[:32], COLUMNS)

    def test_output_truncates(self):
        self.write("a.csv", "old\n" * 1000)
        self.quick("-o", self.path("a.csv"))
        self.assertNotIn("old", self.read("a.csv"))

    def test_output_by_environment(self):
        self.quick(env={"TRACKER_OUTPUT": self.path("t.csv")})
        self.assertTrue(os.path.exists(self.path("t.csv")))
        self.quick(env={"TRACKER_OUTPUT": self.path("no.csv"), "TACHO_OUTPUT": self.path("yes.csv")})
        self.assertTrue(os.path.exists(self.path("yes.csv")))
        self.assertFalse(os.path.exists(self.path("no.csv")))

    def test_bad_output_refuses(self):
        for dest in ("/no/such/folder/x.csv", self.dir, "nonsense://x", self.path("x.unknown")):
            with self.subTest(dest=dest):
                self.refused(self.tacho("run", "-o", dest, "--", "true"))

    def test_a_refused_start_leaves_the_other_outputs_as_they_were(self):
        for name in ("old.csv", "old.jsonl", "old.csv.gz", "old.html"):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write("precious")
            for bad in ("typo.xyz", "no/such/folder.csv"):
                done = self.tacho("run", "-o", self.path(name), "-o", self.path("new.csv" if bad == "typo.xyz" else name + ".csv"), "-o", self.path(bad), "--", "true")
                self.assertEqual(done.rc, 125, done)
                with open(self.path(name), encoding="utf-8") as file:
                    self.assertEqual(file.read(), "precious")
        self.assertFalse(os.path.exists(self.path("new.csv")), "a misspelt output leaves no file")
        done = self.tacho("run", "-q", "-o", self.path("old.jsonl"), "--", "true")
        with open(self.path("old.jsonl"), encoding="utf-8") as file:
            self.assertEqual((done.rc, "precious" in file.read()), (0, False))

    def test_output_twice_refuses(self):
        os.symlink("a.csv", self.path("link.csv"))
        first = self.path("a.csv")
        for other in (first, "./a.csv", self.path("link.csv"), "prom:./a.csv"):
            with self.subTest(other=other):
                self.refused(self.tacho("run", "-o", first, "-o", other, "--", "true", cwd=self.dir), "twice")
        self.refused(self.tacho("run", "-o", "prom:new", "-o", "jobstats:./new", "--", "true", cwd=self.dir), "twice")
        self.refused(self.tacho("run", "-f", "csv", "-o", "-", "-o", "/dev/stdout", "--", "true"), "twice")
        self.assertEqual(self.tacho("run", "-q", "-f", "csv", "-o", "/dev/null", "-o", "prom:/dev/null", "-o", first, "--", "true").rc, 0)

    def test_store(self):
        store = self.path("elsewhere")
        self.assertEqual(self.tacho("run", "--store", store, "--", "true").rc, 0)
        run, table = self.the_run(store)
        self.assertEqual(os.path.basename(self.run_folders(store)[0]), run["id"])
        self.assertRegex(run["id"], r"^\d{8}-[0-9a-z]{4,}$")
        self.assertEqual(len(table.rows), 1)
        self.assertEqual(self.tacho("run", "--", "true", env={"TACHO_STORE": self.path("byenv")}).rc, 0)
        self.the_run(self.path("byenv"))

    def test_store_default(self):
        self.assertEqual(self.tacho("run", "--", "true").rc, 0)
        self.the_run()
        self.assertEqual(self.tacho("run", "--", "true", env={"XDG_STATE_HOME": None}).rc, 0)
        self.the_run(self.path(".local", "state", "tacho", "runs"))

    def test_no_store(self):
        self.assertEqual(self.tacho("run", "--no-store", "--", "true").rc, 0)
        self.assertFalse(os.path.exists(self.path("state")))

    def test_quiet(self):
        self.assertEqual(self.quick("-q")[0].err, "")
        self.assertEqual(self.quick("--quiet")[0].err, "")
        for value, quiet in (("1", True), ("true", True), ("yes", True), ("on", True), ("0", False), ("false", False),
                             ("no", False), ("off", False), ("", False)):
            for name in ("TACHO_QUIET", "TRACKER_QUIET"):
                with self.subTest(name=name, value=value):
                    err = self.quick(env={name: value})[0].err
                    self.assertEqual(err == "", quiet, err)

    def test_summary_line(self):
        done, run = self.quick()
        self.assertRegex(done.err, r"^tacho: ok ")
        self.assertIn(f"run {run['id'][:13]}\n", done.err)  # all that is unique in this store
        self.assertEqual(len(done.err.splitlines()), 1, done.err)
        self.assertNotIn("\x1b", done.err)

    def test_summary_styles(self):
        self.assertEqual(self.quick("--summary", "none")[0].err, "")
        self.assertGreater(len(self.quick("--summary", "full")[0].err.splitlines()), 3)
        done, run = self.quick("--summary", "json")
        self.assertEqual(json.loads(done.err)["id"], run["id"])
        self.refused(self.tacho("run", "--summary", "long", "--", "true"), "line")

    def test_summary_of_a_failed_job(self):
        done, _ = self.quick(job=("sh", "-c", "exit 3"), rc=3)
        self.assertRegex(done.err, r"^tacho: (?!ok).*3")

    def test_color(self):
        self.assertIn("\x1b[", self.quick("--color", "always", job=("false",), rc=1)[0].err)
        self.assertIn("\x1b[", self.quick(env={"CLICOLOR_FORCE": "1"}, job=("false",), rc=1)[0].err)
        self.assertNotIn("\x1b[", self.quick("--color", "never", env={"CLICOLOR_FORCE": "1"})[0].err)
        self.assertNotIn("\x1b[", self.quick(env={"NO_COLOR": "1"})[0].err)

    def test_probes(self):
        listed = json.loads(self.tacho("list", "probes", "--json").out)
        names = [probe["name"] for probe in listed]
        for name in names:
            with self.subTest(probe=name):
                self.quick("--no-probe", name)
                self.quick("--probe", name)
        self.refused(self.tacho("run", "--probe", names[0] + "x", "--", "true"), names[0])
        self.refused(self.tacho("run", "--no-probe", names[0] + "x", "--", "true"), names[0])

    def test_every_probe_at_once(self):
        listed = json.loads(self.tacho("list", "probes", "--json").out)
        names = [probe["name"] for probe in listed]
        words = [word for name in names for word in ("--probe", name)]
        store = self.path("all")
        self.assertEqual(self.tacho("run", "--store", store, *words, "-i", "50ms", "--", "sleep", "0.3").rc, 0)
        _, table = self.the_run(store)
        self.assertEqual(table.header[:32], COLUMNS)
        self.assertEqual(table.widths, {len(table.header)})
        self.assertIn("system_load1", table.header)
        self.assertEqual(len(set(table.header)), len(table.header))

    def test_pss(self):
        for mode in ("auto", "always", "never"):
            run = self.quick("--pss", mode, "-i", "50ms", job=("sleep", "0.2"))[1]
            if mode == "never":
                self.assertEqual(run["method"]["memory"], "rss")
            else:
                self.assertIn(run["method"]["memory"], ("pss", "pss_scaled"))
        self.refused(self.tacho("run", "--pss", "sometimes", "--", "true"), "always")

    def test_method(self):
        self.assertNotEqual(self.quick("--method", "tree")[1]["method"]["cpu"], "cgroup")
        self.refused(self.tacho("run", "--method", "magic", "--", "true"), "cgroup")

    def test_hide(self):
        run = self.quick()[1]
        self.assertEqual(run["command"], ["true"])
        self.assertIn("host_hostname", run["host"])
        for words, env in ((["--hide", "command,host_hostname"], None), (["--hide", "command", "--hide", "host_hostname"], None),
                           ([], {"TACHO_HIDE": "command,host_hostname"})):
            run = self.quick(*words, env=env)[1]
            self.assertNotIn("command", run)
            self.assertNotIn("host_hostname", run["host"])
        self.assertEqual(self.quick("--hide", "host_*")[1]["host"], {})
        self.refused(self.tacho("run", "--hide", "comand", "--", "true"), "command")

    def test_metadata(self):
        names = ("job_name", "project_name", "stage_name", "task_name", "team", "env", "language", "orchestrator",
                 "executor", "external_run_id", "container_image")
        words = [word for name in names for word in ("--" + name.replace("_", "-"), name + " é \"x\"")]
        metadata = self.quick(*words)[1]["metadata"]
        for name in names:
            self.assertEqual(metadata[name], name + " é \"x\"")
            for prefix in ("TACHO_", "TRACKER_"):
                metadata_env = self.quick(env={prefix + name.upper(): "by " + prefix})[1]["metadata"]
                self.assertEqual(metadata_env[name], "by " + prefix)
        self.assertEqual(self.quick("-n", "short")[1]["metadata"]["job_name"], "short")

    def test_tags(self):
        self.assertEqual(self.quick("--tag", "b=2", "--tag", "a=1=x")[1]["metadata"]["tags"], ["b=2", "a=1=x"])
        self.assertEqual(self.quick(env={"TACHO_TAGS": "x=1,y=2"})[1]["metadata"]["tags"], ["x=1", "y=2"])
        self.refused(self.tacho("run", "--tag", "novalue", "--", "true"), "tag")
        self.refused(self.tacho("run", "--tag", "=x", "--", "true"), "tag")

    def test_verbose_and_progress(self):
        self.quick("-v")
        done = self.quick("--progress", "50ms", "-i", "50ms", job=("sleep", "0.4"))[0]
        self.assertGreater(len(done.err.splitlines()), 1)
        self.assertEqual(len(self.quick("--progress", "never")[0].err.splitlines()), 1)
        self.refused(self.tacho("run", "--progress", "often", "--", "true"), "progress")

    def test_no_cloud(self):
        self.quick("--no-cloud", env={"TACHO_NO_CLOUD": None})

    def test_missing_value(self):
        for words in (["run", "--interval"], ["run", "-o"], ["run", "--tag"]):
            self.refused(self.tacho(*words))

    def test_nearest_name(self):
        for wrong, right in (("--intervall", "--interval"), ("--otput=x.csv", "--output"), ("--job_name=x", "--job-name"),
                             ("--sumary=none", "--summary"), ("--INTERVAL=1", "--interval"), ("--config-file=x", "--config"), ("--no-stor", "--no-store"), ("--stric", "--strict")):
            with self.subTest(wrong=wrong):
                self.refused(self.tacho("run", wrong, "--", "true"), right)
        for wrong, right in (("rnu", "run"), ("atach", "attach"), ("wtach", "watch"), ("doctr", "doctor"), ("shwo", "show")):
            self.refused(self.tacho(wrong), right)
