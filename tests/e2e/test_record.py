"""The record beside run.json and metrics.csv: processes.csv, devices.csv, marks.csv and phases."""
import csv
import json
import os
import random
import signal
import subprocess
import sys
import time

from support import IS_ROOT, TACHO, Case, Table, burner, until

HEADER = "pid,ppid,name,command,started,ended,count,cpu_s,peak_memory_mib,disk_read_bytes,disk_write_bytes,gpu_vram_mib,exit"
SPECIAL = ("(short-lived)", "(other)")


class Record(Case):
    def file(self, name, folder=None):
        with open(os.path.join(folder or self.run_folders()[0], name), encoding="utf-8", newline="") as file:
            return file.read()

    def processes(self, folder=None, finished=True):
        """The lines, checked one by one; where the run was killed the last one of a process counts."""
        text = self.file("processes.csv", folder)
        self.assertTrue(text.startswith(HEADER + "\n"), text[:200])
        self.assertNotIn("\r", text)
        rows = list(csv.DictReader(text.splitlines()))
        for row in rows:
            self.assertNotIn(None, row)
            self.assertNotIn(None, row.values(), row)
            self.assertRegex(row["cpu_s"], r"^\d+\.\d{4}$")
            if row["name"] == "(short-lived)":
                self.assertEqual({key for key, value in row.items() if value} - {"count"}, {"name", "cpu_s"})
                continue
            self.assertRegex(row["started"], r"^\d+\.\d{3}$")
            self.assertRegex(row["ended"], r"^(\d+\.\d{3})?$")
            self.assertRegex(row["exit"], r"^(\d+|signal \d+)?$")
            self.assertGreaterEqual(int(row["count"]), 1)
            self.assertLessEqual(len(row["command"].encode()), 256)
            if row["ended"]:
                self.assertGreaterEqual(float(row["ended"]), float(row["started"]))
            if int(row["count"]) > 1 or row["name"] == "(other)":
                self.assertEqual((row["pid"], row["ppid"], row["command"], row["exit"]), ("", "", "", ""))
        if finished:
            keys = [(row["pid"], row["started"]) for row in rows if row["pid"]]
            self.assertEqual(len(keys), len(set(keys)))
            return rows
        return list({(row["pid"], row["started"], row["name"] if not row["pid"] else ""): row for row in rows}.values())

    def check_sum(self, rows, run, spare=0.05):
        total = run["totals"]["cpu_user_s"] + run["totals"]["cpu_system_s"]
        said = sum(float(row["cpu_s"]) for row in rows)
        self.assertLessEqual(abs(said - total), max(spare, 0.01 * total), (said, total, rows[:20]))

    def one(self, rows, **wanted):
        found = [row for row in rows if all(wanted[key] in row[key] for key in wanted)]
        self.assertEqual(len(found), 1, rows)
        return found[0]


