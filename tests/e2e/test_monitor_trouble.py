"""tacho monitor in bad weather, and away from Google."""
import fcntl
import glob
import json
import os
import re
import signal
import subprocess
import time

from bigquery import Cloud
from support import BUILD, IS_ROOT, SANITIZED, marked_pids, until
from monitored import METADATA, Monitored


class Trouble(Monitored):
    weight = 4

    def test_a_size_is_read_as_people_write_it(self):
        """1G is not one byte: nothing is thinned out."""
        self.cloud.fault({"status": 503})
        process = self.start(env={"MEASURE_INTERVAL_MS": "20", "REPORT_INTERVAL_MS": "100", "TACHO_SPOOL_MAX": "1G"})
        self.assertTrue(until(lambda: len(glob.glob(self.path("spool", "*", "*.rec"))) >= 5))
        self.cloud.faults()
        self.end(process)
        for folder in self.left():
            self.tacho("deliver", folder, env=self.variables())
        self.assertEqual(self.check()[-1]["rows_dropped"], 0)

    def test_a_metadata_server_that_is_late_is_waited_for(self):
        """Seconds of 503, more than one question is repeated for: the rows wait, and none of them has an identity that was made up."""
        self.cloud.fault({"status": 503, "body": "", "headers": {"Metadata-Flavor": "Google"}}, path="/computeMetadata/.*")
        process = self.start(env={"REPORT_INTERVAL_MS": "500", "PROJECT_ID": Cloud.project})
        begun = time.monotonic()
        self.assertTrue(until(lambda: time.monotonic() - begun > 5, 60))
        self.assertEqual(self.metrics(), [])
        self.cloud.faults()
        self.assertTrue(until(lambda: self.metrics(), 60), self.read("stderr"))
        self.end(process)
        metrics = self.check()
        self.assertEqual({str(row["instance_id"]) for row in metrics}, {METADATA["instance/id"]})
        runtime, = self.cloud.rows("runtime")
        self.assertEqual((runtime["instance_name"], runtime["zone"], runtime["preemptible"]), ("vm-7", "europe-west4-a", True))

    def test_one_value_that_is_late_is_waited_for(self):
        self.cloud.fault({"status": 503, "body": "", "headers": {"Metadata-Flavor": "Google"}}, path="/computeMetadata/v1/instance/zone", to=8)
        process = self.start(env={"REPORT_INTERVAL_MS": "500"})
        self.assertTrue(until(lambda: self.metrics(), 60), self.read("stderr"))
        self.end(process)
        self.check()
        self.assertEqual(self.cloud.rows("runtime")[0]["zone"], "europe-west4-a")

    def test_an_end_before_the_machine_is_known_sends_what_there_is_and_says_so(self):
        token = json.loads(self.cloud.double.google.give("test", ["https://www.googleapis.com/auth/bigquery"]).body)["access_token"]
        self.cloud.fault({"status": 503, "body": "", "headers": {"Metadata-Flavor": "Google"}}, path="/computeMetadata/.*")
        process = self.start("--access-token-file", self.write("token", token, 0o600), env={"PROJECT_ID": Cloud.project})
        self.assertTrue(until(lambda: glob.glob(self.path("spool", "2*", "*.rec"))))
        self.end(process)
        self.assertEqual(self.check()[-1]["event"], "final")
        self.assertIn("does not tell who this machine is", self.read("stderr"))

    def test_a_network_that_swallows_everything_delays_neither_samples_nor_the_end(self):
        self.cloud.fault({"delay_s": 60}, path="/bigquery/.*")
        process = self.start("-o", self.path("rows.jsonl"))
        self.assertTrue(until(lambda: self.read("rows.jsonl").count("\n") >= 4))
        self.end(process)
        self.assertEqual(len(self.left()), 1)
        self.assertIn("tacho deliver", self.read("stderr"))
        self.cloud.faults()
        done = self.tacho("deliver", self.left()[0], env=self.variables())
        self.assertEqual(done.rc, 0, done)
        metrics = self.check()
        self.assertEqual(metrics[-1]["event"], "final")

    def test_strict_tells_that_rows_are_left(self):
        self.cloud.fault({"status": 503})
        process = self.start("--strict")
        time.sleep(0.5)
        self.end(process, rc=125)

    def test_a_second_signal_stops_the_waiting(self):
        self.cloud.fault({"delay_s": 60}, path="/bigquery/.*")
        process = self.start("-o", self.path("rows.jsonl"))
        self.assertTrue(until(lambda: self.read("rows.jsonl").count("\n") >= 2))
        process.send_signal(signal.SIGTERM)
        self.assertTrue(until(lambda: '"final"' in self.read("rows.jsonl")))
        self.assertIsNone(process.poll())
        begun = time.monotonic()
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(30), 0)
        self.assertLess(time.monotonic() - begun, 4)
        self.end_marked()

    def test_killed_with_its_deliverer_the_next_start_sends_the_rest_first(self):
        self.cloud.fault({"status": 503})
        process = self.start(env={"MEASURE_INTERVAL_MS": "100", "REPORT_INTERVAL_MS": "300"})
        self.assertTrue(until(lambda: len(glob.glob(self.path("spool", "*", "*.rec"))) >= 3))
        self.end_marked()
        process.wait(10)
        self.assertEqual(len(self.left()), 1)
        self.cloud.faults()
        again = self.start(env={"REPORT_INTERVAL_MS": "300"})
        self.assertTrue(until(lambda: len(self.left()) == 1 and len(self.cloud.rows("runtime")) == 2, 30), self.left())
        self.end(again)
        self.assertEqual(self.left(), [])
        runs = {row["run_id"] for row in self.cloud.rows("runtime")}
        self.assertEqual(len(runs), 2)
        for run in runs:
            numbers = [row["seq"] for row in self.metrics() if row["run_id"] == run]
            self.assertEqual(sorted(numbers), list(range(len(numbers))))
        self.assertEqual(self.cloud.double.complaints, [])

    def test_what_its_own_deliverer_gives_up_later_goes_too(self):
        self.cloud.fault({"status": 503})
        process = self.start(env={"MEASURE_INTERVAL_MS": "100", "REPORT_INTERVAL_MS": "300"})
        self.assertTrue(until(lambda: glob.glob(self.path("spool", "*", "*.rec"))))
        self.end_marked()
        process.wait(10)
        self.cloud.faults()
        with open(os.path.join(self.left()[0], "lock"), encoding="ascii") as lock:  # as the deliverer of a killed monitor holds it
            fcntl.flock(lock, fcntl.LOCK_EX)
            again = self.start(env={"REPORT_INTERVAL_MS": "300"})
            self.assertTrue(until(lambda: len(self.cloud.rows("runtime")) == 1))
        self.assertTrue(until(lambda: len(self.left()) == 1 and len(self.cloud.rows("runtime")) == 2, 30), self.left())
        self.end(again)
        self.assertEqual(self.left(), [])

    def test_an_end_while_leftovers_are_answered_sends_none_of_them_again(self):
        self.cloud.fault({"status": 503})
        process = self.start(env={"MEASURE_INTERVAL_MS": "100", "REPORT_INTERVAL_MS": "300"})
        self.assertTrue(until(lambda: len(glob.glob(self.path("spool", "*", "*.rec"))) >= 3))
        self.end_marked()
        process.wait(10)
        self.cloud.fault({"slow_s": 0.001}, path=".*/metrics/insertAll")
        again = self.start(env={"REPORT_INTERVAL_MS": "300"})
        self.assertTrue(until(lambda: len(self.metrics()) >= 3, 30))
        self.end(again)
        self.cloud.faults()
        third = self.start(env={"REPORT_INTERVAL_MS": "300"})
        self.assertTrue(until(lambda: len(self.left()) == 1 and len(self.cloud.rows("runtime")) == 3, 30), self.left())
        self.end(third)
        self.assertEqual(self.cloud.table("metrics").repeated, 0)

    def test_killed_alone_its_deliverer_sends_the_rest(self):
        process = self.start(env={"MEASURE_INTERVAL_MS": "100", "REPORT_INTERVAL_MS": "3600000"})
        self.assertTrue(until(lambda: self.metrics()))
        time.sleep(0.5)
        process.kill()
        process.wait()
        self.assertTrue(until(lambda: not self.left(), 20))
        self.assertGreater(len(self.check()), 3)

    def test_errors_at_random_lose_and_double_nothing(self):
        self.cloud.faults({"match": {"path": ".*/insertAll", "nth": [1, 3, 6]}, "action": {"status": 500}},
                          {"match": {"path": ".*/insertAll", "nth": [2]}, "action": {"reset": "answer"}},
                          {"match": {"path": ".*/insertAll", "nth": [4]}, "action": {"status": 403, "code": "rateLimitExceeded"}})
        process = self.start(env={"MEASURE_INTERVAL_MS": "100", "REPORT_INTERVAL_MS": "500"})
        self.assertTrue(until(lambda: len(self.metrics()) >= 20, 60))
        self.end(process)
        self.check()

    def test_a_spool_whose_disk_vanishes_goes_on_elsewhere(self):
        os.mkdir(self.path("scratch"))
        process = self.start(env={"TMPDIR": self.path("scratch"), "MEASURE_INTERVAL_MS": "100", "REPORT_INTERVAL_MS": "300"})
        self.assertTrue(until(lambda: len(self.metrics()) >= 3))
        os.rename(self.spool, self.path("gone"))
        before = len(self.metrics())
        self.assertTrue(until(lambda: len(self.metrics()) >= before + 5), self.read("stderr"))
        self.end(process)
        self.assertEqual(self.check()[-1]["event"], "final")
        self.assertIn("is gone", self.read("stderr"))

    def test_a_mount_that_vanishes_costs_only_its_own_values(self):
        if not IS_ROOT:
            self.skipTest("needs root to mount")
        mount = self.path("disk")
        os.mkdir(mount)
        script = self.write("in_namespace.sh", "#!/bin/sh\nmount -t tmpfs -o size=8m none disk || exit 77\n\"$@\" & child=$!\n"
                            "trap 'kill -TERM $child' TERM\nsleep 1.5\numount disk\ntouch gone\nwait $child; wait $child\n", 0o755)
        self.need("cannot make a mount namespace", "unshare", "-m", "true")
        process = self.start("-o", self.path("rows.jsonl"), wrap=["unshare", "-m", script], env={"DISK_MOUNTS": f"{mount} /", "MEASURE_INTERVAL_MS": "200"})
        self.assertTrue(until(lambda: os.path.exists(self.path("gone")) or process.poll() is not None))
        if process.poll() == 77:
            self.skipTest("cannot mount here")
        time.sleep(1.5)
        process.terminate()
        process.wait(30)
        rows = [json.loads(line)["row"] for line in self.read("rows.jsonl").splitlines()][1:]
        first, last = rows[2], rows[-1]
        self.assertAlmostEqual(first["disk_used_gb"][0], last["disk_used_gb"][0], places=3)
        self.assertLess(last["disk_used_gb"][0], 0.01, "not those of the disk below it")
        self.assertEqual((first["disk_ok"][0], last["disk_ok"][0]), (True, False))
        self.assertEqual(last["disk_ok"][1], first["disk_ok"][1])
        self.assertEqual(last["event"], "final")

    def test_a_spool_that_cannot_be_written_to_is_replaced(self):
        blocked = self.write("blocked", "a file")
        process = self.start(env={"TACHO_SPOOL_DIR": blocked, "TMPDIR": self.path()})
        self.assertTrue(until(lambda: self.metrics()), self.read("stderr"))
        self.end(process)
        self.check()

    def test_a_full_spool_thins_out_and_counts(self):
        self.cloud.fault({"status": 503})
        process = self.start(env={"MEASURE_INTERVAL_MS": "10", "REPORT_INTERVAL_MS": "100", "TACHO_SPOOL_MAX": "60000"})
        self.assertTrue(until(lambda: sum(os.path.getsize(path) for path in glob.glob(self.path("spool", "*", "*.rec"))) > 40000))
        time.sleep(3)
        self.cloud.faults()
        self.end(process)
        for folder in self.left():
            self.tacho("deliver", folder, env=self.variables())
        metrics = self.metrics()
        self.assertEqual(metrics[-1]["event"], "final")
        dropped = metrics[-1]["rows_dropped"]
        self.assertGreater(dropped, 0)
        self.assertGreaterEqual(len(metrics) + dropped, (metrics[-1]["seq"] + 1) * 0.9, "the last ones may go while the last row is being sealed")
        self.assertEqual(len(self.cloud.rows("runtime")), 1)


