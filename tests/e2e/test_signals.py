"""Signals that tacho gets reach the job; the job decides."""
import os
import signal
import subprocess
import time

from support import IS_ROOT, Case, burner, can, process_state, until


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

    def test_term_kills_a_plain_job(self):
        process = self.spawn("run", "--", "sleep", "60")
        self.assertTrue(until(self.run_folders))
        time.sleep(0.2)
        process.terminate()
        self.assertEqual(process.wait(30), 143)
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
