"""Exit status: the job's own, and tacho's 124 to 127."""
import json
import os
import signal
import subprocess

from support import TACHO, Case


class Exit(Case):
    def test_own_code(self):
        for code in (0, 1, 7, 124, 125, 255):
            with self.subTest(code=code):
                self.assertEqual(self.tacho("run", "--no-store", "--", "sh", "-c", f"exit {code}").rc, code)

    def test_double_dash_is_run(self):
        self.assertEqual(self.tacho("--no-store", "--", "sh", "-c", "exit 9").rc, 9)
        self.assertEqual(self.tacho("--", "sh", "-c", "exit 8").rc, 8)

    def test_first_word_starts_the_command(self):
        done = self.tacho("run", "--no-store", "-q", "sh", "-c", "echo $0 $1; exit 3", "--interval", "-q")
        self.assertEqual((done.rc, done.out), (3, "--interval -q\n"))

    def test_signal(self):
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGHUP, signal.SIGPIPE):
            with self.subTest(signal=number):
                done = self.tacho("run", "--no-store", "--", "sh", "-c", f"kill -{int(number)} $$; sleep 5")
                self.assertEqual(done.rc, -number, done)  # by the signal itself

    def test_outcome_in_run_json(self):
        _, run, _ = self.tracked("sh", "-c", "kill -15 $$", rc=-15)
        self.assertEqual(run["outcome"]["exit_code"], 143)
        self.assertEqual(run["outcome"]["signal"], 15)
        self.assertEqual(run["outcome"]["state"], "failed")
        self.assertFalse(run["outcome"]["timed_out"])

    def test_not_found(self):
        done = self.tacho("run", "--", "no-such-program-anywhere")
        self.assertEqual(done.rc, 127, done)
        self.assertIn("no-such-program-anywhere", done.err)
        self.assertEqual(self.tacho("run", "--", self.path("missing")).rc, 127)
        self.assertEqual(self.tacho("run", "--", "").rc, 127)

    def test_not_executable(self):
        plain = self.write("plain", "hello\n", 0o644)
        done = self.tacho("run", "--", plain)
        self.assertEqual(done.rc, 126, done)
        self.assertIn("plain", done.err)
        self.assertEqual(self.tacho("run", "--", self.dir).rc, 126)

    def test_not_started_leaves_no_running_run(self):
        self.tacho("run", "--", "no-such-program-anywhere")
        for folder in self.run_folders():
            with open(os.path.join(folder, "run.json"), encoding="utf-8") as file:
                self.assertNotEqual(json.load(file)["state"], "running")

    def test_cannot_start(self):
        for words in (["run"], ["run", "--"], ["run", "--no-such-option", "--", "true"], ["run", "-i", "0", "--", "true"],
                      ["nonsense"], ["run", "-o", "/no/such/folder/x.csv", "--", "true"], ["attach"],
                      ["attach", "--pid", "999999999"], ["attach", "--pid", "x"]):
            with self.subTest(words=words):
                done = self.tacho(*words)
                self.assertEqual(done.rc, 125, done)
                self.assertNotEqual(done.err, "")

    def test_refused_job_never_ran(self):
        for words in (["--interval", "x"], ["-o", "/no/such/folder/x.csv"], ["--pss", "maybe"]):
            done = self.tacho("run", *words, "--", "touch", self.path("ran"))
            self.assertEqual(done.rc, 125, done)
            self.assertFalse(os.path.exists(self.path("ran")), words)

    def test_timeout(self):
        done, run, _ = self.tracked("sleep", "60", options=["--timeout", "300ms"], rc=124)
        self.assertTrue(run["outcome"]["timed_out"])
        self.assertEqual(run["outcome"]["exit_code"], 124)
        self.assertEqual(run["outcome"]["state"], "failed")

    def test_timeout_not_reached(self):
        self.assertEqual(self.tacho("run", "--timeout", "60s", "--", "sh", "-c", "exit 4").rc, 4)

    def test_timeout_kills_who_ignores_term(self):
        done = self.tacho("run", "--timeout", "200ms", "--kill-after", "200ms", "--", "sh", "-c",
                          "trap '' TERM; while :; do sleep 0.05; done")
        self.assertEqual(done.rc, 124, done)

    def test_timeout_lets_the_job_tidy_up(self):
        done = self.tacho("run", "-q", "--timeout", "200ms", "--", "sh", "-c",
                          "trap 'echo tidy; exit 3' TERM; while :; do sleep 0.05; done")
        self.assertEqual((done.rc, done.out), (124, "tidy\n"))

    def test_strict(self):
        """The reader of the rows goes away while the job runs: only --strict makes that the run's failure."""
        def status(options, code):
            script = f'"$0" run -q -i 10ms {options} -o - -f csv -- sh -c "sleep 0.4; exit {code}" | head -1 > /dev/null; exit ${{PIPESTATUS[0]}}'
            return subprocess.run(["bash", "-c", script, TACHO], env=self.environment(), cwd=self.dir, timeout=60,
                                  stderr=subprocess.DEVNULL).returncode
        self.assertEqual(status("", 0), 0)
        self.assertEqual(status("--strict", 0), 125)
        self.assertEqual(status("--strict", 3), 3)
        self.assertEqual(self.tacho("run", "--strict", "--", "true").rc, 0)

    def test_help_and_version(self):
        for words in (["--help"], ["-h"], ["run", "--help"], ["attach", "-h"], ["watch", "--help"], ["runs", "--help"],
                      ["show", "--help"], ["list", "--help"], ["doctor", "--help"]):
            with self.subTest(words=words):
                done = self.tacho(*words)
                self.assertEqual(done.rc, 0, done)
                self.assertGreater(len(done.out), 100)
        version = self.tacho("--version")
        self.assertEqual(version.rc, 0)
        self.assertRegex(version.out, r"^tacho \d+\.\d+\.\d+")
        self.assertEqual(self.tacho("-V").out, version.out)

    def test_help_begins_with_examples(self):
        head = self.tacho("--help").out.split("\n\n\n")[0][:800]
        self.assertRegex(head, r"tacho run .*-- ")

    def test_help_names_every_option(self):
        text = self.tacho("run", "--help").out
        for name in ("interval", "output", "format", "store", "no-store", "quiet", "summary", "probe", "no-probe", "pss",
                     "hide", "no-cloud", "timeout", "kill-after", "strict", "job-name", "project-name", "stage-name",
                     "task-name", "team", "env", "language", "orchestrator", "executor", "external-run-id",
                     "container-image", "tag", "config", "color", "progress"):
            self.assertIn("--" + name, text)

    def test_runs_from_any_folder_by_any_path(self):
        os.symlink(TACHO, self.path("t"))
        self.assertEqual(self.tacho("run", "--no-store", "--", "sh", "-c", "exit 6", program=self.path("t")).rc, 6)