class Processes(Record):
    def spin(self, seconds):
        return [sys.executable, "-S", "-c", f"import time\ne=time.process_time()+{seconds}\nwhile time.process_time()<e: pass"]

    def test_who_used_it(self):
        for method in ("auto", "tree"):
            with self.subTest(method=method):
                child = " ".join(f"'{word}'" for word in self.spin(0.3))
                done, run, _ = self.tracked("sh", "-c", child + "; (sleep 0.2; exit 7) & sleep 0.6; exit 3", rc=3,
                                            options=("-i", "0.1", "--method", method))
                rows = self.processes()
                self.check_sum(rows, run)
                root = self.one(rows, pid=str(run["pid"]))
                self.assertEqual((root["name"], root["exit"]), ("sh", "3"))
                self.assertLess(float(root["cpu_s"]), 0.3)  # its own, not its children's
                self.assertGreater(max(float(row["cpu_s"]) for row in rows if "process_time" in row["command"] and row is not root), 0.15)
                for row in rows:
                    if row["pid"]:
                        self.assertTrue(row["ended"], row)
                        self.assertGreaterEqual(float(row["started"]), int(run["outcome"]["started_at"][-4:-1]) / 1000)
                self.assertFalse([name for name in os.listdir(self.run_folders()[0]) if ".tmp" in name])
                subprocess.run(["rm", "-rf", self.store], check=True)

    def test_a_job_of_no_time(self):
        """What tacho started itself is known however soon it ends, and no process has more memory than the job."""
        for _ in range(3):
            _, run, _ = self.tracked("sh", "-c", "exit 3", rc=3)
            row = self.one(self.processes(), pid=str(run["pid"]))
            self.assertEqual((row["command"], row["exit"]), ("sh -c exit 3", "3"))
            self.assertAlmostEqual(float(row["started"]) % 60, float(run["outcome"]["started_at"][-7:-1]), 3)
            self.assertLessEqual(float(row["peak_memory_mib"]), run["totals"]["memory_peak_bytes"] / 2**20 + 0.001)
            subprocess.run(["rm", "-rf", self.store], check=True)
        _, run, _ = self.tracked("sh", "-c", "exit 3", rc=3, options=("--hide", "command"))
        self.assertEqual(self.one(self.processes(), pid=str(run["pid"]))["command"], "")

    def test_orphans_and_signals_are_exact(self):
        # Between two samples, so that nothing but wait4 can have told.
        code = "import os,time\nopen('pid','w').write(str(os.getpid()))\ne=time.process_time()+0.25\nwhile time.process_time()<e: pass\nos.kill(os.getpid(),9)"
        self.write("orphan.py", code)
        done, run, _ = self.tracked("sh", "-c", f"({sys.executable} -S {self.path('orphan.py')} &) ; until [ -s pid ]; do sleep 0.05; done; "
                                    "while kill -0 $(cat pid) 2>/dev/null; do sleep 0.05; done", options=("-i", "20"))
        rows = self.processes()
        self.check_sum(rows, run)
        orphan = [row for row in rows if row["exit"] == "signal 9"]
        self.assertEqual(len(orphan), 1, rows)
        self.assertAlmostEqual(float(orphan[0]["cpu_s"]), 0.26, delta=0.1)

    def test_hostile_names(self):
        names = ["plain", "a,b", 'q"uo"te', "line\nend", "<script>", "tab\there", "\u202eright", b"bad\xff\xfe".decode("latin-1")]
        code = ("import ctypes,os,sys,time\nlibc=ctypes.CDLL(None)\nfor n in %r:\n"
                " if os.fork()==0:\n  libc.prctl(15,n,0,0,0)\n  time.sleep(0.6)\n  os._exit(0)\ntime.sleep(0.6)\nos._exit(0)") % (
                    [name.encode("latin-1") if name.startswith("bad") else name.encode() for name in names],)
        _, run, _ = self.tracked(sys.executable, "-S", "-c", code, options=("-i", "0.1"))
        rows = self.processes()
        said = {row["name"] for row in rows}
        for name in ("plain", "a,b", 'q"uo"te', "<script>"):
            self.assertIn(name, said)
        text = self.file("processes.csv")
        self.assertFalse([c for c in text.replace("\n", "") if ord(c) < 32 or c in "\u202e\x7f"])
        self.assertEqual(len(text.splitlines()), len(rows) + 1)  # no line end inside of a field
        self.assertIn("bad\ufffd\ufffd", said)

    def test_merging(self):
        code = "for i in $(seq 12); do sleep 0.3 & done; " + " ".join(f"'{word}'" for word in self.spin(0.3)) + "; wait"
        for most in (1, 3):
            _, run, _ = self.tracked("sh", "-c", code, options=("-i", "0.05", "--processes", str(most)))
            rows = self.processes()
            plain = [row for row in rows if row["name"] not in SPECIAL]
            self.assertLessEqual(len(plain), most, rows)
            self.check_sum(rows, run)
            largest = max(plain, key=lambda row: float(row["cpu_s"]))
            self.assertEqual((largest["count"], largest["pid"] != ""), ("1", True), rows)
            self.assertGreater(float(largest["cpu_s"]), 0.2)
            counted = sum(int(row["count"] or 0) for row in rows)
            self.assertGreaterEqual(counted, 14, rows)
            if most >= 3:
                merged = [row for row in plain if row["name"] == "sleep"]
                self.assertTrue([row for row in merged if int(row["count"]) > 1], rows)
            subprocess.run(["rm", "-rf", self.store], check=True)

    def test_option(self):
        for value in ("off", "0"):
            self.tracked("true", options=("--processes", value))
            self.assertNotIn("processes.csv", os.listdir(self.run_folders()[0]))
            subprocess.run(["rm", "-rf", self.store], check=True)
        self.tracked("true", env={"TACHO_PROCESSES": "off"})
        self.assertNotIn("processes.csv", os.listdir(self.run_folders()[0]))
        subprocess.run(["rm", "-rf", self.store], check=True)
        for line in ("processes = 0", 'processes = "off"', "processes = 1"):
            self.tracked("true", options=("--config", self.write("own.toml", line)))
            self.assertEqual("processes.csv" in os.listdir(self.run_folders()[0]), line.endswith("1"))
            subprocess.run(["rm", "-rf", self.store], check=True)
        for value in ("-1", "many", "1.5", "", "1e3", "99999999999999999999"):
            self.refused(self.tacho("run", "--processes", value, "--", "true"), "--processes")

    def test_hide(self):
        self.tracked("sh", "-c", "sleep 0.3 #secret", options=("-i", "0.1", "--hide", "command"))
        rows = self.processes()
        self.assertNotIn("secret", self.file("processes.csv"))
        self.assertTrue([row for row in rows if row["name"] == "sleep"])
        self.assertEqual({row["command"] for row in rows}, {""})

    def test_disk_bytes_are_its_own(self):
        dd = f"dd if=/dev/zero of={self.path('x')} bs=1M count=8 conv=fsync 2>/dev/null"
        _, run, _ = self.tracked("sh", "-c", f"{dd}; sleep 0.3; {dd}; sleep 0.3; true", options=("-i", "0.05"), user="nobody")
        rows = self.processes()
        root = self.one(rows, pid=str(run["pid"]))
        if (run["totals"].get("io_write_bytes") or 0) < 16 << 20:
            self.skipTest("this file system does not count")
        self.assertLess(int(root["disk_write_bytes"] or 0), 1 << 20, root)

    def test_peak_between_samples(self):
        code = "import time\nx=bytearray(b'1')*(80<<20)\ndel x\ntime.sleep(1.2)"
        _, run, _ = self.tracked("sh", "-c", f"{sys.executable} -S -c \"{code}\"; true", options=("-i", "0.5"))
        self.assertGreater(max(float(row["peak_memory_mib"] or 0) for row in self.processes()), 75)

    def test_after_a_kill(self):
        process = self.spawn("run", "-q", "-i", "0.05", "--", "sh", "-c", "sleep 0.2; sleep 30")
        self.assertTrue(until(lambda: "sleep 30" in self.file("processes.csv").replace("sh -c sleep 0.2; sleep 30", "")))
        folder = self.run_folders()[0]
        before = self.file("processes.csv")
        self.assertTrue(until(lambda: len(self.file("devices.csv").splitlines()) > 12))
        process.kill()
        process.wait()
        self.end_marked()
        text = self.file("processes.csv")
        self.assertTrue(text.startswith(before) and text.endswith("\n"))  # appended only
        rows = self.processes(finished=False)
        ended = self.one(rows, command="sleep 0.2", name="sleep")
        self.assertTrue(ended["ended"])
        living = self.one(rows, command="sleep 30", name="sleep")
        self.assertEqual((living["ended"], living["exit"]), ("", ""))
        times = [row["timestamp"] for row in Table(self.file("metrics.csv")).rows]
        devices = [row["timestamp"] for row in Table(self.file("devices.csv")).rows]
        self.assertLessEqual(len(times) - len(devices), 1)
        self.assertEqual(times[:len(devices)], devices)
        self.assertEqual(self.tacho("show", os.path.basename(folder)).rc, 0)

    def test_attach_counts_from_now(self):
        job = subprocess.Popen(["sh", "-c", " ".join(f"'{word}'" for word in self.spin(0.3)) + " & " +
                                " ".join(f"'{word}'" for word in self.spin(0.6)) + "; wait"], env=self.environment())
        self.addCleanup(job.wait)
        time.sleep(0.2)
        done = self.tacho("attach", "-q", "-i", "0.1", "--pid", str(job.pid))
        self.assertEqual(done.rc, 0, done)
        run, _ = self.the_run()
        # A child that ends about the time of a tick may be short by that interval in the total (see test_tree.py).
        self.check_sum(self.processes(), run, spare=0.15)

    def test_watch_has_none(self):
        process = self.spawn("watch", "-q", "-i", "0.05")
        self.assertTrue(until(lambda: len(self.file("devices.csv").splitlines()) > 2))
        process.send_signal(signal.SIGTERM)
        process.wait(20)
        self.assertEqual(sorted(os.listdir(self.run_folders()[0])), ["devices.csv", "marks.csv", "metrics.csv", "run.json"])

    def test_pids_of_a_namespace(self):
        self.need_root()
        self.need("no namespaces here", "unshare", "-pf", "true")
        _, run, _ = self.tracked("unshare", "-pf", "--", "sh", "-c", "sleep 0.3; exit 0", options=("-i", "0.05"))
        rows = self.processes()
        shell = [row for row in rows if row["name"] == "sh"]
        self.assertEqual([row["pid"] for row in shell], ["1"], rows)
        self.assertEqual({row["ppid"] for row in rows if row["name"] == "sleep"}, {"1"}, rows)

    def test_random_processes(self):
        """What burn_random_tree does at random, beside the total of the job: the sum holds, and nobody is listed twice."""
        chance = random.Random(time.time_ns())
        for method in ("auto", "tree"):
            seed, most = chance.randrange(1 << 30), chance.choice((1, 2, 7, 10000))
            with self.subTest(seed=seed, most=most, method=method):
                ledger = self.path(f"ledger-{method}")
                with open(ledger, "wb") as file:
                    file.truncate(4096)
                os.chmod(ledger, 0o666)
                store = self.path("store-" + method)
                done = self.tacho("run", "-q", "-i", "0.05", "--method", method, "--processes", most, "--store", store, "--",
                                  burner("random_tree"), ledger, seed, 1500, "txzvpmos")
                self.assertEqual(done.rc, 0, done)
                run, _ = self.the_run(store)
                rows = self.processes(self.run_folders(store)[0])
                self.check_sum(rows, run)
                self.assertLessEqual(len([row for row in rows if row["name"] not in SPECIAL]), most)
                self.assertLessEqual(sum(int(row["count"] or 0) for row in rows), run["totals"]["processes_seen"])


