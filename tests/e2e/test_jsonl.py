"""JSON lines, and tacho called as resource-tracker."""
import json
import os
import subprocess
import time

import fake_gpus
from support import COLUMNS, TACHO, Case, Table, burner, until

CPU = {"utilization_pct", "per_core_pct", "utime_secs", "stime_secs", "process_count", "cgroup_utilization_pct",
       "cgroup_usage_secs", "process_cores_used", "process_child_count", "process_utime_secs", "process_stime_secs",
       "process_pss_mib", "process_rss_mib", "process_disk_read_bytes", "process_disk_write_bytes", "process_gpu_usage",
       "process_gpu_vram_mib", "process_gpu_utilized"}
MEMORY = {"total_mib", "free_mib", "available_mib", "used_mib", "used_pct", "buffers_mib", "cached_mib", "swap_total_mib",
          "swap_used_mib", "swap_used_pct", "active_mib", "inactive_mib"}
NETWORK = {"interface", "mac_address", "driver", "operstate", "speed_mbps", "mtu", "rx_bytes_per_sec", "tx_bytes_per_sec",
           "rx_bytes_total", "tx_bytes_total"}
DISK = {"device", "model", "vendor", "serial", "device_type", "capacity_bytes", "mounts", "read_bytes_per_sec",
        "write_bytes_per_sec", "read_bytes_total", "write_bytes_total"}
TOP = {"timestamp_secs", "job_name", "tracked_pid", "cpu", "memory", "network", "disk", "gpu", "resource-tracker-version"}


class JsonLines(Case):
    def check(self, lines, first=True):
        samples = [json.loads(line) for line in lines]
        for i, sample in enumerate(samples):
            self.assertLessEqual(TOP, set(sample))
            self.assertLessEqual(CPU, set(sample["cpu"]))
            self.assertLessEqual(MEMORY, set(sample["memory"]))
            self.assertIsInstance(sample["timestamp_secs"], int)
            self.assertEqual("actual_interval_ms" in sample, not (first and i == 0))
            self.assertEqual(len(sample["cpu"]["per_core_pct"]), os.cpu_count())
            for value in sample["cpu"]["per_core_pct"]:
                if value is not None or i > 0:  # per core there is no baseline before the first sample
                    self.assertTrue(0 <= value <= 100)
            self.assertEqual(sample["gpu"], [])
            names = [entry["interface"] for entry in sample["network"]]
            self.assertEqual(names, sorted(names))
            self.assertNotIn("lo", names)
            for entry in sample["network"]:
                self.assertLessEqual(NETWORK, set(entry))
            names = [entry["device"] for entry in sample["disk"]]
            self.assertEqual(names, sorted(names))
            for entry in sample["disk"]:
                self.assertLessEqual(DISK, set(entry))
                self.assertNotEqual(entry["capacity_bytes"], 0)
        return samples

    def test_the_same_number_everywhere(self):
        """A level is what was read at the tick, rounded to its column's decimals: in rows, lines, statistics and uploads alike."""
        done, run, table = self.tracked(burner("cpu"), "1", "500", options=["-i", "50ms", "-o", self.path("x.jsonl"), "-o", self.path("x.csv")])
        self.assertEqual(self.read("x.csv"), table.text)
        samples = [json.loads(line, parse_float=str, parse_int=str) for line in self.read("x.jsonl").splitlines()]
        names = ("free", "used", "buffers", "cached", "active", "inactive")
        self.assertEqual(len(samples), len(table.rows))
        for sample, row in zip(samples, table.rows):
            for name in names:
                self.assertRegex(row[f"system_memory_{name}_mib"], r"^[0-9]+\.[0-9]$")
                self.assertEqual(sample["memory"][f"{name}_mib"], row[f"system_memory_{name}_mib"], name)
            for name in ("total", "used", "free"):
                self.assertRegex(row[f"system_disk_space_{name}_gb"], r"^[0-9]+\.[0-9]{3}$")
        for column in [f"system_memory_{name}_mib" for name in names] + ["system_disk_space_used_gb"]:
            values = [float(value) for value in table.column(column) if value]
            self.assertEqual(run["statistics"][column]["max"], max(values), column)
            self.assertEqual(run["statistics"][column]["min"], min(values), column)

    def test_private_is_private(self):
        """Nothing that tells this machine from another is in any file of the run."""
        env = fake_gpus.machine(self, "device name=H200 util=50 total=1000000 used=1000")
        secrets = {os.uname().nodename} if len(os.uname().nodename) > 3 else set()
        for name in os.listdir("/sys/class/net"):
            with open(f"/sys/class/net/{name}/address", encoding="ascii") as file:
                secrets.add(file.read().strip())
        secrets -= {"", "00:00:00:00:00:00"}
        for hidden in (False, True):
            with self.subTest(hidden=hidden):
                store = self.path(f"store{hidden}")
                done = self.tacho("run", "-i", "100ms", "--store", store, "--summary", "full", "-o", self.path("x.jsonl"), "-o", self.path("x.html"),
                                  "--", "sh", "-c", "sleep 0.6; : secret-argument", env={**env, "TACHO_HIDE": "private" if hidden else ""})
                self.assertEqual(done.rc, 0, done)
                run, _ = self.the_run(store)
                text = self.read("x.jsonl")
                samples = [json.loads(line) for line in text.splitlines()]
                everything = text + self.read("x.html") + json.dumps(run) + done.err + done.out
                macs = {entry["mac_address"] for sample in samples for entry in sample["network"]}
                uuids = {entry["uuid"] for sample in samples for entry in sample["gpu"]}
                if not hidden:
                    self.assertIn("secret-argument", everything)
                    continue
                self.assertEqual((macs - {None}, uuids - {None}), (set(), set()))
                for secret in secrets | {"secret-argument"}:
                    self.assertNotIn(secret, everything)

    def test_hidden_pid(self):
        done, run, table = self.tracked("true", options=["--hide", "pid", "-o", self.path("x.jsonl")])
        self.assertEqual(set(table.column("process_pid")), {""})
        self.assertNotIn("pid", run)
        self.assertIsNone(json.loads(self.read("x.jsonl").splitlines()[0])["tracked_pid"])

    def test_native(self):
        done, run, table = self.tracked(burner("cpu"), "1", "400",
                                        options=["-i", "100ms", "-n", "a job", "-o", self.path("x.jsonl")])
        samples = self.check(self.read("x.jsonl").splitlines())
        self.assertEqual(len(samples), len(table.rows))
        self.assertEqual({sample["job_name"] for sample in samples}, {"a job"})
        self.assertEqual({sample["tracked_pid"] for sample in samples}, {run["pid"]})
        for sample, row in zip(samples, table.rows):
            self.assertAlmostEqual(sample["timestamp"], float(row["timestamp"]), delta=0.002)
            self.assertAlmostEqual(sample["cpu"]["process_utime_secs"], float(row["process_utime"]), delta=0.001)
            self.assertAlmostEqual(sample["cpu"]["utilization_pct"], float(row["system_cpu_usage"]), delta=0.001)
        self.assertIn("tacho_version", samples[0])
        self.assertIn(samples[-1]["cpu"]["process_memory_source"], ("pss", "pss_scaled", "rss"))
        for entry in samples[0]["network"] + samples[0]["disk"]:
            self.assertIn("counted", entry)

    def test_watch_has_no_process(self):
        process = self.spawn("watch", "-i", "50ms", "--no-store", "-q", "-o", "-", "-f", "json")
        sample = json.loads(process.stdout.readline())
        self.assertIsNone(sample["tracked_pid"])
        for name in CPU:
            if name.startswith("process_") and name != "process_count":
                self.assertIsNone(sample["cpu"][name], name)
        process.terminate()
        self.assertEqual(process.wait(30), 0)


