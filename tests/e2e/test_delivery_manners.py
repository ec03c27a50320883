"""What tacho-deliver leaves alone."""
import json
import os
import shutil
import signal
import time

from support import SANITIZED, until
from delivery_case import Delivery


class Manners(Delivery):
    def cpu_ticks(self, pid):
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rsplit(b")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    def test_small_asleep_and_apart(self):
        process = self.spawn("run", "-i", "0.1", "--upload-interval", "1", "--", "sleep", "30", env=self.env())
        self.assertTrue(until(lambda: len(self.service.s3.objects) >= 2))
        pid = self.deliverer()
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            status = dict(line.split(":", 1) for line in file.read().splitlines())
        if not SANITIZED:
            self.assertLess(int(status["VmHWM"].split()[0]), 16 * 1024, status["VmHWM"])
        self.assertEqual(os.getpriority(os.PRIO_PROCESS, pid), 10)
        self.assertEqual(os.getsid(pid), pid)
        self.assertNotEqual(os.getpgid(pid), os.getpgid(process.pid))
        with open(f"/proc/{process.pid}/maps", encoding="utf-8") as file:
            maps = file.read()
        self.assertNotIn("libcurl", maps)
        self.assertNotIn("libssl", maps)
        for name in os.listdir(f"/proc/{pid}/fd"):  # nothing of the job's is held open
            target = os.readlink(f"/proc/{pid}/fd/{name}")
            self.assertFalse(target.startswith("/dev/pts"), target)
        process.send_signal(signal.SIGTERM)
        process.wait(30)

    def test_idle_costs_nothing(self):
        process = self.spawn("run", "-i", "0.1", "--", "sleep", "30", env=self.env())
        self.assertTrue(until(self.service.runs))
        time.sleep(0.5)
        pid = self.deliverer()
        before = self.cpu_ticks(pid)
        time.sleep(2)
        self.assertLessEqual(self.cpu_ticks(pid) - before, 1)
        process.send_signal(signal.SIGTERM)
        process.wait(30)

    def test_outage_is_told_once(self):
        self.service.api_faults({"action": {"status": 503}})
        process = self.spawn("run", "-i", "0.1", "--upload-interval", "1", "--", "sleep", "6", env=self.env())
        time.sleep(5)
        self.service.api_faults()
        _, err = process.communicate(timeout=60)
        self.assertEqual(err.count("tried again"), 1, err)
        self.check()

    def test_stderr_is_not_held_open(self):
        """A caller that reads the job's output to its end is not kept waiting by the deliverer of a killed tacho."""
        self.service.api_faults({"action": {"delay_s": 5}})
        process = self.spawn("run", "-i", "0.1", "--", "sleep", "0.5", env=self.env(TACHO_FINISH_TIMEOUT="20"))
        self.assertTrue(until(self.deliverer))
        time.sleep(1)
        begun = time.monotonic()
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=20)
        self.assertLess(time.monotonic() - begun, 3)
        self.end_marked()

    def test_missing_certificates(self):
        env = {**self.env(TACHO_FINISH_TIMEOUT="3"), "SENTINEL_API_URL": "https://127.0.0.1:1", "SSL_CERT_FILE": self.path("no.pem")}
        done = self.tacho("run", "--", "true", env=env)
        self.assertEqual((done.rc, len(self.spools())), (0, 1), done)
        self.assertIn("no.pem", done.err)

    def test_hidden_fields_are_not_in_the_spool(self):
        self.service.api_faults({"action": {"status": 500}})
        done = self.tacho("run", "--hide", "private", "--job-name", "shown", "--", "true", "hidden-argument", env=self.env(TACHO_FINISH_TIMEOUT="1"))
        self.assertEqual(done.rc, 0, done)
        with open(os.path.join(self.spools()[0], "meta.json"), encoding="utf-8") as file:
            text = file.read()
        self.assertIn("shown", text)
        self.assertNotIn("hidden-argument", text)
        start = json.loads(text)["start"]
        self.assertEqual([key for key in start if key in ("host_id", "host_hostname", "host_ip", "command")], [])

    def test_hashed_host_id_is_all_that_is_written(self):
        self.service.api_faults({"action": {"status": 500}})
        os.makedirs(self.path("sys", "class", "dmi", "id"))
        self.write("sys/class/dmi/id/product_serial", "PLAIN-4711\n")
        env = {"TACHO_SYSFS_ROOT": self.path("sys"), "TACHO_FINISH_TIMEOUT": "0.5"}
        for hidden, more in ((False, {}), (True, {"TACHO_HOST_ID": "hash"})):
            with self.subTest(hidden=hidden):
                done = self.tacho("run", "--", "true", env=self.env(**env, **more))
                self.assertEqual(done.rc, 0, done)
                for path in (os.path.join(self.spools()[-1], "meta.json"), os.path.join(sorted(self.run_folders())[-1], "run.json")):
                    with open(path, encoding="utf-8") as file:
                        self.assertEqual("PLAIN-4711" not in file.read(), hidden, path)
                for folder in self.spools() + self.run_folders():
                    shutil.rmtree(folder)

    def test_bounded_spool_without_a_network(self):
        self.service.api_faults({"action": {"reset": "start"}})
        for _ in range(2):
            self.tacho("run", "--", "true", env=self.env(TACHO_FINISH_TIMEOUT="0.2"))
        kept = self.spools()
        self.assertEqual(len(kept), 2)
        done = self.tacho("run", "--", "sleep", "0.3", env=self.env(TACHO_FINISH_TIMEOUT="0.2", TACHO_SPOOL_MAX="1"))
        self.assertIn(kept[0], done.err)
        self.assertIn(kept[1], done.err)
        self.assertEqual(len(self.spools()), 1)

    def test_bounded_spool(self):
        self.service.api_faults({"action": {"status": 500}})
        for _ in range(3):
            self.tacho("run", "--", "true", env=self.env(TACHO_FINISH_TIMEOUT="0.5"))
        kept = self.spools()
        self.assertEqual(len(kept), 3)
        old = os.path.join(os.path.dirname(kept[0]), "20200101T000000Z-1-00000000")
        os.rename(kept[1], old)
        self.service.api_faults({"match": {"path": ".*/finish"}, "action": {"status": 500}})
        done = self.tacho("run", "--", "sleep", "1", env=self.env(TACHO_FINISH_TIMEOUT="0.5", TACHO_SPOOL_MAX="1"))
        self.assertEqual(done.rc, 0, done)
        self.assertIn(old, done.err)
        self.assertIn(kept[0], done.err)
        self.assertEqual(len(self.spools()), 1)
