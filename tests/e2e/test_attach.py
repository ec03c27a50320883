"""attach and watch: what already runs, until it ends or a signal comes."""
import csv
import os
import signal
import subprocess
import sys
import time

from support import IS_ROOT, SANITIZED, Case, burner, can, remove_cgroup, until


class Attach(Case):
    def target(self, *words, **keywords):
        process = subprocess.Popen([str(word) for word in words], env=self.environment(), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True, **keywords)
        self.addCleanup(lambda: (process.kill(), process.wait(), process.stdin.close(), process.stdout.close()))
        return process

    def say(self, target, word):
        target.stdin.write(word + "\n")
        target.stdin.flush()

    def attached(self, target, seconds):
        """tacho attach, that long after its run began."""
        process = self.spawn("attach", "-q", "-i", "50ms", "--pid", target.pid)
        self.assertTrue(until(self.run_folders))
        time.sleep(seconds)
        return process

    def test_what_is_used_while_files_are_made_counts(self):
        """The baseline is read at once: on a slow disk the outputs take a while to begin."""
        if SANITIZED or not can("strace", "-V"):
            self.skipTest("no strace here")
        slow = ["strace", "-qq", "-o", self.path("trace"), "-e", "trace=renameat2", "-e", "inject=renameat2:delay_enter=600000:when=1"]
        spin = "import sys, time\nsys.stdin.readline()\ntime.sleep(0.25)\nwhile time.process_time() < 0.6: pass"
        target = self.target(sys.executable, "-S", "-c", spin)
        process = self.spawn("attach", "-q", "-i", "100ms", "--pid", target.pid, wrap=slow)
        self.assertTrue(until(lambda: self.run_folders()), "no run")
        self.say(target, "go")
        target.stdin.close()
        self.assertEqual(process.wait(30), 0)
        with open(self.path("trace"), encoding="utf-8") as file:
            self.assertIn("DELAYED", file.read())
        run, _ = self.the_run()
        # But for the interpreter's start, and the time between the run's folder and its baseline, in which the target sleeps.
        self.assertGreater(run["totals"]["cpu_user_s"] + run["totals"]["cpu_system_s"], 0.53)
        self.assert_lines_add_up(run)

    def assert_lines_add_up(self, run):
        with open(os.path.join(self.run_folders()[0], "processes.csv"), newline="", encoding="utf-8") as file:
            lines = list(csv.DictReader(file))
        total = run["totals"]["cpu_user_s"] + run["totals"]["cpu_system_s"]
        self.assertAlmostEqual(sum(float(line["cpu_s"]) for line in lines), total, delta=0.01)
        return lines

    def test_what_was_used_before_is_in_no_line(self):
        """Neither in the total nor in processes.csv, nor in a line that is written before the end."""
        spin = ("import sys, time\nwhile time.process_time() < 0.5: pass\nprint('spun', flush=True)\nsys.stdin.readline()\n"
                "while time.process_time() < 0.7: pass\nsys.stdin.readline()")
        target = self.target(sys.executable, "-S", "-c", spin)
        target.stdout.readline()
        process = self.spawn("attach", "-q", "-i", "50ms", "--pid", target.pid)
        self.assertTrue(until(lambda: len(self.the_run()[1].rows) > 1 if self.run_folders() else False), "no rows")
        with open(os.path.join(self.run_folders()[0], "processes.csv"), newline="", encoding="utf-8") as file:
            self.assertLess(max(float(line["cpu_s"]) for line in csv.DictReader(file)), 0.1)
        for _ in range(2):
            self.say(target, "go")
        self.assertEqual(process.wait(30), 0)
        run, _ = self.the_run()
        line, *more = self.assert_lines_add_up(run)
        self.assertAlmostEqual(float(line["cpu_s"]), 0.2, delta=0.06)
        self.assertEqual(run["notes"], [], "a zombie that nobody reaped was read to its end")

    def test_a_target_that_a_stranger_reaps(self):
        """What it used after the last reading is known to nobody: said, and not made up."""
        script = ("import subprocess, sys\nchild = subprocess.Popen(['cat'], stdin=subprocess.PIPE)\nprint(child.pid, flush=True)\n"
                  "sys.stdin.readline()\nchild.stdin.close()\nchild.wait()\nprint('reaped', flush=True)\nsys.stdin.readline()")
        parent = self.target(sys.executable, "-S", "-c", script)
        process = self.spawn("attach", "-q", "-i", "10s", "--pid", parent.stdout.readline().strip())
        # Its header comes behind the reading from which everything counts.
        begun = [os.path.join(folder, "metrics.csv") for folder in until(self.run_folders)]
        self.assertTrue(until(lambda: os.path.exists(begun[0]) and os.path.getsize(begun[0])), "no run")
        process.send_signal(signal.SIGSTOP)
        self.say(parent, "go")
        self.assertEqual(parent.stdout.readline(), "reaped\n")
        process.send_signal(signal.SIGCONT)
        self.assertEqual(process.wait(30), 0)
        run, _ = self.the_run()
        self.assert_lines_add_up(run)
        self.assertEqual([note[:14] for note in run["notes"]], ["what 1 process"])

    def test_ends_with_its_target(self):
        target = self.target("sleep", "0.5")
        process = self.spawn("attach", "-q", "-i", "50ms", "--pid", target.pid)
        target.wait()
        self.assertEqual(process.wait(30), 0)
        run, table = self.the_run()
        self.assertEqual(run["mode"], "attach")
        self.assertEqual(run["pid"], target.pid)
        self.assertIsNone(run["outcome"]["exit_code"])
        self.assertEqual(run["state"], "finished")
        self.assertGreater(len(table.rows), 2)

    def test_interrupt(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            store = self.path(f"store{int(number)}")
            target = self.target("sleep", "60")
            process = self.spawn("attach", "-q", "-i", "1h", "--store", store, "-p", target.pid)
            self.assertTrue(until(lambda: self.run_folders(store)))
            time.sleep(0.3)
            process.send_signal(number)
            self.assertEqual(process.wait(30), 0)
            self.assertIsNone(target.poll(), "the target was harmed")
            self.assertEqual(len(self.the_run(store)[1].rows), 1)

    def test_counts_from_now_on(self):
        """CPU time from before is the baseline; children that come later count in full."""
        target = self.target("sh", "-c", f"{burner('cpu')} 1 600; echo burnt; read line; {burner('cpu')} 1 300; read line; sleep 0.1")
        target.stdout.readline()
        self.assertEqual(target.stdout.readline(), "burnt\n")
        process = self.attached(target, 0.3)
        self.say(target, "go")
        truth = self.truth(target.stdout.readline())
        self.say(target, "end")
        self.assertEqual(process.wait(30), 0)
        run, table = self.the_run()
        expected = truth["user_s"] + truth["system_s"]
        self.assertAlmostEqual(table.sum("process_utime") + table.sum("process_stime"), expected, delta=0.05)

    def test_last_child_counts_once(self):
        """The script ends with its last command: both are gone at the closing row."""
        truth = self.path("truth")
        target = self.target("sh", "-c", f"read line; {burner('cpu')} 1 500 > {truth}; exit 0")
        process = self.attached(target, 0.2)
        self.say(target, "go")
        self.assertEqual(process.wait(30), 0)
        run, table = self.the_run()
        expected = self.truth(self.read("truth"))
        self.assertAlmostEqual(table.sum("process_utime") + table.sum("process_stime"),
                               expected["user_s"] + expected["system_s"], delta=0.05, msg=run["notes"])
        self.assertEqual(run["notes"], [])
        self.assertNotEqual(run["method"]["memory"], "rss", "what zombies lack was taken for a method")

    def test_tree(self):
        target = self.target(burner("tree"), 20, 50, 20, 500)
        self.assertTrue(target.stdout.readline().startswith("ready"))
        process = self.attached(target, 0.8)
        target.stdin.close()
        target.wait()
        self.assertEqual(process.wait(30), 0)
        _, table = self.the_run()
        self.assertEqual(max(int(value) for value in table.column("process_children") if value), 19)
        self.assertGreater(table.sum("process_utime"), 0.02)

    def test_member_that_is_reparented_stays(self):
        """The middle process ends; its child keeps counting."""
        truth = self.path("truth")
        script = (f"sh -c '{burner('cpu')} 1 800 > {truth} & sleep 0.3; exit 0' & "
                  f"while [ ! -s {truth} ]; do sleep 0.05; done; sleep 0.1")
        target = self.target("sh", "-c", "read line; " + script, stderr=subprocess.DEVNULL)
        process = self.attached(target, 0.2)
        self.say(target, "go")
        self.assertEqual(process.wait(60), 0)
        _, table = self.the_run()
        # Nobody in the tree waits for it in the end: what was last seen of it counts, a tick may be missing.
        self.assertGreater(table.sum("process_utime") + table.sum("process_stime"), self.truth(self.read("truth"))["user_s"] - 0.2)

    def test_unknown_pid(self):
        self.refused(self.tacho("attach", "--pid", "4194303"), "4194303")
        self.refused(self.tacho("attach", "--pid", "0"))
        self.refused(self.tacho("attach", "--pid", "-5"))
        self.refused(self.tacho("attach", "--cgroup", "/no/such/cgroup"), "/no/such/cgroup")

    def test_somebody_elses(self):
        """nobody may watch root's process: CPU yes, bytes and PSS are empty, never 0."""
        if not IS_ROOT:
            self.skipTest("needs root")
        target = self.target(burner("cpu"), 1, 800)
        process = self.spawn("attach", "-q", "-i", "100ms", "--pid", target.pid, user="nobody")
        self.assertEqual(process.wait(30), 0)
        run, table = self.the_run()
        self.assertGreater(table.sum("process_utime"), 0.3)
        self.assertEqual(set(table.column("process_disk_read_bytes")), {""})
        self.assertEqual(run["method"]["memory"], "rss")
        self.assertTrue(run["notes"])

    def test_cgroup(self):
        root = next((path for path in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup")
                     if IS_ROOT and os.path.exists(path + "/cgroup.procs")), None)
        if root is None:
            self.skipTest("no cgroup that may be made")
        folder = f"{root}/tacho-e2e-{os.getpid()}-{self.mark[-6:]}"
        try:
            os.mkdir(folder)
        except OSError as error:
            self.skipTest(f"no cgroup that may be made: {error}")
        self.addCleanup(lambda: until(lambda: remove_cgroup(folder), 5))
        target = self.target("sh", "-c", f"echo $$ > {folder}/cgroup.procs; echo in; read line; {burner('cpu')} 1 300; sleep 0.3")
        self.assertEqual(target.stdout.readline(), "in\n")
        process = self.spawn("attach", "-q", "-i", "50ms", "--cgroup", folder)
        self.assertTrue(until(self.run_folders))
        time.sleep(0.3)
        self.say(target, "go")
        truth = self.truth(target.stdout.readline())
        target.wait()
        self.assertEqual(process.wait(30), 0)
        _, table = self.the_run()
        self.assertAlmostEqual(table.sum("process_utime") + table.sum("process_stime"),
                               truth["user_s"] + truth["system_s"], delta=0.05)


class Watch(Case):
    def test_interrupt(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            store = self.path(f"store{int(number)}")
            process = self.spawn("watch", "-q", "-i", "1h", "--store", store)
            self.assertTrue(until(lambda: self.run_folders(store)))
            time.sleep(0.2)
            process.send_signal(number)
            self.assertEqual(process.wait(30), 0)
            run, table = self.the_run(store)
            self.assertEqual(run["mode"], "watch")
            self.assertEqual(len(table.rows), 1)
            self.assertNotIn("pid", run)

    def test_second_interrupt(self):
        process = self.spawn("watch", "-q", "-i", "10ms")
        self.assertTrue(until(self.run_folders))
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        self.assertIn(process.wait(30), (0, 130, -2))