class ResourceTracker(JsonLines):
    def setUp(self):
        super().setUp()
        self.name = self.path("resource-tracker")
        os.symlink(TACHO, self.name)

    def test_default_is_json_on_stderr(self):
        done = self.tacho("-i", "1", "sh", "-c", "sleep 0.1; echo mine; exit 6", program=self.name)
        self.assertEqual((done.rc, done.out), (6, "mine\n"))
        lines = [line for line in done.err.splitlines() if line.startswith("{")]
        samples = self.check(lines)
        self.assertGreaterEqual(len(samples), 1)
        for sample in samples:
            for name in ("total_mib", "free_mib", "used_mib"):
                self.assertIsInstance(sample["memory"][name], int)
            self.assertRegex(sample["resource-tracker-version"], r"^\d+\.\d+\.\d+")

    def test_csv(self):
        done = self.tacho("-f", "csv", "-o", self.path("x"), "--", "sleep", "0.1", program=self.name)
        self.assertEqual(done.rc, 0, done)
        table = Table(self.read("x"))
        self.assertEqual(table.header, COLUMNS)
        for stamp in table.column("timestamp"):
            self.assertRegex(stamp, r"^\d+$")

    def test_stdout(self):
        done = self.tacho("-o", "-", "-f", "csv", "true", program=self.name)
        self.assertEqual(Table(done.out).header, COLUMNS)

    def test_quiet(self):
        self.assertEqual(self.tacho("--quiet", "true", program=self.name).err, "")
        self.assertEqual(self.tacho("true", program=self.name, env={"TRACKER_QUIET": "true"}).err, "")

    def test_output_variable(self):
        done = self.tacho("true", program=self.name, env={"TRACKER_OUTPUT": self.path("by-env.jsonl")})
        self.assertEqual(done.rc, 0, done)
        self.check(self.read("by-env.jsonl").splitlines())

    def test_metadata_flags(self):
        words = []
        for name in ("project-name", "stage-name", "task-name", "team", "env", "language", "orchestrator", "executor",
                     "external-run-id", "container-image"):
            words += ["--" + name, "x"]
        done = self.tacho("-n", "named", "--tag", "a=1", "--tag", "b=2", *words, "true", program=self.name)
        self.assertEqual(done.rc, 0, done)
        self.assertEqual(json.loads(done.err.splitlines()[0])["job_name"], "named")

    def test_config(self):
        """Missing or broken never stops the run; a missing file that was named gives one warning."""
        self.write("resource-tracker.toml", '[job]\nname = "from file"\nunknown = 1\n[tracker]\ninterval_secs = 2\n')
        done = self.tacho("true", program=self.name)
        self.assertEqual(json.loads([line for line in done.err.splitlines() if line[0] == "{"][0])["job_name"], "from file")
        done = self.tacho("-c", self.path("missing.toml"), "true", program=self.name)
        self.assertEqual(done.rc, 0, done)
        self.assertEqual(done.err.count("missing.toml"), 1, done)
        self.write("resource-tracker.toml", "= broken [\n")
        self.assertEqual(self.tacho("sh", "-c", "exit 2", program=self.name).rc, 2)

    def test_nothing_but_samples_on_stderr(self):
        """No line of text between JSON lines, not of a missing file either: the message is in a sample."""
        done = self.tacho("-c", self.path("missing.toml"), "-i", "0.1", "sleep", "0.35", program=self.name)
        samples = [json.loads(line) for line in done.err.splitlines()]
        self.assertGreaterEqual(len(samples), 2, done)
        self.assertIn("missing.toml", samples[0]["messages"][0])
        self.assertTrue(all("messages" not in sample for sample in samples[1:]))
        # A command that is not there has no sample: then the words are all there is.
        done = self.tacho("-c", self.path("missing.toml"), self.path("no-such-command"), program=self.name)
        self.assertEqual(done.rc, 127, done)
        self.assertIn("no-such-command", done.err)
        self.assertFalse(any(line.startswith("{") for line in done.err.splitlines()), done)
        # With an output of its own stderr is for people.
        done = self.tacho("-c", self.path("missing.toml"), "-o", self.path("x.jsonl"), "true", program=self.name)
        self.assertIn("missing.toml", done.err)
        self.assertNotIn("messages", self.read("x.jsonl"))

    def test_memory_is_whole(self):
        done = self.tacho("-f", "csv", "-i", "0.1", "sleep", "0.25", program=self.name)
        table = Table(done.err)
        self.assertEqual(table.header, COLUMNS)
        for row in table.rows:
            for name in COLUMNS[5:11] + ["process_memory_mib"]:
                self.assertRegex(row[name], r"^[0-9]+$", name)
            self.assertRegex(row["system_disk_space_used_gb"], r"^[0-9]+\.[0-9]{3}$")

    def test_help_tells_its_own_defaults(self):
        text = " ".join(self.tacho("--help", program=self.name).out.split())
        for word in ("Default stderr.", "Default json.", "Default resource-tracker.toml."):
            self.assertIn(word, text)

    def test_refused(self):
        for words in (["-i", "0", "true"], ["-i", "-1", "true"], ["--no-such", "true"], ["--pid", "999999999"]):
            self.assertEqual(self.tacho(*words, program=self.name).rc, 125, words)

    def test_without_command_until_a_signal(self):
        process = self.spawn("-i", "0.05", program=self.name)
        json.loads(process.stderr.readline())
        process.terminate()
        self.assertEqual(process.wait(30), 0)

    def test_pid(self):
        target = subprocess.Popen(["sleep", "0.6"], env=self.environment())
        done = self.tacho("-i", "0.1", "--pid", target.pid, program=self.name)
        target.wait()
        self.assertEqual(done.rc, 0, done)
        self.assertEqual(json.loads(done.err.splitlines()[0])["tracked_pid"], target.pid)

    def test_help_and_version(self):
        self.assertEqual(self.tacho("--help", program=self.name).rc, 0)
        self.assertRegex(self.tacho("--version", program=self.name).out, r"\d+\.\d+\.\d+")

    def test_whole_lines_only(self):
        """A reader of the file sees no half line that stays: a line is one write, which the kernel may show page by page."""
        process = self.spawn("-i", "0.01", "-o", self.path("x.jsonl"), "sleep", "1", program=self.name)
        end = time.monotonic() + 20
        while process.poll() is None and time.monotonic() < end:
            if os.path.exists(self.path("x.jsonl")):
                self.assertTrue(until(lambda: self.read("x.jsonl")[-1:] in ("", "\n"), 1))
        self.assertEqual(process.wait(30), 0)
