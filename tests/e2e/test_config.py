"""tacho.toml, the environment, and which of them wins."""
import os

from support import Case


class Config(Case):
    def job_name(self, *words, env=None):
        store = self.path(f"store{len(os.listdir(self.dir))}")
        done = self.tacho("run", "--store", store, *words, "--", "true", env=env)
        self.assertEqual(done.rc, 0, done)
        return self.the_run(store)[0]["metadata"].get("job_name")

    def test_precedence(self):
        toml = self.write("x.toml", 'job_name = "toml"\n')
        tracker, tacho = {"TRACKER_JOB_NAME": "tracker"}, {"TACHO_JOB_NAME": "tacho"}
        self.assertIsNone(self.job_name())
        self.assertEqual(self.job_name("-c", toml), "toml")
        self.assertEqual(self.job_name("-c", toml, env=tracker), "tracker")
        self.assertEqual(self.job_name("-c", toml, env={**tracker, **tacho}), "tacho")
        self.assertEqual(self.job_name("-c", toml, "-n", "flag", env={**tracker, **tacho}), "flag")

    def test_empty_variable_is_unset(self):
        self.assertEqual(self.job_name(env={"TRACKER_JOB_NAME": "t", "TACHO_JOB_NAME": ""}), "t")

    def test_where_it_is_found(self):
        os.makedirs(self.path("config", "tacho"))
        with open(self.path("config", "tacho", "tacho.toml"), "w", encoding="utf-8") as file:
            file.write('job_name = "xdg"\n')
        self.assertEqual(self.job_name(), "xdg")
        os.chmod(self.dir, 0o755)
        self.write("tacho.toml", 'job_name = "here"\n')
        self.assertEqual(self.job_name(), "here")
        other = self.write("other.toml", 'job_name = "named"\n')
        self.assertEqual(self.job_name(env={"TACHO_CONFIG": other}), "named")
        self.assertEqual(self.job_name("-c", self.write("flag.toml", 'job_name = "flag"\n'),
                                       env={"TACHO_CONFIG": other}), "flag")

    def test_keys(self):
        toml = self.write("x.toml", 'interval = "250ms"\nquiet = true\nteam = "blue"\ntags = ["a=1", "b=2"]\n'
                                    f'output = ["{self.path("x.csv")}"]\nhide = ["command"]\nstrict = true\npss = "never"\n')
        done, run, _ = self.tracked("true", options=["-c", toml])
        self.assertEqual(done.err, "")
        self.assertAlmostEqual(run["interval_s"], 0.25)
        self.assertEqual(run["metadata"]["team"], "blue")
        self.assertEqual(run["metadata"]["tags"], ["a=1", "b=2"])
        self.assertNotIn("command", run)
        self.assertTrue(os.path.exists(self.path("x.csv")))

    def test_keys_of_the_rust_client(self):
        toml = self.write("x.toml", '[job]\nname = "old"\n[tracker]\ninterval_secs = 2\n')
        _, run, _ = self.tracked("true", options=["-c", toml])
        self.assertEqual(run["metadata"]["job_name"], "old")
        self.assertAlmostEqual(run["interval_s"], 2)

    def test_interval_in_environment(self):
        for env, seconds in (({"TRACKER_INTERVAL": "2"}, 2), ({"TRACKER_INTERVAL": "2", "TACHO_INTERVAL": "500ms"}, 0.5)):
            store = self.path(f"store{seconds}")
            self.assertEqual(self.tacho("run", "--store", store, "--", "true", env=env).rc, 0)
            self.assertAlmostEqual(self.the_run(store)[0]["interval_s"], seconds)
        self.refused(self.tacho("run", "--", "true", env={"TACHO_INTERVAL": "soon"}), "TACHO_INTERVAL")

    def test_unknown_key(self):
        self.refused(self.tacho("run", "-c", self.write("x.toml", 'intervl = "1s"\n'), "--", "true"), "intervl", "interval", "x.toml")

    def test_wrong_type_and_value(self):
        for text in ("quiet = 3\n", 'interval = "soon"\n', 'tags = "a"\n', "summary = 1\n", 'strict = "perhaps"\n'):
            with self.subTest(text=text):
                self.refused(self.tacho("run", "-c", self.write("x.toml", text), "--", "true"), "x.toml")

    def test_not_toml(self):
        self.refused(self.tacho("run", "-c", self.write("x.toml", "a = = b\n"), "--", "true"), "x.toml")

    def test_named_file_is_missing(self):
        self.refused(self.tacho("run", "-c", self.path("none.toml"), "--", "true"), "none.toml")
        self.refused(self.tacho("run", "--", "true", env={"TACHO_CONFIG": self.path("none.toml")}), "none.toml")