class Exits(Record):
    """--probe exits: the kernel names who lived between two ticks, where it may be asked."""
    SCRIPT = "i=0; while [ $i -lt 20 ]; do /bin/true; (exit 3); i=$((i+1)); done; exit 0"

    def test_short_lived_processes_have_names(self):
        self.need_root()
        for method in ("tree", "cgroup"):
            with self.subTest(method=method):
                self.store = self.path("store-" + method)
                _, run, table = self.tracked("sh", "-c", self.SCRIPT, options=["-q", "-i", "10s", "--method", method, "--probe", "exits", "--store", self.store])
                if any("does not tell" in note for note in run["notes"]):
                    self.skipTest("the kernel does not tell here")
                rows = self.processes()
                self.assertEqual(len([row for row in rows if row["name"] == "true" and row["exit"] == "0"]), 20, rows)
                self.assertEqual(len([row for row in rows if row["name"] == "sh" and row["exit"] == "3"]), 20, rows)
                self.assertEqual(run["totals"]["processes_seen"], 41)
                self.assertEqual(table.sum("process_exits"), 41)
                self.check_sum(rows, run, spare=0.005)

    def test_not_without_the_right_to_ask(self):
        _, run, table = self.tracked("sh", "-c", "true", options=["-q", "--probe", "exits"], user="nobody")
        self.assertEqual(set(table.column("process_exits")), {""})
        self.assertIn("does not tell of ended processes", "".join(run["notes"]))

    def test_off_by_default(self):
        _, run, table = self.tracked("true", options=["-q"])
        self.assertNotIn("process_exits", table.header)


