"""The job's tree: nobody is missing from any row, by cgroup and by tree, run and attached, as root and as nobody."""
import concurrent.futures
import os
import random
import re
import subprocess
import sys

import tree_oracle
from support import BUILD, IS_ROOT, SANITIZED, TACHO, Case, burner, can, until


class Tree(Case):
    def children(self, options, script, user=None):
        """process_children of each row but the last of a shell that waits."""
        _, _, table = self.tracked("sh", "-c", script, options=["-q", *options], user=user)
        return [int(value) for value in table.column("process_children")[:-1]]

    def test_a_child_is_there_from_the_first_row_on(self):
        for user in ("root", "nobody") if IS_ROOT else ("nobody",):
            with self.subTest(user=user):
                self.store = self.path("store-" + user)
                rows = self.children(["--method", "tree", "-i", "0.25", "--store", self.store], "sleep 2; true", user)
                self.assertGreater(len(rows), 3)
                self.assertEqual(set(rows), {1}, rows)

    def test_a_large_child_counts_from_the_first_row_on(self):
        script = "python3 -c 'import time; block = bytearray(120 << 20); block[::4096] = bytes(120 << 8); time.sleep(2)'; true"
        _, _, table = self.tracked("sh", "-c", script, options=["-q", "--method", "tree", "-i", "0.2"], user="nobody")
        memory = [float(value) for value in table.column("process_memory_mib")]
        large = [i for i, value in enumerate(memory) if value > 110]
        self.assertGreater(len(large), 4, memory)
        self.assertEqual(large, list(range(large[0], large[-1] + 1)), memory)
        self.assertEqual(set(table.column("process_children")[:large[-1]]), {"1"})
        for row in table.rows[1:]:
            seconds, rate = float(row["process_utime"]) + float(row["process_stime"]), float(row["process_cpu_usage"])
            if rate > 0:  # ticks of 10 ms, on each core and for user and system time of what was waited for
                self.assertLess(seconds, os.cpu_count() * (seconds / rate + 0.01) + 0.04, row)

    def test_an_orphan_of_an_attached_session_is_found(self):
        """Its parent ended before it was seen, so that it is in nobody's list: its session tells."""
        script = "read go; (sleep 60 & ) ; read end"
        job = subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, env=self.environment(), start_new_session=True)
        self.addCleanup(job.wait)
        self.addCleanup(self.end_marked)
        process = self.spawn("attach", "-q", "-i", "0.2", "--pid", str(job.pid))

        def rows():
            folders = self.run_folders()
            return self.the_run()[1].column("process_children") if folders else []

        self.assertTrue(until(lambda: len(rows()) >= 8), "no rows")
        self.assertEqual(set(rows()), {"0"})
        job.stdin.write(b"go\n")
        job.stdin.flush()
        self.assertTrue(until(lambda: rows()[-1] == "1"), "it was not found")
        job.stdin.close()
        self.end_marked()
        process.wait()


class Memory(Case):
    """A process between its birth and the program that it executes has its parent's pages, which count once."""
    weight = 3
    MIB = 60

    def memory(self, number, job, *options, wrap=(), user=None):
        """process_memory_mib and process_children of each row but the last."""
        store = self.path(f"store-{number}")
        done = self.tacho("run", "-q", "-i", "0.1", "--store", store, *options, "--", *job, wrap=wrap, user=user)
        self.assertEqual(done.rc, 0, done)
        rows = self.the_run(store)[1].rows[:-1]
        return [float(row["process_memory_mib"]) for row in rows], [row["process_children"] for row in rows]

    def each(self, jobs, check):
        """jobs: arguments of memory(); several at a time."""
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            futures = {str(job): pool.submit(self.memory, number, job.pop("job"), *job.pop("options"), **job) for number, job in enumerate(jobs)}
            for name, future in futures.items():
                with self.subTest(name):
                    check(*future.result())

    def test_a_child_in_its_parents_memory_counts_once(self):
        """vfork and posix_spawn; the call that tells whether the memory is one may be forbidden."""
        without = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "without_call.py"), "kcmp"]
        jobs = [{"job": [burner("sharing"), how, self.MIB, 1000, 1500], "options": options, "wrap": wrap, "user": user}
                for user in (("root", "nobody") if IS_ROOT else ("nobody",))
                for options in (["--pss", "never"], ["--pss", "always"], ["--pss", "never", "--method", "tree"])
                for how in ("vfork", "thread") for wrap in ((), without)]

        def check(memory, children):
            with_child = [mib for mib, count in zip(memory, children) if count == "1"]
            self.assertGreater(len(with_child), 12, children)
            self.assertLess(max(with_child), self.MIB + 20, memory)
            self.assertGreater(min(with_child[2:]), self.MIB - 2, memory)
        self.each(jobs, check)

    def test_pages_that_are_shared_no_more(self):
        """After its child became another program a parent has all its pages for itself again."""
        def check(memory, children):
            with_child = [mib for mib, count in zip(memory, children) if count == "1"]
            self.assertLess(max(with_child[2:8]), self.MIB + 20, memory)
            self.assertGreater(min(with_child[-6:]), self.MIB - 2, memory)
        self.each([{"job": [burner("sharing"), "fork", self.MIB, 1000, 1500], "options": ["--pss", "auto"]}], check)

    def test_a_process_whose_first_thread_has_ended(self):
        def check(memory, _):
            self.assertGreater(len(memory), 8)
            self.assertGreater(min(memory[-6:]), self.MIB - 2, memory)
            self.assertLess(max(memory), self.MIB + 20, memory)
        self.each([{"job": [burner("leaderless"), self.MIB, 1500], "options": options}
                   for options in (["--pss", "never"], ["--pss", "always"], ["--pss", "always", "--method", "tree"])], check)


