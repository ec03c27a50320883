"""The task monitor of Cromwell (cromwell-bigquery.md §1, §2.6) against the double of BigQuery and of the metadata server: which rows arrive,
whatever the environment, the disks, the network and signals do."""
import glob
import json
import os
import re
import signal
import socket
import time

from bigquery import Cloud
from support import BUILD, marked_pids, until
from monitored import METADATA, TASK, Monitored


class Rows(Monitored):
    def test_a_task_leaves_a_runtime_row_and_samples_every_second(self):
        process = self.start()
        self.assertTrue(until(lambda: len(self.metrics()) >= 3))
        self.end(process)
        metrics = self.check()
        runtime = self.cloud.rows("runtime")[0]
        want = {"project_id": "project", "zone": "europe-west4-a", "instance_id": "1234567890123456789", "instance_name": "vm-7", "preemptible": True,
                "workflow_id": TASK["WORKFLOW_ID"], "task_call_name": "align-reads.v2", "shard": -1, "attempt": 1, "cpu_count": len(os.sched_getaffinity(0)),
                "cpu_platform": "AMD Rome", "machine_type": "n2d-custom-2-4096", "disk_mounts": ["/"], "monitor_form": "image"}
        for name, value in want.items():
            self.assertEqual(str(runtime[name]), str(value), name)
        with open("/proc/meminfo", encoding="ascii") as file:
            total_kb = int(re.search(r"MemTotal:\s+(\d+)", file.read())[1])
        self.assertAlmostEqual(runtime["mem_total_gb"], total_kb * 1024e-9, places=5)
        space = os.statvfs("/")
        self.assertAlmostEqual(runtime["disk_total_gb"][0], space.f_blocks * space.f_frsize * 1e-9, delta=0.01)
        last = metrics[-1]
        self.assertEqual(last["event"], "final")
        self.assertEqual([row.get("event") for row in metrics[:-1]], [None] * (len(metrics) - 1))
        for row in metrics:
            self.assertEqual(str(row["instance_id"]), METADATA["instance/id"])
            self.assertEqual((row["workflow_id"], row["shard"], row["attempt"], row["run_id"]), (TASK["WORKFLOW_ID"], -1, 1, runtime["run_id"]))
            self.assertEqual(len(row["cpu_used_percent"]), len(metrics[0]["cpu_used_percent"]))
            self.assertTrue(all(0 <= value <= 100 for value in row["cpu_used_percent"]))
            self.assertTrue(0 < row["mem_used_gb"] < runtime["mem_total_gb"])
            for name in ("disk_used_gb", "disk_read_iops", "disk_write_iops", "disk_ok"):
                self.assertEqual(len(row[name]), 1, name)
        self.assertIn("rows_dropped", last)
        sizes = [len(json.dumps(row, separators=(",", ":"))) for row in metrics]
        self.assertLess(sum(sizes) / len(sizes), 1024 + 8 * max(0, runtime["cpu_count"] - 8), "what is billed for a row anyway")
        ids = [insert_id for insert_id, _ in self.cloud.table("metrics").rows]
        self.assertTrue(all(re.fullmatch(r"m-1234567890123456789-[0-9a-f]{32}-\d{16}", insert_id) for insert_id in ids), ids[0])

    def test_the_runtime_row_of_a_new_table_goes_again_with_the_next_report(self):
        process = self.start(env={"MEASURE_INTERVAL_MS": "200", "REPORT_INTERVAL_MS": "600"})
        self.assertTrue(until(lambda: len(self.cloud.calls("/runtime/insertAll")) >= 2))
        self.end(process)
        self.check()
        self.assertEqual(self.cloud.table("runtime").repeated, 1)
        inserts = [entry["path"].partition("?")[0].rsplit("/", 2)[1] for entry in self.cloud.double.log if "/insertAll" in entry["path"]]
        second = [i for i, table in enumerate(inserts) if table == "runtime"][1]
        self.assertGreaterEqual(inserts[:second].count("metrics"), 2, "at once it would be lost like the first")

    def test_samples_sit_on_a_grid_and_the_first_one_has_true_rates(self):
        process = self.start(env={"MEASURE_INTERVAL_MS": "200", "REPORT_INTERVAL_MS": "400"})
        self.assertTrue(until(lambda: len(self.metrics()) >= 12))
        self.end(process)
        metrics = self.check()
        start = self.moment(self.cloud.rows("runtime")[0]["start_time"])
        self.assertTrue(metrics[0]["cpu_used_percent"])
        late = [(self.moment(row["timestamp"]) - start + 0.001) % 0.2 for row in metrics[1:-1]]
        self.assertLess(sorted(late)[len(late) // 2], 0.1, "most of them are near their point")

    @staticmethod
    def moment(text):
        return time.mktime(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")) - time.timezone + float(text[19:-1])

    def test_cpu_percent_is_what_the_kernel_counted(self):
        process = self.start(env={"REPORT_INTERVAL_MS": "500"})
        self.assertTrue(until(lambda: len(self.metrics()) >= 1))
        def ticks():
            with open("/proc/stat", encoding="ascii") as file:
                return [list(map(int, line.split()[1:9])) for line in file if re.match(r"cpu\d", line)]
        seen = len(self.metrics())
        before = ticks()
        self.assertTrue(until(lambda: len(self.metrics()) >= seen + 4))
        after = ticks()
        self.end(process)
        for core, (old, new) in enumerate(zip(before, after)):
            all_ticks = sum(new) - sum(old)
            busy = 100 * (all_ticks - (new[3] - old[3])) / all_ticks
            told = [row["cpu_used_percent"][core] for row in self.metrics()[seen:seen + 4]]
            self.assertAlmostEqual(sum(told) / 4, busy, delta=35)

    def test_a_table_of_the_original_tool_is_written_as_it_is(self):
        def column(name, kind, mode="REQUIRED"):
            return {"name": name, "type": kind, "mode": mode}
        self.cloud.make_tables({
            "metrics": [column("timestamp", "TIMESTAMP"), column("instance_id", "INTEGER"), column("cpu_used_percent", "FLOAT", "REPEATED"),
                        column("mem_used_gb", "FLOAT"), column("disk_used_gb", "FLOAT", "REPEATED"), column("disk_read_iops", "FLOAT", "REPEATED"),
                        column("disk_write_iops", "FLOAT", "REPEATED")],
            "runtime": [column("project_id", "STRING"), column("zone", "STRING"), column("instance_id", "INTEGER"), column("instance_name", "STRING"),
                        column("preemptible", "BOOLEAN"), column("workflow_id", "STRING", "NULLABLE"), column("task_call_name", "STRING", "NULLABLE"),
                        column("shard", "INTEGER", "NULLABLE"), column("attempt", "INTEGER", "NULLABLE"), column("cpu_count", "INTEGER"),
                        column("cpu_platform", "STRING"), column("mem_total_gb", "FLOAT"), column("disk_mounts", "STRING", "REPEATED"),
                        column("disk_total_gb", "FLOAT", "REPEATED"), column("start_time", "TIMESTAMP")]})
        process = self.start()
        self.assertTrue(until(lambda: len(self.metrics()) >= 2))
        self.end(process)
        self.assertEqual(set(self.metrics()[0]), {"timestamp", "instance_id", "cpu_used_percent", "mem_used_gb", "disk_used_gb", "disk_read_iops", "disk_write_iops"})
        self.assertEqual(len(self.cloud.rows("runtime")), 1)
        self.assertEqual(self.cloud.double.complaints, [])


class Environment(Monitored):
    def once(self, env, **keywords):
        process = self.start(env=env, **keywords)
        self.assertTrue(until(lambda: self.metrics()), self.read("stderr"))
        self.end(process)
        self.check()
        return self.cloud.rows("runtime")[0], self.metrics()

    def test_bad_values_cost_a_warning_each_and_no_row(self):
        runtime, metrics = self.once({"TASK_CALL_INDEX": "x1", "TASK_CALL_ATTEMPT": "", "PREEMPTIBLE": "perhaps", "INSTANCE_ID": "12 monkeys",
                                      "MEASURE_INTERVAL_MS": "0", "REPORT_INTERVAL_MS": "-1"})
        self.assertTrue("shard" not in runtime and "attempt" not in runtime)
        self.assertEqual(runtime["preemptible"], True, "the metadata server's")
        self.assertEqual(str(metrics[0]["instance_id"]), METADATA["instance/id"])
        self.assertEqual(runtime["measure_interval_ms"], 1000)
        for name in ("TASK_CALL_INDEX", "TASK_CALL_ATTEMPT", "PREEMPTIBLE", "INSTANCE_ID", "MEASURE_INTERVAL_MS", "REPORT_INTERVAL_MS"):
            self.assertEqual(self.read("stderr").count(f"{name}="), 1, self.read("stderr"))

    def test_what_is_given_is_not_asked_for(self):
        runtime, metrics = self.once({"INSTANCE_ID": "-5", "INSTANCE_NAME": "given", "ZONE": "", "PREEMPTIBLE": "f", "CPU_PLATFORM": "mine", "PROJECT_ID": "project"})
        self.assertEqual((runtime["instance_id"], runtime["instance_name"], runtime["zone"], runtime["preemptible"], runtime["cpu_platform"]),
                         (-5, "given", "", False, "mine"))
        self.assertEqual(metrics[0]["instance_id"], -5)
        asked = [entry["path"] for entry in self.cloud.calls("") if "computeMetadata" in entry["path"]]
        self.assertFalse([path for path in asked if "zone" in path or "hostname" in path or "preempt" in path], asked)

    def test_table_names_and_flags(self):
        process = self.start("--metrics-table", "m2", "--runtime-table=r2", env={"METRICS_TABLE_ID": "ignored"})
        self.assertTrue(until(lambda: self.cloud.rows("m2")))
        self.end(process)
        self.assertEqual(len(self.cloud.rows("r2")), 1)

    def test_disk_mounts_with_blanks_quotes_and_one_that_is_missing(self):
        os.mkdir(self.path("my disk"))
        missing = self.path("nothing")
        runtime, metrics = self.once({"DISK_MOUNTS": f"  /   '{self.path('my disk')}'\t{missing}  "})
        self.assertEqual(runtime["disk_mounts"], ["/", self.path("my disk"), missing])
        self.assertEqual(runtime["disk_total_gb"][2], 0)
        for row in metrics:
            self.assertEqual([len(row[name]) for name in ("disk_used_gb", "disk_read_iops", "disk_write_iops", "disk_ok")], [3] * 4)
            self.assertEqual(row["disk_ok"][2], False)

    def test_without_disk_mounts_there_is_one(self):
        runtime, _ = self.once({"DISK_MOUNTS": None})
        self.assertEqual(len(runtime["disk_mounts"]), 1)

    def test_an_absent_metadata_server_delays_nothing(self):
        self.use()
        runtime, metrics = self.once({"GCE_METADATA_HOST": "127.0.0.1:1", "PROJECT_ID": "project"})
        self.assertGreater(int(runtime["instance_id"]), 0)
        self.assertEqual(runtime["instance_name"], os.uname().nodename.split(".")[0])
        self.assertTrue(runtime["cpu_platform"])
        self.assertEqual((runtime["zone"], runtime["preemptible"]), ("", False))
        self.assertEqual(metrics[0]["seq"], 0)

    def test_a_metadata_server_that_never_says_a_word_costs_no_row(self):
        self.use()
        with socket.create_server(("127.0.0.1", 0)) as silent:
            process = self.start(env={"GCE_METADATA_HOST": f"127.0.0.1:{silent.getsockname()[1]}", "PROJECT_ID": Cloud.project, "MEASURE_INTERVAL_MS": "200"})
            self.assertTrue(until(lambda: glob.glob(self.path("spool", "2*", "*.open"))))
            self.end(process)
        self.assertEqual(self.check()[-1]["event"], "final")

    def test_a_slow_metadata_server_delays_no_sample(self):
        self.cloud.fault({"delay_s": 1.0}, path="/computeMetadata/.*")
        process = self.start(env={"REPORT_INTERVAL_MS": "2000"})
        self.assertTrue(until(lambda: len(self.metrics()) >= 5, 60), self.read("stderr"))
        self.end(process)
        metrics = self.check()
        moments = [Rows.moment(row["timestamp"]) for row in metrics]
        self.assertLess(moments[0] - Rows.moment(self.cloud.rows("runtime")[0]["start_time"]), 0.5)
        self.assertLess(max(b - a for a, b in zip(moments, moments[1:])), 3)

    def test_no_project_is_said_once_and_measuring_goes_on(self):
        process = self.start("-o", self.path("rows.jsonl"), env={"GCE_METADATA_HOST": "127.0.0.1:1"})
        self.assertTrue(until(lambda: self.read("rows.jsonl").count("\n") >= 4))
        self.end(process)
        self.assertEqual(self.read("stderr").count("PROJECT_ID"), 1, self.read("stderr"))
        self.assertEqual(len(self.left()), 1)

    def test_usage_errors_end_with_two(self):
        for args, env, word in ((["--bq-add-columns"], {"DATASET_ID": None}, "DATASET_ID"), (["--nonsense"], {}, "--nonsense"), (["what"], {}, "what"),
                                (["--measure-interval-ms", "0"], {}, "measure-interval-ms"), (["--dataset", "a-b"], {}, "a-b"),
                                (["-o", self.path("no", "folder.jsonl")], {}, "folder.jsonl")):
            done = self.tacho("monitor", *args, env=self.variables(**env))
            self.assertEqual(done.rc, 2, done)
            self.assertIn(word, done.err)

    def test_a_bad_dataset_in_the_environment_is_no_reason_to_stop(self):
        process = self.start("-o", self.path("rows.jsonl"), env={"DATASET_ID": "no:such-name"})
        self.assertTrue(until(lambda: self.read("rows.jsonl").count("\n") >= 2))
        self.end(process)
        self.assertIn("DATASET_ID", self.read("stderr"))
        self.assertEqual(self.cloud.calls("/insertAll"), [])


class Events(Monitored):
    def test_each_signal_that_ends_it_leaves_a_last_sample(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM):
            with self.subTest(number):
                self.use(auth=True, metadata=dict(METADATA))
                process = self.start()
                self.assertTrue(until(lambda: self.metrics()))
                self.end(process, number)
                self.assertEqual(self.events(), ["final"])
                self.check()

    def test_a_task_of_no_time_leaves_both_rows(self):
        process = self.start()
        time.sleep(0.3)
        self.end(process)
        metrics = self.check()
        self.assertEqual(metrics[-1]["event"], "final")

    def test_the_end_of_the_command_is_sent_at_once(self):
        work = self.path("cromwell_root")
        os.mkdir(work)
        process = self.start(cwd=work, env={"DISK_MOUNTS": work, "REPORT_INTERVAL_MS": "3600000"})
        self.assertTrue(until(lambda: self.metrics()))
        time.sleep(1.2)
        with open(os.path.join(work, "rc.tmp"), "w", encoding="ascii") as file:
            file.write("0\n")
        os.rename(os.path.join(work, "rc.tmp"), os.path.join(work, "rc"))
        self.assertTrue(until(lambda: "command_end" in self.events(), 10))
        seen = len(self.metrics())
        self.assertTrue(until(lambda: len(self.metrics()) >= seen + 2, 10), "from then on every second")
        self.assertIsNone(process.poll(), "delocalisation follows")
        self.end(process)
        self.assertEqual(self.events(), ["command_end", "final"])
        self.check()

    def test_a_preemption_is_sent_at_once(self):
        process = self.start(env={"REPORT_INTERVAL_MS": "3600000"})
        self.assertTrue(until(lambda: self.metrics()))
        time.sleep(1)
        self.cloud.double.google.change({"instance/preempted": "TRUE"})
        self.assertTrue(until(lambda: "preempted" in self.events(), 10), self.read("stderr"))
        self.end(process)
        self.assertEqual(self.events(), ["preempted", "final"])
        self.check()

    def test_the_script_form_ends_with_its_parent(self):
        script = self.write("task.sh", f"#!/bin/sh\n{os.path.join(BUILD, 'bin', 'tacho')} monitor > monitoring.log 2> stderr &\necho $! > pid\nsleep 2\n", 0o755)
        self.tacho(program=script, env=self.variables())
        pid = int(self.read("pid"))
        self.assertTrue(until(lambda: not os.path.exists(f"/proc/{pid}"), 10))
        metrics = self.check()
        self.assertEqual(metrics[-1]["event"], "final")
        self.assertEqual(self.cloud.rows("runtime")[0]["monitor_form"], "script")
        self.assertGreaterEqual(metrics[1]["proc_count"], 1)
        self.assertTrue(metrics[1]["top_process"])
        log = self.read("monitoring.log")
        self.assertRegex(log, r"#CPU: \d+\nTotal Memory: [\d.]+G\nTotal Disk space: [\d.]+G\n\n--- Runtime Information ---\n\[")
        self.assertRegex(log, r"\* CPU usage: [\d.]+%\n\* Memory usage: [\d.]+%\n\* Disk usage: [\d.]+%\n")


    def test_signals_that_come_together_are_one_end(self):
        """A terminal that hangs up and whoever clears up: the last rows are sent all the same."""
        for numbers, pause_s in (((signal.SIGHUP, signal.SIGTERM), 0), ((signal.SIGTERM, signal.SIGHUP), 0.2)):
            with self.subTest(numbers):
                self.use(auth=True, metadata=dict(METADATA))
                process = self.start(env={"REPORT_INTERVAL_MS": "3600000"})
                self.assertTrue(until(lambda: self.metrics()))
                self.cloud.fault({"delay_s": 0.7}, path=".*/insertAll")
                for number in numbers:
                    process.send_signal(number)
                    time.sleep(pause_s)
                process.wait(30)
                self.assertEqual(process.returncode, 0, self.read("stderr"))
                self.assertEqual(self.events(), ["final"])
                self.check()

    def test_the_parent_that_dies_of_the_same_signal_is_no_second_one(self):
        script = self.write("task.sh", f"#!/bin/sh\n{os.path.join(BUILD, 'bin', 'tacho')} monitor > monitoring.log 2> stderr &\necho $! > pid\nexec sleep 60\n", 0o755)
        parent = self.spawn(program=script, env=self.variables(REPORT_INTERVAL_MS="3600000"))
        self.assertTrue(until(lambda: self.metrics()))
        pid = int(self.read("pid"))
        self.cloud.fault({"delay_s": 0.7}, path=".*/insertAll")
        os.kill(pid, signal.SIGSTOP)  # so that both are there when it looks
        os.kill(pid, signal.SIGTERM)
        parent.kill()
        parent.wait()
        os.kill(pid, signal.SIGCONT)
        self.assertTrue(until(lambda: not os.path.exists(f"/proc/{pid}"), 15))
        self.assertEqual(self.events(), ["final"])
        self.check()

    def test_everybody_gets_a_signal_and_the_last_rows_are_sent(self):
        """kill -TERM -1: the deliverer gets it too."""
        process = self.start(env={"REPORT_INTERVAL_MS": "3600000"})
        self.assertTrue(until(lambda: self.metrics()))
        for pid in marked_pids(self.mark):
            if pid != process.pid:
                os.kill(pid, signal.SIGTERM)
        self.end(process)
        self.assertEqual(self.events(), ["final"])
        self.check()

    def test_a_queue_of_events_that_overflows_loses_no_end(self):
        work = self.path("cromwell_root")
        os.mkdir(work)
        process = self.start(cwd=work, env={"DISK_MOUNTS": work, "REPORT_INTERVAL_MS": "3600000"})
        self.assertTrue(until(lambda: self.metrics()))
        with open("/proc/sys/fs/inotify/max_queued_events", encoding="ascii") as file:
            most = int(file.read())
        process.send_signal(signal.SIGSTOP)  # so that nobody reads them
        self.write("cromwell_root/x", "")
        names = [os.path.join(work, name) for name in "xy"]
        for number in range(most + 100):
            os.rename(names[number % 2], names[1 - number % 2])
        self.write("cromwell_root/rc", "0\n")
        process.send_signal(signal.SIGCONT)
        self.assertTrue(until(lambda: "command_end" in self.events(), 20), self.read("stderr"))
        self.end(process)
        self.check()
