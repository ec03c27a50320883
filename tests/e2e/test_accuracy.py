"""Totals against the burners' own truth: CPU time, bytes, memory peak; by cgroup and by tree, as root and as nobody."""
import os

from support import IS_ROOT, SANITIZED, Case, burner

LOADS = {
    # name: (burner and arguments, exact also without a cgroup)
    "steady": (["cpu", "2", "600"], True),
    "system": (["system", "500"], True),
    "short_children": (["forks", "5000", "200"], True),
    "pipeline": (["pipeline", "16", "4", "25"], True),
    "daemon": (["daemon", "400"], True),
    "threads_fork": (["threads_fork", "3", "5", "30"], True),
    "exec_chain": (["exec_chain", "5", "100"], True),
    "new_session": (["new_session", "150"], True),
    "names": (["names", "DIR", "150"], True),
    "stop_cont": (["stop_cont", "150", "200"], True),
    # Reaped by the kernel itself: no parent ever gets their time; a cgroup has it all, or a clock that they inherit.
    "ignore_sigchld": (["ignore_sigchld", "8", "60"], False),
}


def steal_s():
    """Of the whole machine so far."""
    with open("/proc/stat", encoding="ascii") as file:
        return int(file.readline().split()[8]) / os.sysconf("SC_CLK_TCK")


class CpuTime(Case):
    weight = 5

    def check(self, load, method, user, interval):
        if user == "root" and not IS_ROOT:
            self.skipTest("needs root")
        words, exact = LOADS[load]
        job = [burner(words[0])] + [self.dir if word == "DIR" else word for word in words[1:]]
        stolen = steal_s()
        done, run, table = self.tracked(*job, options=["-i", interval, "--method", method], user=user)
        if method == "cgroup" and run["method"]["cpu"] != "cgroup":
            self.skipTest(f"no cgroup of its own here: {run['notes']}")
        truth = self.truth(done.out)
        expected = truth["user_s"] + truth["system_s"]
        rows = table.sum("process_utime") + table.sum("process_stime")
        totals = run["totals"]["cpu_user_s"] + run["totals"]["cpu_system_s"]
        allowed = max(0.02, 0.01 * expected)
        if any("clock that" in note for note in run["notes"]):  # it goes on while the hypervisor runs somebody else
            allowed += steal_s() - stolen
        context = f"truth {expected:.4f}, rows {rows:.4f}, totals {totals:.4f}, {run['method']}, {run['notes']}"
        self.assertLess(rows, expected + allowed, context)
        self.assertLess(totals, expected + allowed, context)
        if exact or run["method"]["cpu"] == "cgroup" or any("clock that" in note for note in run["notes"]):
            self.assertGreater(rows, expected - allowed, context)
            self.assertGreater(totals, expected - allowed, context)
        else:
            self.assertGreater(rows, 0, context)
        self.assertAlmostEqual(rows, totals, delta=0.005 + 0.0001 * len(table.rows), msg=context)
        if load == "system":
            self.assertGreater(table.sum("process_stime"), 0.5 * expected, context)
        if load == "steady":
            self.assertGreater(table.sum("process_utime"), 0.8 * expected, context)
        for row in table.rows:
            self.assertGreaterEqual(float(row["process_utime"]), 0)
            self.assertGreaterEqual(float(row["process_stime"]), 0)


def add_matrix():
    for load in LOADS:
        for method, user in (("cgroup", "root"), ("tree", "root"), ("tree", "nobody")):
            for interval in ("1s", "100ms"):
                if interval == "100ms" and load in ("system", "exec_chain", "new_session", "names"):
                    continue  # one process or two: the interval changes nothing that the others do not show

                def test(self, load=load, method=method, user=user, interval=interval):
                    self.check(load, method, user, interval)
                setattr(CpuTime, f"test_{load}_{method}_{user}_{interval}", test)


add_matrix()