class Failures(Case):
    def test_a_failed_reading_is_no_end(self):
        """One that was dropped and found again would count twice."""
        if SANITIZED or not can("strace", "-V"):
            self.skipTest("no strace here")
        trace = self.path("trace")
        for every in (7, 11, 13):  # one that divides the readings of a tick meets the same file each time
            subprocess.run(["rm", "-rf", self.store], check=True)
            wrap = ["-qq", "-y", "-o", trace, "-e", "trace=pread64", "-e", f"inject=pread64:error=EIO:when=60+{every}", TACHO]
            done = self.tacho(*wrap, "run", "-q", "-i", "0.05", "--method", "tree", "--", burner("cpu"), "1", "600", program="strace")
            self.assertEqual(done.rc, 0, done)
            with open(trace, encoding="utf-8") as file:
                failed = [line for line in file if "INJECTED" in line and re.search(r"/proc/\d+/stat>", line)]
            if failed:
                break
        self.assertTrue(failed, "no reading of a process failed")
        run, table = self.the_run()
        truth = self.truth(done.out)
        self.assertEqual(run["totals"]["processes_seen"], 1)
        self.assertAlmostEqual(table.sum("process_utime") + table.sum("process_stime"), truth["user_s"] + truth["system_s"], delta=0.05)


class Namespace(Case):
    def test_processes_of_a_pid_namespace_are_counted_in_each_row(self):
        """There the link count of /proc does not tell them, and names that were counted a second ago are no answer."""
        if not IS_ROOT or not can("unshare", "-pf", "--mount-proc", "true"):
            self.skipTest("no PID namespace can be made here")
        job = "sleep 0.35; sleep 0.9 & sleep 0.9 & wait"
        done = self.tacho("-pf", "--mount-proc", "sh", "-c", f"{TACHO} run -q -i 0.1 -- sh -c '{job}'; true", program="unshare")
        self.assertEqual(done.rc, 0, done)
        _, table = self.the_run()
        counts = [int(value) for value in table.column("system_processes")]
        children = [int(value) for value in table.column("process_children")]
        # The shell of the namespace, tacho and the job's shell beside its children; the last row is that of an ended job.
        steady = [i for i in range(1, len(counts) - 1) if children[i - 1] == children[i] == children[i + 1]]
        self.assertGreater(len(steady), 3, children)
        self.assertEqual([counts[i] for i in steady], [3 + children[i] for i in steady], (counts, children))
        self.assertIn(2, [children[i] for i in steady])


class Property(Case):
    """Short rounds of tree_oracle.py, one for each way; the long ones are that program's own."""
    weight = 6

    def one(self, kind):
        if "root" in kind:
            self.need_root()
        seed = int(os.environ.get("TACHO_TREE_SEED", random.SystemRandom().randrange(1 << 30)))
        os.environ["TACHO_E2E_MARK"] = self.mark
        try:
            tree_oracle.one_round(TACHO, os.path.join(BUILD, "bin"), kind, seed, 2000)
        except tree_oracle.Wrong as wrong:
            self.fail(f"seed {seed} (TACHO_TREE_SEED={seed} tries it again)\n{wrong}")


for name in tree_oracle.KINDS:
    setattr(Property, f"test_{name}", lambda self, kind=name: self.one(kind))
