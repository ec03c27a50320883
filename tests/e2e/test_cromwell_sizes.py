"""Sizes of the inputs' files, and the import of old monitoring logs."""
import glob
import json
import os
import threading
import time

from service import Running
import cromwell_double  # found through service.py
from cromwell_case import BATCH, COUNTS, FIXTURES, PAPI, Cromwell, fixture


class Sizes(Cromwell):
    def value(self, key):
        return next(entry.get("value") for row in self.rows() for entry in row.get("inputs", []) if entry["key"] == key)

    def test_each_path_is_asked_once(self):
        self.upload(PAPI, BATCH)
        self.assertEqual(sorted(entry["path"].partition("?")[0].rpartition("/")[2] for entry in self.asked("/storage/")),
                         ["a.bam", "hg38.fa", "none.csv", "t.csv"])

    def test_answers_that_leave_a_size_unknown(self):
        for status in (400, 403, 404, 410, 412):
            with self.subTest(status=status):
                self.double.config["workflows"]["w"] = {**fixture("batch.json"), "id": f"w{status}"}
                self.fault({"status": status}, "/storage/.*t.csv")
                self.upload("w")
                self.assertEqual([entry.get("value") for row in self.rows() if row["workflow_id"] == f"w{status}" for entry in row["inputs"] if entry["key"] == "table"],
                                 [None, None])

    def test_requester_pays(self):
        self.double.config["objects"]["data/t.csv"] = {"size": 1234, "requester_pays": True}
        self.upload(BATCH)
        self.assertIsNone(self.value("table"))
        self.double.config["workflows"]["w"] = {**fixture("batch.json"), "id": "w2"}
        self.upload("w", "--gcs-user-project", "me")
        self.assertEqual([entry.get("value") for row in self.rows() if row["workflow_id"] == "w2" for entry in row["inputs"] if entry["key"] == "table"],
                         ["0.000001234"] * 2)
        self.assertEqual([entry["path"] for entry in self.asked("userProject") if not entry["path"].endswith("userProject=me")], [])

    def test_temporary_faults_are_repeated(self):
        for action in ({"status": 503}, {"status": 429}, {"status": 408}, {"reset": "start"}, {"half_close": True}):
            with self.subTest(action=action):
                self.double.config["workflows"]["w"] = {**fixture("batch.json"), "id": "w" + "".join(str(v) for v in action.values())}
                self.fault(action, "/storage/.*t.csv", nth=1)
                self.upload("w")
                self.assertEqual(self.value("table"), "0.000001234")

    def test_no_answer_in_six_tries_is_counted_and_the_row_goes(self):
        self.fault({"status": 503}, "/storage/.*t.csv")
        done = self.upload(BATCH, rc=1)
        self.assertIn("2 sizes not to be had now", done.err)
        self.assertEqual(len(self.asked("t.csv")), 6)
        self.assertEqual(self.keys(), COUNTS)
        self.assertIsNone(self.value("table"))

    def test_five_hundred_in_flight(self):
        document = {"id": "many", "status": "Succeeded", "calls": {"w.t": [{"jes": {}, "executionStatus": "Done", "start": "2026-10-01T00:00:00Z",
                    "attempt": 1, "shardIndex": -1, "inputs": {"files": [f"gs://many/{i}" for i in range(1000)]}}]}}
        together = threading.Barrier(500)

        class Gathering(cromwell_double.Handler):
            def object(self, name, config):
                together.wait(60)  # nobody is answered before all of them have asked
                return super().object(name, config)

        server = Running(Gathering, self.double)
        self.addCleanup(server.close)
        self.double.config["workflows"]["many"] = document
        self.double.config["objects"].update({f"many/{i}": i for i in range(1000)})
        self.upload("many", env={"GCS_QUERY_THROTTLE": "500", "STORAGE_EMULATOR_HOST": server.url.removeprefix("http://")})
        values = {entry["key"]: entry["size_bytes"] for entry in self.rows()[0]["inputs"]}
        self.assertEqual(values, {f"files[{i}]": i for i in range(1000)})
        self.assertEqual(len(self.asked("/storage/")), 1000, "each was asked for once")


