"""Signals that tacho gets reach the job; the job decides."""
import os
import shutil
import signal
import subprocess
import sys
import time

from support import IS_ROOT, Case, burner, can, children_of, marked_pids, process_state, until


class Signals(Case):
    def listener(self, *options, code=7, **keywords):
        """tacho over burn_signals; returns (process, pid of the job)."""
        process = self.spawn("run", "-q", *options, "--", burner("signals"), code, **keywords)
        line = process.stdout.readline()
        self.assertTrue(line.startswith("ready "), line)
        return process, int(line.split()[1])

    def test_forwarded(self):
        process, _ = self.listener()
        for name in ("INT", "HUP", "QUIT", "USR1", "USR2", "WINCH", "INT", "TSTP", "CONT", "USR1"):
            os.kill(process.pid, getattr(signal, "SIG" + name))
            line = process.stdout.readline()
            while name != "CONT" and line.startswith("CONT "):  # a stopped tacho that wakes passes this on too
                line = process.stdout.readline()
            self.assertTrue(line.startswith(name + " "), (name, line))
            if name == "TSTP":
                until(lambda: process_state(process.pid) == "T", 1)  # tacho may stop beside its job; CONT wakes both
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(30), 7)

    def test_term_ends_with_the_jobs_code(self):
        process, _ = self.listener(code=42)
        process.terminate()
        self.assertEqual(process.wait(30), 42)
        run, _ = self.the_run()
        self.assertEqual(run["outcome"]["exit_code"], 42)
        self.assertIsNone(run["outcome"]["signal"])

    def test_a_job_that_becomes_another_user(self):
        """As sudo does: it cannot be ended, which is said."""
        self.need_root()
        if not shutil.which("setpriv"):
            self.skipTest("no setpriv")
        program = shutil.copy(shutil.which("setpriv"), self.path("becomes"))
        os.chmod(program, 0o4755)
        done = self.tacho("run", "-i", "100ms", "--timeout", "0.2s", "--", program, "--reuid", "0", "--regid", "0", "--clear-groups", "sleep", "0.6", user="nobody",
                          env={"TACHO_NO_STORE": "1"})
        self.assertEqual((done.rc, done.err.count("takes no signal")), (124, 1), done)

    def test_signals_that_nobody_knows_are_for_the_job(self):
        """They would end tacho alone, and the job would live on: SGE's CPU limits, an init's real-time ones, a timer that was set before exec."""
        for number in (signal.SIGALRM, signal.SIGXCPU, signal.SIGPWR, signal.SIGRTMIN + 3, signal.SIGRTMAX):
            process = self.spawn("run", "-q", "--no-store", "--", "sh", "-c", f"trap 'exit 9' {int(number)}; echo ready; while :; do sleep 0.02; done")
            self.assertEqual(process.stdout.readline(), "ready\n")
            process.send_signal(number)
            self.assertEqual(process.wait(30), 9, number)
        alarm = "import os, signal, sys; signal.alarm(1); os.execvp(sys.argv[1], sys.argv[1:])"
        done = self.tacho("run", "-q", "--no-store", "--", "sleep", "60", wrap=[sys.executable, "-c", alarm])
        self.assertEqual(done.rc, -signal.SIGALRM)
        watch = self.spawn("watch", "-q", "-i", "50ms", "-o", self.path("x.csv"))
        self.assertTrue(until(lambda: os.path.exists(self.path("x.csv")) and os.path.getsize(self.path("x.csv")) > 2000))
        watch.send_signal(signal.SIGALRM)
        self.assertEqual(watch.wait(30), 0)

    def test_term_kills_a_plain_job(self):
        process = self.spawn("run", "--", "sleep", "60")
        self.assertTrue(until(lambda: children_of(process.pid)))
        time.sleep(0.2)
        process.terminate()
        self.assertEqual(process.wait(30), -15)
        run, table = self.the_run()
        self.assertEqual(run["outcome"]["signal"], 15)
        self.assertGreaterEqual(len(table.rows), 1)

    def test_each_is_sent_once(self):
        """To the whole group, as a terminal does: the job must see one, not a second from tacho."""
        process, _ = self.listener(start_new_session=True)
        for name in ("USR1", "USR2"):
            os.killpg(process.pid, getattr(signal, "SIG" + name))
            while not process.stdout.readline().startswith(name):
                pass
        time.sleep(0.3)
        process.terminate()
        rest = process.stdout.read().splitlines()
        self.assertEqual(process.wait(30), 7)
        # A signal from a process cannot be told from a terminal's in every case, so one repeat is allowed here; the
        # terminal's own are counted exactly in test_terminal.
        self.assertLessEqual(len([line for line in rest if line.startswith("USR")]), 2)

    def test_a_job_that_outlives_two_interrupts(self):
        process, job = self.listener()
        for _ in range(2):
            os.kill(process.pid, signal.SIGINT)
            self.assertTrue(process.stdout.readline().startswith("INT"))
        self.assertIsNone(process.poll())
        self.assertIsNotNone(process_state(job))
        process.terminate()
        self.assertEqual(process.wait(30), 7)

    def test_survived_interrupts_do_not_skip_the_summary(self):
        """Two Ctrl-C that the job survived are its own business: the summary comes all the same."""
        process = self.spawn("run", "--", burner("signals"), 7)
        self.assertTrue(process.stdout.readline().startswith("ready "))
        for _ in range(3):
            os.kill(process.pid, signal.SIGINT)
            self.assertTrue(process.stdout.readline().startswith("INT"))
        process.terminate()
        self.assertEqual(process.wait(30), 7)
        self.assertIn("tacho: exit 7", process.stderr.read())

    def test_ignored_interrupts_end_no_recording(self):
        """What a script starts in the background has INT and QUIT ignored; what nohup starts, HUP."""
        ignoring = [sys.executable, "-c", "import os, signal, sys\n"
                    "for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTSTP): signal.signal(number, signal.SIG_IGN)\n"
                    "os.execv(sys.argv[1], sys.argv[1:])"]
        target = subprocess.Popen(["sleep", "60"], env=self.environment())
        self.addCleanup(lambda: (target.kill(), target.wait()))
        for words in (["watch"], ["attach", "--pid", target.pid], ["monitor"]):
            with self.subTest(words=words):
                rows = self.path("rows-" + words[0])
                options = [] if words == ["monitor"] else ["-q", "-i", "20ms", "-o", rows + ".csv"]
                env = {"TACHO_MONITOR_INTERVAL": "1", "HOME": self.dir}
                process = self.spawn(*words, *options, wrap=ignoring, env=env, stdout=subprocess.DEVNULL)
                self.assertTrue(until(lambda: self.seen_started(process, words, rows)))
                for number in (signal.SIGINT, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTSTP):
                    process.send_signal(number)
                time.sleep(0.3)
                self.assertIsNone(process.poll())
                self.assertNotEqual(process_state(process.pid), "T")
                process.terminate()
                self.assertEqual(process.wait(30), 0)

    def seen_started(self, process, words, rows):
        if words != ["monitor"]:
            return os.path.getsize(rows + ".csv") > 0
        return self.blocks(process.pid, signal.SIGTERM)  # it has blocked what it handles

    def test_ignored_stays_ignored_for_the_job(self):
        """A job that handles INT although it was ignored at the start gets it, as it would without tacho."""
        ignoring = [sys.executable, "-c", "import os, signal, sys\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nos.execv(sys.argv[1], sys.argv[1:])"]
        process, _ = self.listener(wrap=ignoring)
        os.kill(process.pid, signal.SIGINT)
        self.assertTrue(process.stdout.readline().startswith("INT "))
        process.terminate()
        self.assertEqual(process.wait(30), 7)
        done = self.tacho("run", "-q", "--", "sh", "-c", "kill -INT $$; echo alive", wrap=ignoring)
        self.assertEqual((done.rc, done.out), (0, "alive\n"))

    def test_a_signal_before_the_start_starts_nothing(self):
        """An output that is waited for (a FIFO without a reader): a Ctrl-C there ends tacho by that signal, and no job starts."""
        os.mkfifo(self.path("fifo"))
        process = self.spawn("run", "-q", "-o", self.path("fifo"), "-f", "csv", "--", "touch", self.path("ran"))
        self.assertTrue(until(lambda: self.blocks(process.pid, signal.SIGINT)))
        process.send_signal(signal.SIGINT)
        reader = os.open(self.path("fifo"), os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        self.assertIn(process.wait(30), (-signal.SIGINT, 125))  # 125: nobody read the FIFO in time
        self.assertFalse(os.path.exists(self.path("ran")))
        self.assertEqual(self.run_folders(), [])

    def blocks(self, pid, number):
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            blocked = [int(line.split()[1], 16) for line in file if line.startswith("SigBlk:")][0]
        return blocked >> (number - 1) & 1

    def test_a_timeout_reaches_a_stopped_job(self):
        """tacho stops with its job; the time limit wakes it."""
        process = self.spawn("run", "-q", "--timeout", "1s", "--", "sh", "-c", "kill -STOP $$", start_new_session=True)
        self.assertTrue(until(lambda: process_state(process.pid) == "T"))
        self.assertEqual(process.wait(30), 124)

    def test_ignored_stays_ignored(self):
        """nohup: HUP was ignored before tacho, so it stays ignored for both."""
        process = self.spawn("run", "-q", "--", "sh", "-c", "echo ready; sleep 1; echo end", wrap=["nohup"],
                             stderr=subprocess.DEVNULL)
        self.assertEqual(process.stdout.readline(), "ready\n")
        os.kill(process.pid, signal.SIGHUP)
        self.assertEqual(process.stdout.readline(), "end\n")
        self.assertEqual(process.wait(30), 0)

    def test_signal_at_the_very_start(self):
        """A signal in the first milliseconds ends the run in one of the expected ways and never hangs it."""
        for delay_ms in (0, 1, 2, 3, 5, 8):
            process = self.spawn("run", "-q", "--no-store", "--", "sleep", "30")
            time.sleep(delay_ms / 1000)
            process.terminate()
            self.assertIn(process.wait(20), (143, -15))

    def test_stopped_and_continued_job(self):
        done, run, _ = self.tracked(burner("stop_cont"), "100", "300", options=["-i", "50ms"])
        self.assertGreaterEqual(self.truth(done.out)["stopped_ms"], 290)
        self.assertGreaterEqual(run["outcome"]["duration_s"], 0.4)

    def test_stopped_tacho_leaves_the_job_alone(self):
        process = self.spawn("run", "-q", "-i", "50ms", "--", "sh", "-c", f"echo up; sleep 0.5; touch {self.path('done')}")
        self.assertEqual(process.stdout.readline(), "up\n")
        os.kill(process.pid, signal.SIGSTOP)
        self.assertTrue(until(lambda: os.path.exists(self.path("done")), 20))
        os.kill(process.pid, signal.SIGCONT)
        self.assertEqual(process.wait(30), 0)

    def test_term_to_pid_1(self):
        """In a PID namespace tacho is PID 1, where the default of every signal is to be ignored."""
        if not (IS_ROOT and can("unshare", "-pf", "--mount-proc", "true")):
            self.skipTest("cannot make a PID namespace")
        process = self.spawn("run", "-q", "--", burner("signals"), 9, wrap=["unshare", "-pf", "--mount-proc", "--kill-child"])
        self.assertTrue(process.stdout.readline().startswith("ready"))
        with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
            agent = int(file.read().split()[0])
        os.kill(agent, signal.SIGUSR1)
        self.assertTrue(process.stdout.readline().startswith("USR1"))
        os.kill(agent, signal.SIGTERM)
        self.assertTrue(process.stdout.readline().startswith("TERM"))
        self.assertEqual(process.wait(30), 9)

    def test_a_stop_below_pid_1(self):
        """PID 1 is stopped by nothing inside its namespace: a Ctrl-Z has no effect, and a job that is stopped otherwise is recorded meanwhile."""
        if not (IS_ROOT and can("unshare", "-pf", "--mount-proc", "true")):
            self.skipTest("cannot make a PID namespace")
        for number, code in ((signal.SIGSTOP, 3), (signal.SIGTSTP, 4), (signal.SIGTTIN, 5)):
            script = f"(sleep 1; kill -CONT $$) & echo $$; kill -{int(number)} $$; exit {code}"
            process = self.spawn("run", "-q", "-i", "50ms", "--no-store", "-o", self.path(f"{code}.csv"), "--", "sh", "-c", script,
                                 wrap=["unshare", "-pf", "--mount-proc", "--kill-child"])
            self.assertEqual(process.wait(30), code)
            rows = len(self.read(f"{code}.csv").splitlines()) - 1
            # The others stop nobody in an orphaned group, as where a build service runs this.
            self.assertGreater(rows, 5 if number == signal.SIGSTOP else 0)

    def test_killed_beside_a_stopped_job(self):
        """The job stays as it is and goes on when somebody continues it; nothing of tacho's is left that would."""
        process = self.spawn("run", "-q", "--", "sh", "-c", f"echo $$; kill -STOP $$; touch {self.path('done')}")
        job = int(process.stdout.readline())
        self.assertTrue(until(lambda: process_state(process.pid) == "T" and process_state(job) == "T"))
        process.kill()
        process.wait(30)
        self.assertTrue(until(lambda: all(pid == job for pid in marked_pids(self.mark))), "the waker lives on")
        time.sleep(0.3)
        self.assertEqual(process_state(job), "T")
        os.kill(job, signal.SIGCONT)
        self.assertTrue(until(lambda: os.path.exists(self.path("done"))))