class Anywhere(Monitored):
    def test_without_bigquery_the_text_log_is_there(self):
        process = self.start(env={name: None for name in self.variables()} | {"PATH": ""}, stdout=subprocess.PIPE)
        time.sleep(1)
        process.terminate()
        out, _ = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 0, self.read("stderr"))
        self.assertEqual(out.count("* CPU usage: "), 2, out)
        self.assertEqual(self.read("stderr"), "")
        self.assertEqual(marked_pids(self.mark), [], "no deliverer")

    def test_as_nobody(self):
        process = self.start(user="nobody", env={"TACHO_SPOOL_DIR": None, "TMPDIR": self.dir, "HOME": "/nonexistent"})
        self.assertTrue(until(lambda: self.metrics()), self.read("stderr"))
        self.end(process)
        self.check()

    def test_the_file_system_of_the_image_has_all_that_it_needs(self):
        self.need_root()
        self.need("busybox and binutils are not installed", "sh", "-c", "busybox true && strip --version && test -e /etc/ssl/certs/ca-certificates.crt")
        root = self.path("root")
        packaging = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "packaging", "monitor", "rootfs")
        made = subprocess.run([packaging, os.path.join(BUILD, "bin"), root], capture_output=True, text=True, timeout=60)
        self.assertEqual(made.returncode, 0, made.stderr)
        for name in ("proc", "dev"):
            os.mkdir(os.path.join(root, name))
        wrap = ["unshare", "-m", "sh", "-c", f'for name in proc dev; do /bin/mount --rbind /$name {root}/$name || exit 1; done; exec "$@"', "sh", "/usr/sbin/chroot", "--userspec=65534:65534", root]
        self.need("cannot bind /proc", *wrap, "/bin/sh", "-c", "exit 0")
        env = self.variables(TACHO_SPOOL_DIR=None, TMPDIR="/tmp", HOME="/tmp", PATH="/usr/bin:/bin", TACHO_MONITOR_FORM="image")
        with open(self.path("stderr"), "w", encoding="utf-8") as stderr:
            process = self.spawn("monitor", program="/usr/bin/tacho", wrap=wrap, env=env, stderr=stderr, stdout=subprocess.DEVNULL)
            self.assertTrue(until(lambda: self.metrics()), self.read("stderr"))
            self.end(process)
        metrics = self.check()
        self.assertEqual(metrics[-1]["event"], "final")
        self.assertEqual(self.cloud.rows("runtime")[0]["monitor_form"], "image")

    def test_secrets_stay_where_they_are(self):
        token = self.write("token", "ya29.very-secret-token", 0o600)
        self.cloud.fault({"status": 503})
        process = self.start("-v", "--access-token-file", token)
        time.sleep(1)
        pids = marked_pids(self.mark)
        for pid in pids:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                self.assertNotIn(b"very-secret", file.read())
        self.end(process)
        for folder, _, names in os.walk(self.spool):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    self.assertNotIn(b"very-secret", file.read(), name)
        self.assertNotIn("very-secret", self.read("stderr"))
        self.assertTrue(any("Bearer ya29.very-secret-token" == entry.get("headers", {}).get("Authorization", "Bearer ya29.very-secret-token") for entry in self.cloud.calls("")))

    def test_memory_and_cpu_are_small(self):
        if SANITIZED:
            self.skipTest("a sanitizer has its own memory")
        process = self.start()
        self.assertTrue(until(lambda: len(self.metrics()) >= 3))
        with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
            peak_kb = int(re.search(r"VmHWM:\s+(\d+)", file.read())[1])
        self.end(process)
        print(f"# agent VmHWM {peak_kb} KiB, self_rss_gb {self.metrics()[-1]['self_rss_gb']}, self_cpu_percent {self.metrics()[-2]['self_cpu_percent']}")
        self.assertLess(peak_kb, 6 * 1024)
