"""The verdict where the kernel tells less: less evidence, by name in `missing`, and never a wrong verdict with confidence `high`."""
import json
import os
import random
import unittest

from support import IS_ROOT, SANITIZED, Case, burner, can

SCOPE = "/proc/sys/kernel/yama/ptrace_scope"
NO_PRESSURE = "mount -t tmpfs tmpfs /proc/pressure"
V1_ALONE = "if test -d /sys/fs/cgroup/unified; then mount -t tmpfs tmpfs /sys/fs/cgroup/unified; else mount -t tmpfs tmpfs /sys/fs/cgroup; fi"
AS_NOBODY = 'set -- setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"'


class VerdictWeather(Case):
    def judged(self, *job, setup=None, options=(), **keywords):
        """why --json and the rows of a job, in a mount namespace that SETUP changed first."""
        if setup is not None:
            if not (IS_ROOT and can("unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt")):
                self.skipTest("cannot make a mount namespace")
            keywords["wrap"] = ["unshare", "-m", "sh", "-c", setup + '; exec "$@"', "sh"]
        done = self.tacho("run", "-q", "-i", "100ms", *options, "--", *job, **keywords)
        self.assertEqual(done.rc, 0, done)
        run, table = self.the_run()
        for row in table.rows:
            waits = [int(value) for name, value in row.items() if name.startswith("process_waits_")]
            self.assertEqual(sum(waits), int(row["process_threads"]), row)
        return json.loads(self.tacho("why", "last", "--json").out), run, table

    def assert_lowered(self, why, word):
        self.assertNotEqual(why["confidence"], "high", why)
        self.assertTrue(any(word in one for one in why["missing"]), why)

    def test_no_psi(self):
        why, _, table = self.judged(burner("bound"), "sleep", "1", setup=f"{NO_PRESSURE}; {V1_ALONE}")
        self.assertEqual(set(table.column("system_pressure_cpu_some")), {""})
        self.assertEqual(set(table.column("cgroup_pressure_cpu_some")), {""})
        self.assert_lowered(why, "pressure of the job's own cgroup")
        self.assertEqual((why["verdict"], why["detail"]), ("waiting", "sleep"), why)

    def test_a_container_without_proc_pressure(self):
        """The job's own cgroup still tells; the machine's columns are empty, and nothing is missing for it."""
        why, run, table = self.judged(burner("bound"), "sleep", "1", setup=NO_PRESSURE)
        self.assertEqual(set(table.column("system_pressure_cpu_some")), {""})
        if table.column("cgroup_pressure_cpu_some")[1] == "":
            self.skipTest("no cgroup of its own here")
        self.assertEqual((why["verdict"], why["missing"]), ("waiting", []), why)

    def test_cgroup_v1_alone(self):
        why, run, table = self.judged(burner("bound"), "sleep", "1", setup=V1_ALONE)
        self.assertEqual(set(table.column("cgroup_pressure_io_some")), {""})
        self.assert_lowered(why, "the machine's stands in")

    def test_hidepid(self):
        why, _, _ = self.judged(burner("bound"), "lock", "1.2", setup=f"mount -t proc -o hidepid=2 proc /proc; {AS_NOBODY}")
        if why["verdict"] != "lock":  # without its syscalls a lock cannot be told from a pool
            self.assertNotEqual(why["confidence"], "high", why)

    def test_threads_that_may_not_be_looked_at(self):
        """A job that forbids to be traced, as ptrace_scope does for all: no syscall, no wchan; it is not taken for a job that runs."""
        if not IS_ROOT:
            self.skipTest("needs another user")
        hidden = "import ctypes, time; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); time.sleep(1.2)"
        why, run, table = self.judged("python3", "-c", hidden, user="nobody")
        self.assertEqual(run["method"]["waits"], "wchan")
        self.assert_lowered(why, "syscall")
        self.assertEqual(table.rows[-3]["process_waits_other"], "1")
        self.assertEqual(table.rows[-3]["process_waits_cpu"], "0")

    @unittest.skipUnless(IS_ROOT and os.path.exists(SCOPE), "this kernel has no ptrace_scope")
    def test_ptrace_scope(self):
        """1: a child may be looked at; 2: only with CAP_SYS_PTRACE. 3 cannot be taken back before the next boot."""
        with open(SCOPE, encoding="ascii") as file:
            before = file.read()
        if before.strip() == "3":
            self.skipTest("ptrace_scope is 3 for good")

        def write(value):
            with open(SCOPE, "w", encoding="ascii") as file:
                file.write(value)
        self.addCleanup(write, before)
        for scope, method in (("1", "syscall"), ("2", "wchan")):
            write(scope)
            done = self.tacho("run", "-q", "-i", "100ms", "--", burner("bound"), "lock", "1.2", user="nobody")
            self.assertEqual(done.rc, 0, done)
            why = json.loads(self.tacho("why", "last", "--json").out)
            newest = max(self.run_folders(), key=os.path.getmtime)
            with open(os.path.join(newest, "run.json"), encoding="utf-8") as file:
                self.assertEqual(json.load(file)["method"]["waits"], method)
            if method == "wchan":
                self.assert_lowered(why, "syscall")
                self.assertNotEqual(why["verdict"], "lock", why)

    def test_threads_that_die_while_looked_at(self):
        self.judged(burner("bound"), "churn", "1", options=("-i", "20ms"))

    @unittest.skipIf(SANITIZED, "too slow with a sanitizer")
    def test_ten_thousand_threads(self):
        """64 of them a tick, scaled: all sleep, and rows keep coming."""
        why, _, table = self.judged(burner("bound"), "herd", "3")
        threads = max(int(value) for value in table.column("process_threads"))
        if threads < 10000:
            self.skipTest(f"this machine allows {threads} threads only")
        full = [row for row in table.rows if int(row["process_threads"]) >= 10000]
        self.assertTrue(full)
        for row in full:
            self.assertGreater(int(row["process_waits_sleep"]) + int(row["process_waits_cpu"]) + int(row["process_waits_other"]), 9000, row)
        self.assertIn(why["verdict"], ("waiting", "cpu", "mixed", "single_thread", "none"), why)

    def test_nonsense_in_a_file(self):
        """Cells that are no numbers are empty; huge, negative and endless ones make no crash and no evidence that is not a number."""
        names = ["timestamp", "process_cpu_usage", "process_threads", "cgroup_pressure_cpu_some", "cgroup_pressure_io_some", "cgroup_pressure_memory_full",
                 "cgroup_throttled_time", "process_waits_disk", "process_waits_cpu", "process_gpu_utilized", "system_gpu_sm_active"]
        chance = random.Random(17)
        cells = ["nan", "NaN", "inf", "-inf", "-1", "1e308", "1e999", "-0", "", "x", "0.5", "0x10", "99999999999999999999"]
        for _ in range(20):
            lines = [",".join(names)]
            for i in range(12):
                lines.append(",".join([str(1000 + i)] + [chance.choice(cells) for _ in names[1:]]))
            self.write("odd.csv", "\n".join(lines) + "\n")
            done = self.tacho("why", "--json", self.path("odd.csv"))
            self.assertEqual(done.rc, 0, done)
            why = json.loads(done.out, parse_constant=lambda word: self.fail(f"{word} is no JSON"))
            self.assertLessEqual(why["share"], 1 + 1e-6)
            if any(cell in ("nan", "") for cell in lines[1].split(",")):
                self.assertNotEqual((why["confidence"], why["missing"]), ("high", []), why)

    def test_two_rows(self):
        self.write("two.csv", "timestamp,process_cpu_usage,process_threads\n1000,4,1\n1001,4,1\n")
        why = json.loads(self.tacho("why", "--json", self.path("two.csv")).out)
        self.assertEqual((why["verdict"], why["share"], why["confidence"]), ("unknown", 0, "low"))