class Devices(Record):
    def test_columns_and_rows(self):
        self.tracked("sleep", "0.5", options=("-i", "0.05"))
        metrics, devices = Table(self.file("metrics.csv")), Table(self.file("devices.csv"))
        self.assertEqual(metrics.column("timestamp"), devices.column("timestamp"))
        self.assertEqual(devices.widths, {len(devices.header)})
        cores = [name for name in devices.header if name.startswith("core_")]
        if os.cpu_count() <= 256:
            with open("/proc/stat", encoding="utf-8") as file:
                online = [line.split()[0][3:] for line in file if line.startswith("cpu") and line[3].isdigit()]
            self.assertEqual(cores, [f"core_{number}_usage" for number in online])
        for row in devices.rows:
            for name in cores:
                self.assertTrue(0 <= float(row[name]) <= 1, row)
            for name in devices.header:
                if name.endswith("_busy") and row[name]:
                    self.assertTrue(0 <= float(row[name]) <= 1, row)
        # The devices that count make up the machine's columns.
        for kind, column in (("disk_", "system_disk_write_bytes"), ("net_", "system_net_recv_bytes")):
            ending = "_write_bytes" if kind == "disk_" else "_recv_bytes"
            parts = [name for name in devices.header if name.startswith(kind) and name.endswith(ending)]
            said = sum(devices.sum(name) for name in parts)
            self.assertAlmostEqual(said, metrics.sum(column), delta=1)

    def test_no_devices(self):
        self.tracked("true", options=("--no-devices",))
        self.assertNotIn("devices.csv", os.listdir(self.run_folders()[0]))