class Bytes(Case):
    def io(self, *job, user=None, options=(), prepare=()):
        """A warm-up without tacho first, so that reading the programs themselves costs no disk."""
        for words in prepare:
            self.assertEqual(self.tacho("run", "-q", "--no-store", "--", *words, user=user).rc, 0)
        done, run, table = self.tracked(*job, user=user, options=options)
        return done, run, int(table.sum("process_disk_read_bytes")), int(table.sum("process_disk_write_bytes"))

    def check_one(self, user, interval, hold_ms):
        job = [burner("io"), self.path("data"), "3072", "2048", str(hold_ms)]
        done, run, read, written = self.io(*job, user=user, options=["-i", interval], prepare=[job])
        truth = self.truth(done.out)
        if truth["write_bytes"] < truth["asked_write_bytes"]:
            self.skipTest("the temporary folder is not on a disk")
        context = f"{truth} {run['method']} {run['notes']}"
        self.assertEqual((read, written), (truth["read_bytes"], truth["write_bytes"]), context)
        self.assertEqual((run["totals"]["io_read_bytes"], run["totals"]["io_write_bytes"]), (read, written), context)

    def test_root_short(self):
        self.need_root()
        self.check_one("root", "1s", 0)

    def test_root_long(self):
        self.need_root()
        self.check_one("root", "50ms", 300)

    def test_nobody_long(self):
        self.check_one("nobody", "50ms", 500)

    def test_nobody_short(self):
        """/proc/ZOMBIE/io is refused to nobody: exact still, or empty with a note, never a wrong number."""
        job = [burner("io"), self.path("data"), "3072", "2048", "0"]
        done, run, read, written = self.io(*job, user="nobody", prepare=[job])
        truth = self.truth(done.out)
        if truth["write_bytes"] < truth["asked_write_bytes"]:
            self.skipTest("the temporary folder is not on a disk")
        if (read, written) != (truth["read_bytes"], truth["write_bytes"]):
            self.assertTrue(run["notes"], f"{read} {written} {truth} {run['method']}")

    def test_children(self):
        """Several processes in a row: each byte once, although a parent absorbs its children's."""
        script = " && ".join(f"{burner('io')} {self.path('data%d' % i)} 1024 512 >> {self.path('truth')}" for i in range(4))
        job = ["sh", "-c", f"{script} && sleep 0.2; exit 0"]  # the last word: sh itself stays to the end
        done, run, read, written = self.io(*job, options=["-i", "50ms"], prepare=[job])
        lines = [self.truth(line) for line in self.read("truth").splitlines()][-4:]
        if lines[0]["write_bytes"] < lines[0]["asked_write_bytes"]:
            self.skipTest("the temporary folder is not on a disk")
        # What sh itself writes (appending to the truth file) is its own; a page at most for each of the redirections.
        expected = sum(line["write_bytes"] for line in lines)
        self.assertGreaterEqual(written, expected)
        self.assertLessEqual(written, expected + 8 * 4096, run["notes"])
        expected = sum(line["read_bytes"] for line in lines)
        self.assertGreaterEqual(read, expected)
        self.assertLessEqual(read, expected + 8 * 4096, run["notes"])


class Memory(Case):
    def check(self, method, user, interval="1s"):
        if user == "root" and not IS_ROOT:
            self.skipTest("needs root")
        done, run, table = self.tracked(burner("memory"), "300", "50", "300", "200", user=user,
                                        options=["--method", method, "-i", interval])
        truth = self.truth(done.out)
        peak = run["statistics"]["process_memory_mib"]["max"]
        self.assertGreater(peak, 300 * 0.98, run["notes"])
        self.assertLess(peak, truth["max_rss_kib"] / 1024 * 1.02, run["notes"])
        self.assertGreater(run["totals"]["memory_peak_bytes"], (300 << 20) * 0.98)
        self.assertGreater(run["totals"]["largest_process_bytes"], (300 << 20) * 0.98)
        self.assertLess(run["totals"]["largest_process_bytes"], truth["max_rss_kib"] * 1024 * 1.02)

    def test_spike_cgroup_root(self):
        self.check("cgroup", "root")

    def test_spike_tree_root(self):
        self.check("tree", "root")

    def test_spike_tree_nobody(self):
        self.check("tree", "nobody")

    def test_spike_of_a_child(self):
        """The spike is in a child that is gone before the next tick."""
        done, run, _ = self.tracked("sh", "-c", f"sleep 0.2; {burner('memory')} 200 50; sleep 0.2", options=["-i", "10s"])
        self.assertGreater(run["statistics"]["process_memory_mib"]["max"], 200 * 0.98)
        self.assertLess(run["statistics"]["process_memory_mib"]["max"], 200 * 1.02 + 4)

    def test_a_small_job_is_small(self):
        """The job does not inherit tacho's own size before exec."""
        if SANITIZED:
            self.skipTest("a sanitized tacho is large, and so is its fork")
        _, run, _ = self.tracked("true")
        self.assertLess(run["statistics"]["process_memory_mib"]["max"], 4)

    def test_level_in_rows(self):
        _, _, table = self.tracked(burner("memory"), "100", "800", options=["-i", "50ms"])
        levels = [float(value) for value in table.column("process_memory_mib") if value]
        # On a busy machine most rows may be of the time in which the memory is being filled.
        self.assertGreater(sum(1 for level in levels if abs(level - 100) <= 6), 5, levels)
        self.assertLess(max(levels), 106)


class Counts(Case):
    def test_children(self):
        _, _, table = self.tracked("sh", "-c", "sleep 1 & sleep 1 & sleep 1 & wait", options=["-i", "50ms"])
        self.assertEqual(max(int(value) for value in table.column("process_children")), 3)
        self.assertEqual(len(set(table.column("process_pid"))), 1)

    def test_agent_is_not_in_the_job(self):
        """An idle job next to a busy tacho (10 ms ticks, every probe) stays idle."""
        _, run, table = self.tracked("sleep", "1", options=["-i", "10ms"])
        self.assertLess(table.sum("process_utime") + table.sum("process_stime"), 0.02)

    def test_usage_is_time_over_time(self):
        done, run, table = self.tracked(burner("cpu"), "1", "700", options=["-i", "100ms"])
        cores = float(run["statistics"]["process_cpu_usage"]["mean"])
        cpu = table.sum("process_utime") + table.sum("process_stime")
        self.assertAlmostEqual(cores, cpu / run["outcome"]["duration_s"], delta=0.05 + 0.05 * cores)
        self.assertLess(max(float(value) for value in table.column("process_cpu_usage")), os.cpu_count() + 1)
