"""Bad weather: strange jobs, missing file systems, limits, memory that runs out."""
import os
import signal
import subprocess
import sys

from support import IS_ROOT, SANITIZED, TACHO, Case, burner, can, children_of, marked_pids, remove_cgroup, until

HERE = os.path.dirname(os.path.abspath(__file__))


class Weather(Case):
    def in_namespace(self, setup, *words, flags="-m"):
        """tacho WORDS in a mount namespace that SETUP changed first."""
        if not (IS_ROOT and can("unshare", *flags.split(), "mount", "-t", "tmpfs", "tmpfs", "/mnt")):
            self.skipTest("cannot make a mount namespace")
        return self.tacho(*words, wrap=["unshare", *flags.split(), "sh", "-c", setup + '; exec "$@"', "sh"])

    def check_cpu(self, done, allowed=0.02):
        run, table = self.the_run()
        truth = self.truth(done.out)
        self.assertAlmostEqual(table.sum("process_utime") + table.sum("process_stime"), truth["user_s"] + truth["system_s"],
                               delta=max(allowed, 0.01 * truth["user_s"]), msg=f"{run['method']} {run['notes']}")
        return run, table

    def test_closes_its_descriptors(self):
        done = self.tacho("run", "-i", "50ms", "--", burner("close_fds"), "300", self.path("truth"))
        self.assertEqual(done.rc, 0, done)
        done.out = self.read("truth")
        self.check_cpu(done)

    def test_new_session(self):
        done = self.tacho("run", "-i", "50ms", "--", burner("new_session"), "100")
        self.assertEqual(done.rc, 0, done)
        self.check_cpu(done)

    def test_strange_names(self):
        done = self.tacho("run", "-i", "20ms", "--", burner("names"), self.dir, "200")
        self.assertEqual(done.rc, 0, done)
        _, table = self.check_cpu(done)
        self.assertEqual(max(int(value) for value in table.column("process_children")), 2)

    def test_ten_thousand_files(self):
        done = self.tacho("run", "-i", "50ms", "--", burner("fds"), "10000", "300")
        self.assertEqual(done.rc, 0, done)
        self.check_cpu(done)

    def test_few_descriptors(self):
        """A low limit on descriptors: tacho falls back to opening files as it needs them."""
        done = self.tacho("run", "-i", "50ms", "--", "sh", "-c",
                          f"for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 0.6 & done; {burner('cpu')} 1 400; wait",
                          wrap=["sh", "-c", 'ulimit -n 40; exec "$@"', "sh"])
        self.assertEqual(done.rc, 0, done)
        run, table = self.check_cpu(done, 0.15)  # the shell and its sleeps come on top
        self.assertEqual(max(int(value) for value in table.column("process_children")), 21)

    def test_fork_storm(self):
        for method in ("auto", "tree"):
            with self.subTest(method=method):
                store = self.path(method)
                done = self.tacho("run", "-i", "10ms", "--method", method, "--store", store, "--", burner("fork_storm"), "3000")
                self.assertEqual(done.rc, 0, done)
                run, table = self.the_run(store)
                truth = self.truth(done.out)
                expected = truth["user_s"] + truth["system_s"]
                total = table.sum("process_utime") + table.sum("process_stime")
                # The ledger lacks what each orphan's exit costs, so more than it is right.
                self.assertGreater(total, expected * 0.95 - 0.02, run["notes"])
                self.assertLess(total, expected * 2 + 0.5, run["notes"])

    def test_thousand_processes(self):
        process = self.spawn("run", "-q", "-i", "50ms", "--", burner("tree"), "400", "10", "50", "200", stdin=subprocess.PIPE)
        self.assertTrue(process.stdout.readline().startswith("ready"))
        self.assertTrue(until(lambda: self.run_folders() and self.the_run()[1].rows
                              and any(value == "399" for value in self.the_run()[1].column("process_children"))))
        process.stdin.close()
        out = process.stdout.read()
        self.assertEqual(process.wait(30), 0)
        run, table = self.the_run()
        truth = self.truth(out)
        self.assertAlmostEqual(table.sum("process_utime") + table.sum("process_stime"), truth["user_s"] + truth["system_s"],
                               delta=max(0.05, 0.03 * truth["user_s"]))

    def in_little_memory(self):
        """What stands before a command that is to run in a cgroup with 96 MiB."""
        parent = "/sys/fs/cgroup/memory" if os.path.exists("/sys/fs/cgroup/memory/cgroup.procs") else None
        if not (IS_ROOT and parent):
            self.skipTest("needs root and a v1 memory cgroup")
        if SANITIZED:
            self.skipTest("a sanitizer's own memory does not fit in")
        folder = f"{parent}/tacho-e2e-{os.getpid()}-{self.mark[-6:]}"
        os.mkdir(folder)
        self.addCleanup(lambda: until(lambda: remove_cgroup(folder), 5))
        with open(folder + "/memory.limit_in_bytes", "w", encoding="ascii") as file:
            file.write(str(96 << 20))
        return ["sh", "-c", f'echo $$ > {folder}/cgroup.procs; exec "$@"', "sh"]

    def test_out_of_memory(self):
        inside = self.in_little_memory()
        for job, rc in (([burner("oom"), "400"], -9), (["sh", "-c", f"{burner('oom')} 400; exit 9"], 9)):
            store = self.path(f"store{rc}")
            done = self.tacho("run", "-i", "50ms", "--store", store, "--", *job,
                              wrap=inside)
            self.assertEqual(done.rc, rc, done)
            run, _ = self.the_run(store)
            self.assertGreaterEqual(run["totals"].get("oom_kills") or 0, 1, run["totals"])
            self.assertTrue(run["outcome"]["oom_killed"], run["outcome"])
            self.assertEqual(run["limits"]["memory_limit_bytes"], 96 << 20)

    def test_a_neighbour_out_of_memory(self):
        """It is killed in the cgroup that the job shares with it: that says nothing of the job."""
        inside = self.in_little_memory()
        process = self.spawn("run", "-i", "50ms", "--", "sh", "-c", f"until test -e {self.path('end')}; do sleep 0.1; done; exit 9", wrap=inside)
        self.assertTrue(until(lambda: self.run_folders() and self.the_run()[1].rows))
        neighbour = subprocess.run([*inside, burner("oom"), "400"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, timeout=60, check=False)
        self.assertEqual(neighbour.returncode, -9)
        self.assertTrue(until(lambda: any(float(value or 0) > 0 for value in self.the_run()[1].column("cgroup_oom_kills"))))
        self.write("end", "")
        self.assertEqual(process.wait(30), 9)
        run, _ = self.the_run()
        self.assertIsNone(run["outcome"]["oom_killed"], run["outcome"])
        self.assertNotIn("oom_kills", run["totals"])
        self.assertTrue(any("shares with others" in note for note in run["notes"]), run["notes"])

    def test_clone3_forbidden(self):
        """The job then is where tacho is: the figures of the cgroup that was made for it, all zeros, are not the job's."""
        done, run, table = self.tracked(burner("cpu"), "1", "300", options=["-i", "50ms"], wrap=[sys.executable, os.path.join(HERE, "without_call.py"), "clone3"])
        self.assertNotEqual(run["method"]["cpu"], "cgroup", done)
        self.assertGreater(table.sum("process_utime") + table.sum("process_stime"), 0.1)
        for name in ("cgroup_cpu_usage", "cgroup_utime"):
            if name not in table.header:
                continue
            values = [float(value) for value in table.column(name) if value]
            self.assertTrue(not values or sum(values) > 0, table.column(name))

    def test_killed_by_hand_is_not_oom(self):
        _, run, _ = self.tracked("sh", "-c", "kill -9 $$", rc=-9)
        self.assertIsNot(run["outcome"]["oom_killed"], True)

    def test_no_sys(self):
        done = self.in_namespace("mount -t tmpfs tmpfs /sys", "run", "-i", "50ms", "--", burner("cpu"), "1", "300")
        self.assertEqual(done.rc, 0, done)
        self.check_cpu(done)

    def test_no_cgroup(self):
        done = self.in_namespace("mount -t tmpfs tmpfs /sys/fs/cgroup", "run", "-i", "50ms", "--", burner("pipeline"), "4", "2", "50")
        self.assertEqual(done.rc, 0, done)
        run, _ = self.check_cpu(done)
        self.assertNotEqual(run["method"]["cpu"], "cgroup")

    def test_no_proc(self):
        """Without /proc little can be measured, which is said; the job keeps its status, and its CPU time is known at its end."""
        if SANITIZED:
            self.skipTest("a sanitizer needs /proc itself")
        done = self.in_namespace("mount -t tmpfs tmpfs /proc", "run", "-i", "50ms", "--", "sh", "-c", f"{burner('cpu')} 1 200; exit 7")
        self.assertEqual(done.rc, 7, done)
        self.assertIn("mount -t proc proc /proc", done.err)
        run, table = self.the_run()
        self.assertIn("/proc is not mounted", " ".join(run["notes"]))
        for name in ("process_children", "system_processes"):
            self.assertEqual(set(table.column(name)), {""}, "not known is not none")
        self.assertEqual(set(table.column("process_utime")[:-1]), {""})
        self.assertAlmostEqual(run["totals"]["cpu_user_s"], 0.2, delta=0.1)
        self.assertLessEqual(float(table.column("process_cpu_usage")[-1]), 1.1, "all of the time by all of the run")

    def test_proc_of_another_namespace(self):
        """Numbers there are those of strangers: nobody else's memory and bytes are the job's."""
        done = self.in_namespace("true", "run", "-i", "50ms", "--", burner("cpu"), "1", "200", flags="-m -p -f --kill-child")
        self.assertEqual(done.rc, 0, done)
        self.assertIn("another PID namespace", done.err)
        run, table = self.the_run()
        self.check_cpu(done)
        for name in ("process_children", "process_disk_read_bytes", "process_gpu_vram_mib"):
            self.assertEqual(set(table.column(name)), {""}, name)
        if not SANITIZED:  # a child starts with what it copied of tacho
            self.assertLess(run["totals"]["memory_peak_bytes"], 16 << 20)
        done = self.in_namespace("true", "attach", "--pid", "1", "--no-store", flags="-m -p -f --kill-child")
        self.assertEqual(done.rc, 125, done)
        self.assertIn("another PID namespace", done.err)

    def test_hidepid_hides_others_that_end(self):
        """Processes that cannot be seen are not counted, and none is taken off for them when they end."""
        setup = ("mount -t proc -o hidepid=2 proc /proc; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.7 & done; "
                 'set -- setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"')
        done = self.in_namespace(setup, "run", "-i", "100ms", "--", "sleep", "1.2")
        self.assertEqual(done.rc, 0, done)
        for value in self.the_run()[1].column("system_processes"):
            self.assertGreaterEqual(int(value), 1)

    def test_hidepid(self):
        setup = "mount -t proc -o hidepid=2 proc /proc"
        done = self.in_namespace(setup + '; set -- setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"',
                                 "run", "-i", "50ms", "--", burner("pipeline"), "4", "2", "50", flags="-m -p -f --kill-child")
        self.assertEqual(done.rc, 0, done)
        self.check_cpu(done)

    def test_hidepid_attach_to_a_stranger(self):
        setup = ("mount -t proc -o hidepid=2 proc /proc; sleep 5 & "
                 'set -- setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"')
        done = self.in_namespace(setup, "attach", "--pid", "2", flags="-m -p -f --kill-child")
        self.assertEqual(done.rc, 125, done)

    def test_pid_1(self):
        """As the first process of a container: orphans are reaped, the status is the job's."""
        script = ("for i in 1 2 3 4 5; do (sh -c 'sleep 0.1' &) ; done; sleep 0.5; "
                  "grep -h '^State:.*Z' /proc/[0-9]*/status; exit 5")
        done = self.in_namespace("true", "run", "-i", "100ms", "--", "sh", "-c", script, flags="-m -p -f --mount-proc --kill-child")
        self.assertEqual(done.rc, 5, done)
        self.assertNotIn("State", done.out)
        self.assertEqual(self.the_run()[0]["tracker_pid"], 1)

    def test_pid_1_accuracy(self):
        done = self.in_namespace("true", "run", "-i", "100ms", "--", burner("daemon"), "300", flags="-m -p -f --mount-proc --kill-child")
        self.assertEqual(done.rc, 0, done)
        self.check_cpu(done)

    def test_read_only_everything(self):
        done = self.in_namespace("mount -o remount,ro,bind /sys 2>/dev/null; mount --bind / /mnt; mount -t tmpfs -o ro tmpfs /var",
                                 "run", "-i", "50ms", "--", "sh", "-c", "exit 3")
        self.assertEqual(done.rc, 3, done)

    def test_process_limit(self):
        """No thread or process may be started but the job itself: the data is the same."""
        if not IS_ROOT:
            self.skipTest("needs root")
        done = self.tacho("run", "-i", "50ms", "--", burner("cpu"), "1", "300", user="nobody",
                          wrap=["sh", "-c", 'ulimit -u 2000; exec "$@"', "sh"])
        self.assertEqual(done.rc, 0, done)
        self.check_cpu(done)

    def test_file_size_limit(self):
        """The limit is the job's too; tacho's own files stop growing there, and nobody is killed for it but who asked."""
        done = self.tacho("run", "-i", "10ms", "-o", self.path("o.csv"), "--", "sh", "-c", "sleep 0.5; exit 4",
                          wrap=["sh", "-c", 'ulimit -f 4; exec "$@"', "sh"])
        self.assertEqual(done.rc, 4, done)
        self.assertIn("File too large", done.err)
        self.assertTrue(self.read("o.csv").endswith("\n"))
        done = self.tacho("run", "-q", "--no-store", "--", "sh", "-c", "exec head -c 100000 /dev/zero > big", cwd=self.dir,
                          wrap=["sh", "-c", 'ulimit -f 4; exec "$@"', "sh"])
        self.assertEqual(done.rc, -signal.SIGXFSZ, done)

    def test_job_leaves_its_cgroup(self):
        """As containers and scopes do: the kernel's sum of the job's cgroup lacks them, the tree does not."""
        parent = "/sys/fs/cgroup/unified" if os.path.exists("/sys/fs/cgroup/unified/cgroup.procs") else "/sys/fs/cgroup"
        folder = f"{parent}/e2e-tacho-{os.getpid()}-{self.mark[-6:]}"
        try:
            os.mkdir(folder)
        except OSError:
            self.skipTest("cannot make a cgroup")
        self.addCleanup(lambda: until(lambda: remove_cgroup(folder), 5))
        if not os.access(folder + "/cgroup.procs", os.W_OK) or not os.path.exists(folder + "/cpu.stat"):
            self.skipTest("needs a cgroup v2 and the right to move processes")
        for interval in ("50ms", "1h"):
            store = self.path("store" + interval)
            script = f"echo $$ > {folder}/cgroup.procs && exec {burner('cpu')} 1 300"
            done = self.tacho("run", "-i", interval, "--store", store, "--", "sh", "-c", script)
            self.assertEqual(done.rc, 0, done)
            truth = self.truth(done.out)
            run, table = self.the_run(store)
            self.assertAlmostEqual(table.sum("process_utime") + table.sum("process_stime"), truth["user_s"] + truth["system_s"],
                                   delta=0.03, msg=f"{run['method']} {run['notes']}")
            self.assertEqual(run["method"]["cpu"], "subreaper")

    def test_no_cgroup_is_left(self):
        """A cgroup that tacho made for the job goes with the run; what lives on is where it would be without tacho."""
        def cgroup_of(pid):
            with open(f"/proc/{pid}/cgroup", encoding="ascii") as file:
                return set(file.read().splitlines())
        own = cgroup_of("self")
        for script in ("cat /proc/self/cgroup; sleep 0.1", "cat /proc/self/cgroup; sleep 60 > /dev/null 2>&1 & echo pid $! >&2"):
            done = self.tacho("run", "-q", "--no-store", "--", "sh", "-c", script)
            self.assertEqual(done.rc, 0, done)
            if "pid " in done.err:
                daemon = int(done.err.split("pid ")[1])
                self.addCleanup(os.kill, daemon, signal.SIGKILL)
                self.assertEqual(cgroup_of(daemon), own)
            for line in set(done.out.splitlines()) - own:
                _, controllers, path = line.split(":", 2)
                for mount in [f"/sys/fs/cgroup/{name}" for name in ("unified", *controllers.split(","))] + ["/sys/fs/cgroup"]:
                    self.assertFalse(path.strip("/") and os.path.exists(mount + path), mount + path)

    def test_cgroups_that_a_killed_tacho_left(self):
        """Those of our own go with the next run; another user's of the same name, and other names, stay."""
        self.need_root()
        parent = "/sys/fs/cgroup/unified" if os.path.exists("/sys/fs/cgroup/unified/cgroup.procs") else "/sys/fs/cgroup"
        folder = f"{parent}/e2e-tacho-{os.getpid()}-{self.mark[-6:]}"
        names = ("tacho-4711-0a1b", "tacho-4711-2c3d", "tacho-4711-mine")
        try:
            for path in (folder, *(os.path.join(folder, name) for name in names)):
                os.mkdir(path)
                self.addCleanup(lambda path=path: until(lambda: remove_cgroup(path), 5))
            os.chown(os.path.join(folder, names[1]), 65534, 65534)
        except OSError:
            self.skipTest("cannot make a cgroup")
        run = self.tracked("true", options=["-q"], wrap=["sh", "-c", f'echo $$ > {folder}/cgroup.procs; exec "$@"', "sh"])[1]
        if run["method"]["cpu"] != "cgroup":
            self.skipTest("needs a cgroup v2")
        self.assertEqual([name for name in names if os.path.exists(os.path.join(folder, name))], [names[1], names[2]])

    def test_nothing_runs_on(self):
        """tacho leaves no helper of its own behind."""
        self.assertEqual(self.tacho("run", "-q", "--", "true").rc, 0)
        self.assertEqual(marked_pids(self.mark), [])

    def test_exec_of_a_deleted_file(self):
        copy = self.path("copy")
        subprocess.run(["cp", "/bin/sleep", copy], check=True)
        process = self.spawn("run", "-q", "-i", "20ms", "--", copy, "0.5")
        runs_it = lambda pid: os.path.realpath(f"/proc/{pid}/exe") == os.path.realpath(copy)
        self.assertTrue(until(lambda: any(runs_it(pid) for pid, _ in children_of(process.pid))))
        os.unlink(copy)
        self.assertEqual(process.wait(30), 0)

    def test_deleted_working_directory(self):
        os.mkdir(self.path("gone"))
        done = subprocess.run(["sh", "-c", f'cd "{self.path("gone")}" && rmdir "{self.path("gone")}" && exec "{TACHO}" run -- sh -c "exit 3"'],
                              env=self.environment(), stderr=subprocess.DEVNULL, timeout=60)
        self.assertEqual(done.returncode, 3)

    def test_no_environment(self):
        done = subprocess.run([TACHO, "run", "-q", "--no-store", "--", "/bin/sh", "-c", "exit 3"], env={}, timeout=60, cwd=self.dir)
        self.assertEqual(done.returncode, 3)

    def test_a_large_command_line(self):
        """A hundred thousand characters of arguments and names beyond ASCII survive into run.json."""
        words = ["sh", "-c", "exit 0", "é\n\t\"\\", "x" * 100_000]
        _, run, _ = self.tracked(*words)
        self.assertEqual(run["command"][:4], words[:4])