class Marks(Record):
    def script(self, text, **keywords):
        return self.tracked("sh", "-c", text.replace("tacho ", TACHO + " "), **keywords)

    def test_phases(self):
        _, run, table = self.script("echo $TACHO_RUN; tacho mark A; sleep 0.3; tacho mark 'B, \"x\"'; tacho mark --point here; sleep 0.2;"
                                    "tacho mark --end; sleep 0.1; tacho mark A; sleep 0.2", options=("-i", "0.05"))
        folder = self.run_folders()[0]
        phases = run["phases"]
        self.assertEqual([phase["name"] for phase in phases], ["A", 'B, "x"', "A"])
        for phase in phases:
            self.assertEqual(set(phase), {"name", "started", "ended", "seconds", "cpu_s", "cpu_mean", "memory_peak_mib", "disk_read_bytes",
                                          "disk_write_bytes", "gpu_mean"})
            self.assertAlmostEqual(phase["ended"] - phase["started"], phase["seconds"], places=3)
            self.assertIsNotNone(phase["cpu_s"])
            self.assertGreater(phase["memory_peak_mib"], 0)
        self.assertEqual(phases[0]["ended"], phases[1]["started"])
        self.assertEqual(run["marks_dropped"], 0)
        self.assertAlmostEqual(phases[2]["ended"], phases[0]["started"] + run["outcome"]["duration_s"], delta=0.2)
        lines = self.file("marks.csv").splitlines()
        self.assertEqual(lines[0], "timestamp,event,name")
        self.assertEqual([line.split(",", 1)[1] for line in lines[1:]], ["phase,A", 'phase,"B, ""x"""', "point,here", "end,", "phase,A"])
        shown = self.tacho("show", "last").out
        self.assertRegex(shown, r'phase +time +cpu time')
        self.assertIn('B, "x"', shown)
        self.assertEqual(os.stat(os.path.join(folder, "marks.csv")).st_mode & 0o777, 0o600)

    def test_environment(self):
        plain = {line for line in self.tacho("run", "-q", "--no-store", "--", "env").out.splitlines()}
        kept = {line for line in self.tacho("run", "-q", "--", "env").out.splitlines()}
        self.assertEqual(kept - plain, {"TACHO_RUN=" + self.run_folders()[0]})
        self.assertFalse([line for line in plain if line.startswith("TACHO_RUN=")])
        done = self.tacho("run", "-q", "--no-store", "--", "env", env={"TACHO_RUN": "/elsewhere"})
        self.assertNotIn("TACHO_RUN", done.out)
        self.assertTrue(self.tacho("run", "-q", "--store", "rel", "--", "sh", "-c", "echo $TACHO_RUN").out.startswith(self.path("rel")))

    def test_outside_of_a_run(self):
        for words in (("X",), ("--end",), ("--point", "X")):
            done = self.tacho("mark", *words)
            self.assertEqual((done.rc, done.out, len(done.err.splitlines())), (0, "", 1), done)
        for words in ((), ("--point",), ("a", "b"), ("--end", "X"), ("--end", "--point", "X"), ("",), ("--wrong", "X"), ("\n",)):
            done = self.tacho("mark", *words)
            self.assertEqual(done.rc, 125, (words, done))

    def test_only_a_run_folder_of_ours(self):
        victim = self.write("victim", "mine")
        os.mkdir(self.path("run"), 0o700)
        self.write("run/run.json", "{}", 0o600)
        os.symlink(victim, self.path("run", "marks.csv"))
        os.symlink(self.path("run"), self.path("link"))
        os.mkdir(self.path("empty"), 0o700)
        self.write("empty/marks.csv", "", 0o600)
        for folder in ("run", "link", "link/", "empty", "missing"):
            done = self.tacho("mark", "X", env={"TACHO_RUN": self.path(folder)})
            self.assertEqual((done.rc, len(done.err.splitlines())), (0, 1), (folder, done))
        self.assertEqual((self.read("victim"), self.read("empty/marks.csv")), ("mine", ""))
        os.unlink(self.path("run", "marks.csv"))
        self.write("run/marks.csv", "", 0o600)
        done = self.tacho("mark", "X", env={"TACHO_RUN": self.path("link")})
        self.assertEqual(self.read("run/marks.csv"), "")
        os.chmod(self.path("run"), 0o777)
        self.tacho("mark", "X", env={"TACHO_RUN": self.path("run")})
        self.assertEqual(self.read("run/marks.csv"), "")
        if IS_ROOT:
            os.chmod(self.path("run"), 0o755)
            os.chown(self.path("run"), 65534, 65534)
            self.tacho("mark", "X", env={"TACHO_RUN": self.path("run")})
            self.assertEqual(self.read("run/marks.csv"), "")

    def test_lines_of_others(self):
        now = time.time()
        lines = ["x,phase,a", "1,phase", "nan,phase,a", f"{now},nonsense,a", f"{now},phase,", f"{now},phase,a,b", "", "timestamp,event,name",
                 "9" * 5000 + ",phase,a", f"{now + 0.2:.3f},phase,late", f"{now + 0.1:.3f},phase,early", "1.5,phase,before", "8999999999,point,after"]
        self.write("lines", "\n".join(lines) + "\n" + f"{now},phase,torn")
        _, run, _ = self.tracked("sh", "-c", f"cat {self.path('lines')} >> $TACHO_RUN/marks.csv; sleep 0.4", options=("-i", "0.05"))
        self.assertEqual([phase["name"] for phase in run["phases"]], ["before", "early", "late"])
        self.assertEqual(run["marks_dropped"], 10)
        for phase in run["phases"]:
            self.assertGreaterEqual(phase["ended"], phase["started"])

    def test_many(self):
        self.write("lines", "".join(f"{time.time():.3f},phase,p{i % 7}\n" for i in range(30000)))
        _, run, _ = self.tracked("sh", "-c", f"cat {self.path('lines')} >> $TACHO_RUN/marks.csv", options=("-i", "0.05"))
        self.assertEqual((len(run["phases"]), run["marks_dropped"]), (10000, 20000))
        self.assertEqual(self.tacho("show", "last").rc, 0)

    def test_killed_run_has_its_phases(self):
        process = self.spawn("run", "-q", "-i", "0.05", "--", "sh", "-c", f"{TACHO} mark A; sleep 0.3; {TACHO} mark B; sleep 30")
        self.assertTrue(until(lambda: ",phase,B" in self.file("marks.csv")))
        time.sleep(0.3)
        process.kill()
        process.wait()
        self.end_marked()
        run = json.loads(self.tacho("show", "last", "--json").out)
        self.assertEqual([phase["name"] for phase in run["phases"]], ["A", "B"])
        self.assertGreater(run["phases"][1]["seconds"], 0.1)