class Import(Cromwell):
    def logs(self):
        return sorted(glob.glob(os.path.join(FIXTURES, "logs", "**", "monitoring.log"), recursive=True))

    def test_both_formats_are_too_old_for_streaming(self):
        done = self.tacho("cromwell", "import", *self.logs(), "--ndjson", self.path("rows"), env=self.use())
        self.assertEqual(done.rc, 1, done)  # one date cannot be read
        self.assertIn("1 lines cannot be read", done.err)
        with open(self.path("rows"), encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        self.assertEqual([(row["task_call_name"], row["shard"], row["attempt"], row.get("cpu")) for row in rows],
                         [("bwa", 3, 2, 2.0), ("bwa", 3, 2, None), ("sort", -1, 1, 2.0), ("sort", -1, 1, 1.0)])
        self.assertEqual(rows[0], {"workflow_name": "align", "workflow_id": PAPI, "task_call_name": "bwa", "cpu_unit": "#", "mem_unit": "G", "disk_unit": "G",
                                   "shard": 3, "attempt": 2, "cpu": 2.0, "mem": 1.5, "disk": 5.0, "timestamp": "2018-10-01T10:00:00.000000Z"})
        self.assertEqual(self.cloud.double.log, [])

    def test_recent_logs_are_sent(self):
        day = time.strftime("%b %e %H:%M:%S UTC %Y", time.gmtime(time.time() - 86400))
        self.write("m.log", f"#CPU: 2\nTotal Memory: 4G\nTotal Disk space: 10G\nRuntime Information\n50 25 1G Mon {day}\n75 50 2G Mon {day}\n")
        done = self.tacho("cromwell", "import", self.path("m.log"), "--workflow-name", "w", "--workflow-id", "i", "--call", "c", "--shard", "4", env=self.use())
        self.assertEqual(done.rc, 0, done)
        row, second = self.cloud.rows("monitoring")  # of one second, and two rows
        self.assertEqual((row["cpu"], row["mem"], row["disk"], row["shard"], row["attempt"]), (1, 1, 1, 4, 1))
        self.assertEqual(second["disk"], 2)
        self.assertIsNone(self.cloud.table("monitoring").partition)

    def test_a_time_that_comes_back_is_another_record(self):
        """A clock that is set back, or the end of summer time: three records, not one and two of the same id. Twice imported they are the same."""
        day = lambda ago: time.strftime("Mon %b %e %H:%M:%S UTC %Y", time.gmtime(time.time() - 86400 - ago))
        begin = int(time.time())
        times = [day(0), day(3600), day(3590), day(0), day(0), day(7200), day(0)]
        lines = "".join(f"50 25 {number + 1}G {moment}\n" for number, moment in enumerate(times))
        self.write("m.log", "#CPU: 2\nTotal Memory: 4G\nTotal Disk space: 10G\nRuntime Information\n" + lines)
        self.assertLess(time.time() - begin, 60)
        words = ["cromwell", "import", self.path("m.log"), "--workflow-name", "w", "--workflow-id", "i", "--call", "c"]
        for _ in range(2):
            self.assertEqual(self.tacho(*words, env=self.use()).rc, 0)
        self.assertEqual([row["disk"] for row in self.cloud.rows("monitoring")], [1, 2, 3, 4, 5, 6, 7])
        self.assertEqual(self.cloud.table("monitoring").repeated, 7)
        self.clean()

    def test_from_storage(self):
        with open(self.logs()[1], encoding="utf-8") as file:
            self.double.config["objects"][f"b/x/align/{PAPI}/call-sort/monitoring.log"] = {"size": 1, "body": file.read()}
        done = self.tacho("cromwell", "import", f"gs://b/x/align/{PAPI}/call-sort/monitoring.log", "--dry-run", env=self.use())
        self.assertEqual(done.rc, 0, done)
        self.assertEqual(len(done.out.splitlines()), 2)
        done = self.tacho("cromwell", "import", f"gs://b/x/align/{PAPI}/call-none/monitoring.log", "--dry-run", env=self.use())
        self.assertEqual(done.rc, 1, done)
        self.assertIn("404", done.err)

    def test_bad_logs(self):
        self.write("empty.log", "")
        done = self.tacho("cromwell", "import", self.path("empty.log"), self.path("none.log"), "--dry-run", "--workflow-name", "w", "--workflow-id", "i", "--call", "c")
        self.assertEqual(done.rc, 1, done)
        self.assertIn("no record", done.err)
        self.assertIn("none.log", done.err)
        self.assertEqual(self.tacho("cromwell", "import").rc, 2)
        done = self.tacho("cromwell", "import", self.path("empty.log"), "--dry-run")
        self.assertIn("whose log", done.err)
