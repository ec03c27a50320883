"""Rows into BigQuery (cromwell-bigquery.md §1.10, §2): every case ends with the check that each row arrived once, or lies where it is said to."""
import fcntl
import glob
import json
import os
import subprocess
import time

from bigquery import TASK, Cloud, Spool, crc32c, metrics_record, runtime_record, service_account
from support import SANITIZED, TACHO, Case, until
import faults  # found through service.py

ROWS = 5


def column(name, kind, mode="NULLABLE", **more):
    return {"name": name, "type": kind, "mode": mode, **more}


# As the original tool makes it.
METRICS = [column("timestamp", "TIMESTAMP", "REQUIRED"), column("instance_id", "INTEGER", "REQUIRED"), column("cpu_used_percent", "FLOAT", "REPEATED"),
           column("mem_used_gb", "FLOAT", "REQUIRED"), column("disk_used_gb", "FLOAT", "REPEATED"), column("disk_read_iops", "FLOAT", "REPEATED"),
           column("disk_write_iops", "FLOAT", "REPEATED")]


class BigQuery(Case):
    weight = 2

    def setUp(self):
        super().setUp()
        self.cloud = Cloud()
        self.addCleanup(self.cloud.close)
        self.now_us = int(time.time() * 1e6) - 60_000_000

    def use(self, **config):
        self.cloud.close()
        self.cloud = Cloud(config)
        self.addCleanup(self.cloud.close)

    def spool(self, segments=None, name="20261115T140000Z-1-00000000", **meta):
        """A killed monitor's folder: a runtime row and ROWS metrics rows unless said otherwise."""
        if segments is None:
            segments = [[runtime_record(self.now_us)] + [metrics_record(self.now_us + i * 1_000_000, i) for i in range(ROWS)]]
        return Spool(self.path("spool", name), segments, **meta)

    def deliver(self, spool, rc=0, **env):
        done = self.tacho("deliver", spool.folder, env=self.cloud.environment(**env))
        self.assertEqual(done.rc, rc, done)
        self.assertEqual(os.path.exists(spool.folder), rc != 0, done)
        return done

    def check(self, rows=ROWS, runtime=1):
        """Everything arrived, once, in order; nothing was sent that a good client does not send."""
        metrics = self.cloud.rows("metrics")
        self.assertEqual([row.get("seq", i) for i, row in enumerate(metrics)], list(range(rows)))
        self.assertEqual(len(self.cloud.rows("runtime")), runtime)
        self.assertEqual(self.cloud.double.complaints, [])
        for table in self.cloud.double.tables.values():
            self.assertEqual(table.conflicts, [])

    def go(self, **more):
        done = self.deliver(self.spool(), **more)
        self.check()
        return done

    def kept(self, action, *words, path=".*/insertAll"):
        """Blocked: the rows stay, the message says why; when it is right again they arrive."""
        self.cloud.fault(action, path)
        spool = self.spool()
        done = self.deliver(spool, rc=1)
        for word in words:
            self.assertIn(word, done.err)
        self.cloud.faults()
        self.deliver(spool)
        self.check()

    def dead_letters(self):
        found = []
        for path in glob.glob(self.path("spool", "dead-letter", "*.jsonl")):
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
            with open(path, encoding="utf-8") as file:
                found += [json.loads(line) for line in file]
        return found


class Answers(BigQuery):
    """The rows of §2.4."""

    def test_done(self):
        self.go()
        runtime = self.cloud.rows("runtime")[0]
        self.assertEqual({name: runtime[name] for name in TASK}, TASK)
        # Beyond 2^53 an INTEGER goes as text.
        self.assertEqual((runtime["instance_id"], runtime["zone"], runtime["preemptible"]), ("1234567890123456789", "europe-west4-a", False))
        ids = self.cloud.table("metrics").ids
        self.assertTrue(all(name.startswith("m-1234567890123456789-") and len(name.split("-")[2]) == 32 for name in ids), ids)
        self.assertEqual(sorted(int(name.rsplit("-", 1)[1]) for name in ids), [self.now_us + i * 1_000_000 for i in range(ROWS)])

    def test_answer_cut_off_or_no_json(self):
        for action in ({"half_close": True}, {"status": 200, "body": "<html>"}, {"status": 200, "body": ""}, {"reset": "answer"}):
            with self.subTest(action):
                self.use()
                self.cloud.fault(action, ".*/metrics/insertAll", nth=1)
                self.deliver(self.spool())
                self.check()
                self.assertEqual(len(self.cloud.calls("metrics/insertAll")), 2)

    def test_one_invalid_row_stops_the_others(self):
        bad = [metrics_record(self.now_us + i * 1_000_000, i, **({"mem_used_gb": "much"} if i == 2 else {})) for i in range(ROWS)]
        done = self.deliver(self.spool([[runtime_record(self.now_us)] + bad]))
        self.assertEqual([row["seq"] for row in self.cloud.rows("metrics")], [0, 1, 3, 4])
        self.assertEqual(len(self.cloud.calls("metrics/insertAll")), 2)
        letter, = self.dead_letters()
        self.assertEqual((letter["location"], letter["reason"], letter["table"], letter["row"]["seq"]), ("mem_used_gb", "invalid", "metrics", 2))
        self.assertIn("dead-letter", done.err)

    def test_some_rows_again(self):
        for reason in ("timeout", "backendError", "internalError"):
            with self.subTest(reason):
                self.use()
                self.cloud.fault({"do": {"rows": [{"index": 1, "reason": reason}, {"index": 3, "reason": reason}]}}, ".*/metrics/insertAll", nth=1)
                self.deliver(self.spool())
                self.assertEqual(sorted(row["seq"] for row in self.cloud.rows("metrics")), list(range(ROWS)))
                self.assertEqual(self.cloud.table("metrics").repeated, 0)

    def test_all_stopped_is_halved_after_one_retry(self):
        self.cloud.fault({"do": {"stopped": True}}, ".*/metrics/insertAll", nth=[1, 2])
        self.deliver(self.spool())
        self.check()
        self.assertEqual(len(self.cloud.calls("metrics/insertAll")), 4)  # 5 5 2 3

    def test_too_large(self):
        for action in ({"status": 400, "code": "invalid", "message": "Request payload size exceeds the limit: 10485760 bytes."}, {"status": 413, "body": ""}):
            with self.subTest(action):
                self.use()
                self.cloud.fault(action, ".*/metrics/insertAll", nth=1)
                self.deliver(self.spool())
                self.check()
        self.use(max_rows=2)
        self.deliver(self.spool())
        self.check()

    def test_bad_request_is_halved_down_to_the_row(self):
        self.cloud.fault({"status": 400, "code": "badRequest", "message": "no"}, ".*/metrics/insertAll", to=4)
        self.deliver(self.spool())  # 5, 2, 1: dropped; then 1: dropped
        self.assertEqual(len(self.dead_letters()), 2)
        self.assertEqual([row["seq"] for row in self.cloud.rows("metrics")], [2, 3, 4])

    def test_401_once(self):
        self.use(auth=True, metadata={"token": True})
        self.cloud.fault({"status": 401, "code": "authError"}, ".*/insertAll", nth=1)
        self.go(GCE_METADATA_HOST=self.cloud.host, TACHO_NO_CLOUD=None)
        self.assertEqual(len(self.cloud.calls("default/token")), 2)

    def test_401_twice_is_blocked(self):
        self.use(auth=True, metadata={"token": True})
        self.cloud.fault({"status": 401, "code": "authError"})
        spool, env = self.spool(), {"GCE_METADATA_HOST": self.cloud.host, "TACHO_NO_CLOUD": None}
        self.assertIn("credentials", self.deliver(spool, rc=1, **env).err)
        self.cloud.faults()
        self.deliver(spool, **env)
        self.check()

    def test_again_later(self):
        temporary = [{"status": 403, "code": "rateLimitExceeded"}, {"status": 429, "body": ""}, {"status": 408, "body": ""}]
        temporary += [{"status": status, "body": body} for status, body in ((500, ""), (502, "<html>bad gateway</html>"), (503, "{"), (504, ""))]
        temporary += [{"status": 400, "code": "backendError"}, {"status": 500, "code": "internalError"}, {"status": 404, "code": "tableUnavailable"}]
        temporary += [{"reset": "start"}, {"reset": "body"}, {"status": 503, "extra": {"status": "UNAVAILABLE"}, "body": "{}"}]
        self.cloud.faults(*({"match": {"path": ".*/metrics/insertAll", "nth": n + 1}, "action": action} for n, action in enumerate(temporary[:4])))
        self.go()
        for action in temporary[4:]:
            with self.subTest(action):
                self.use()
                self.cloud.fault(action, ".*/metrics/insertAll", nth=1)
                self.deliver(self.spool())
                self.check()
                self.assertEqual(len(self.cloud.calls("metrics/insertAll")), 2)

    def test_retry_after_wins(self):
        self.cloud.fault({"status": 503, "body": "", "headers": {"Retry-After": "2"}}, ".*/metrics/insertAll", nth=1)
        self.go()
        first, second = (entry["time"] for entry in self.cloud.calls("metrics/insertAll"))
        self.assertGreater(second - first, 1.9)

    def test_quota(self):
        self.cloud.fault({"status": 403, "code": "quotaExceeded", "message": "used up"}, ".*/metrics/insertAll", nth=1)
        self.assertIn("quota", self.go().err)

    def test_denied(self):
        self.kept({"status": 403, "code": "accessDenied", "message": "Access Denied"}, "Access Denied")

    def test_billing(self):
        self.kept({"status": 403, "code": "billingNotEnabled", "message": "Streaming insert is not allowed in the free tier"}, "free tier")

    def test_403_without_json(self):
        self.kept({"status": 403, "body": "<html>policy</html>"}, "403")

    def test_404_after_create(self):
        self.use(table_lag_s=1.5)
        self.go()

    def test_404_while_the_table_is_there(self):
        self.cloud.make_tables({"metrics": METRICS})
        self.cloud.fault({"status": 404, "code": "notFound"}, ".*/metrics/insertAll", nth=[1, 2])
        self.go()

    def test_404_makes_the_table_again(self):
        self.cloud.make_tables({"metrics": METRICS})
        self.cloud.faults({"match": {"path": ".*/metrics/insertAll", "nth": 1}, "action": {"status": 404, "code": "notFound"}},
                          {"match": {"path": ".*/tables/metrics", "nth": 2}, "action": {"status": 404, "code": "notFound"}})
        self.go()
        self.assertEqual(len(self.cloud.calls("/tables", "POST")), 2)

    def test_404_and_create_not_allowed(self):
        spool = self.spool(destination={"create": "never"})
        self.assertIn("bq init", self.deliver(spool, rc=1).err)
        self.assertEqual(self.cloud.calls("/tables", "POST"), [])

    def test_409_somebody_was_faster(self):
        self.cloud.make_tables({"metrics": METRICS})
        self.cloud.fault({"status": 404, "code": "notFound"}, ".*/tables/metrics", nth=1)
        self.go()

    def test_other_statuses_drop_the_batch(self):
        for status in (418, 451, 501, 505):
            with self.subTest(status):
                self.use()
                self.cloud.fault({"status": status, "body": ""}, ".*/metrics/insertAll")
                self.deliver(self.spool(name=f"20261115T140000Z-1-{status:08}"))
                self.assertEqual(self.cloud.rows("metrics"), [])
        self.assertEqual(len(self.dead_letters()), 4 * ROWS)

    def test_redirect_elsewhere(self):
        other = Cloud()
        self.addCleanup(other.close)
        self.use(auth=True, metadata={"token": True})
        self.cloud.fault({"status": 307, "body": "", "headers": {"Location": other.server.url + "/bigquery/v2/x"}}, "/bigquery/.*")
        spool, env = self.spool(), {"GCE_METADATA_HOST": self.cloud.host, "TACHO_NO_CLOUD": None}
        self.deliver(spool, rc=1, **env)
        self.assertEqual(other.double.log, [])

    def test_refused_connection(self):
        spool = self.spool()
        self.cloud.close()
        process = self.spawn("deliver", spool.folder, env=self.cloud.environment())
        time.sleep(1)
        self.assertIsNone(process.poll())  # it goes on trying
        process.terminate()
        process.wait(10)
        self.assertTrue(os.path.exists(spool.folder))


class Tables(BigQuery):
    """§1.10 and §2.5: tables that are there, and tables that are not."""

    def test_makes_what_is_missing(self):
        self.deliver(self.spool(destination={"location": "EU"}))
        self.assertEqual(self.cloud.double.datasets[Cloud.project, Cloud.dataset]["location"], "EU")
        table = self.cloud.table("metrics")
        self.assertEqual(table.fields[:len(METRICS)], METRICS)
        self.assertEqual((table.partition, table.filtered), ("timestamp", True))
        # Two readings in a row before the first row.
        order = [entry["method"] + " " + entry["path"].partition("?")[0].rsplit("/tables", 1)[1] for entry in self.cloud.double.log
                 if "/tables" in entry["path"] and "runtime" not in entry["path"]]
        self.assertEqual(order[-3:], ["GET /metrics", "GET /metrics", "POST /metrics/insertAll"])

    def test_runtime_row_goes_twice_into_a_new_table(self):
        segments = [[runtime_record(self.now_us), metrics_record(self.now_us, 0)], [metrics_record(self.now_us + 1_000_000, 1)]]
        self.deliver(self.spool(segments))
        self.check(rows=2)
        self.assertEqual((self.cloud.table("runtime").repeated, self.cloud.table("runtime").conflicts), (1, []))
        self.use()
        self.cloud.make_tables({"runtime": [column("start_time", "TIMESTAMP", "REQUIRED")]})
        self.deliver(self.spool(segments))
        self.assertEqual(self.cloud.table("runtime").repeated, 0)

    def test_the_original_table_is_taken_as_it_is(self):
        self.cloud.make_tables({"metrics": METRICS})
        done = self.go()
        self.assertEqual(self.cloud.table("metrics").fields, METRICS)
        self.assertEqual(set(self.cloud.rows("metrics")[0]), {field["name"] for field in METRICS})
        self.assertIn("--bq-add-columns", done.err)

    def test_other_case_other_types(self):
        fields = [column("Timestamp", "TIMESTAMP"), column("INSTANCE_ID", "INT64"), column("mem_used_gb", "FLOAT64"), column("seq", "STRING"),
                  column("disk_used_gb", "FLOAT"), column("extra", "STRING")]
        self.cloud.make_tables({"metrics": fields})
        self.go()
        self.assertEqual(set(self.cloud.rows("metrics")[0]), {"Timestamp", "INSTANCE_ID", "mem_used_gb"})

    def test_placeholders(self):
        fields = METRICS + [column("top_process", "STRING", "REQUIRED"), column("load1", "FLOAT", "REQUIRED"), column("proc_count", "INTEGER", "REQUIRED")]
        self.cloud.make_tables({"metrics": fields})
        self.go()
        row = self.cloud.rows("metrics")[0]
        self.assertEqual((row["top_process"], row["load1"], row["proc_count"]), ("", 0, 0))

    def test_required_column_that_is_not_ours(self):
        self.cloud.make_tables({"metrics": METRICS + [column("owner", "STRING", "REQUIRED")]})
        done = self.deliver(self.spool(), rc=1)
        self.assertIn("owner", done.err)
        self.assertEqual(len(self.cloud.rows("runtime")), 1)  # the other table is not held up

    def test_required_column_of_another_type(self):
        self.cloud.make_tables({"metrics": [field if field["name"] != "mem_used_gb" else column("mem_used_gb", "STRING", "REQUIRED") for field in METRICS]})
        self.assertIn("mem_used_gb", self.deliver(self.spool(), rc=1).err)

    def add(self, rc=0, segments=None, **env):
        return self.deliver(self.spool(segments, destination={"add_columns": True}), rc, **env)

    def test_adds_columns(self):
        self.cloud.make_tables({"metrics": METRICS})
        self.add()
        self.check()
        fields = self.cloud.table("metrics").fields
        self.assertEqual(fields[:len(METRICS)], METRICS)
        self.assertIn(column("seq", "INTEGER"), fields)
        # They are not used yet: streaming learns of them later.
        self.assertEqual(set(self.cloud.rows("metrics")[0]), {field["name"] for field in METRICS})

    def test_added_columns_are_used_after_a_while(self):
        self.cloud.make_tables({"metrics": METRICS})
        self.add(TACHO_BQ_COLUMN_WAIT="10ms")
        self.deliver(self.spool([[metrics_record(self.now_us + 9_000_000, 9)]]))
        self.assertEqual(self.cloud.rows("metrics")[-1]["seq"], 9)

    def test_streaming_does_not_know_them_yet(self):
        self.use(column_lag_s=60)
        self.cloud.make_tables({"metrics": METRICS})
        self.add()
        # A second monitor reads the new schema, but the streaming side refuses it: the rows go without.
        self.deliver(self.spool([[metrics_record(self.now_us + 9_000_000, 9)]]))
        self.assertEqual(len(self.cloud.rows("metrics")), ROWS + 1)
        self.assertNotIn("seq", self.cloud.rows("metrics")[-1])
        self.assertEqual(self.dead_letters(), [])

    def test_several_add_at_once(self):
        self.cloud.make_tables({"metrics": METRICS})
        self.cloud.fault({"status": 412, "code": "conditionNotMet"}, ".*/tables/metrics", nth=[2, 4])
        self.add()
        self.check()
        self.assertEqual(len(self.cloud.calls("tables/metrics", "PATCH")), 3)

    def test_adding_is_refused(self):
        for action in ({"status": 403, "code": "accessDenied"}, {"status": 400, "code": "invalid", "message": "Cannot add required fields"}):
            with self.subTest(action):
                self.use()
                self.cloud.make_tables({"metrics": METRICS})
                self.cloud.faults({"match": {"path": ".*/tables/metrics", "method": "PATCH"}, "action": action})
                self.assertIn("left out", self.add().err)
                self.check()

    def test_rows_that_are_too_old_wait_for_a_load_job(self):
        old_us = self.now_us - 1900 * 86400 * 1_000_000
        self.deliver(self.spool([[metrics_record(old_us, 0), metrics_record(self.now_us, 1)]]))
        self.assertEqual([row["seq"] for row in self.cloud.rows("metrics")], [1])
        path, = glob.glob(self.path("spool", "load", "*.metrics.ndjson"))
        with open(path, encoding="utf-8") as file:
            self.assertEqual(json.loads(file.read())["seq"], 0)

    def test_limits_of_a_request(self):
        segments = [[metrics_record(self.now_us + i, i, top_process="x" * 3000) for i in range(1200)]]
        self.deliver(self.spool(segments))
        self.check(rows=1200, runtime=0)
        sizes = [entry["body_bytes"] for entry in self.cloud.calls("metrics/insertAll")]
        self.assertGreaterEqual(len(sizes), 3)
        self.assertLess(max(sizes), 9 << 20)

    def test_a_row_that_is_too_large_is_trimmed(self):
        self.deliver(self.spool([[metrics_record(self.now_us, 0, top_process="é" * 2_600_000)]]))
        row, = self.cloud.rows("metrics")
        self.assertLess(len(row["top_process"].encode()), 5_000_000)
        self.assertEqual((row["seq"], set(row["top_process"])), (0, {"é"}))

    def test_compressed_both_ways(self):
        self.use(gzip_answers=True)
        self.go(TACHO_BQ_GZIP="1")
        self.assertTrue(any(entry["headers"].get("content-encoding") == "gzip" for entry in self.cloud.calls("insertAll")))


class Spooled(BigQuery):
    """Killed at any moment, sent once."""

    def test_torn_tail_and_damage(self):
        spool = self.spool(open_tail=metrics_record(self.now_us + 5_000_000, 5) + metrics_record(self.now_us + 6_000_000, 6)[:-9])
        self.assertIn("cut off", self.deliver(spool).err)
        self.check(rows=ROWS + 1)

    def test_damaged_segment(self):
        spool = self.spool()
        path = os.path.join(spool.folder, "000000.rec")
        with open(path, "r+b") as file:
            data = file.read()
            at = data.index(b'"seq":3')
            file.seek(at)
            file.write(b'"sEq":3')
        self.assertIn("damaged", self.deliver(spool).err)
        self.assertEqual([row["seq"] for row in self.cloud.rows("metrics")], [0, 1, 2, 4])

    def acknowledged(self, spool):
        try:
            with open(os.path.join(spool.folder, "state.json"), encoding="utf-8") as file:
                return json.load(file)["rows_sent"]
        except FileNotFoundError:
            return 0

    def test_killed_while_sending(self):
        """The ids stay the same, also when the machine's answers change in between."""
        self.use(metadata={"instance/id": "77", "instance/hostname": "vm-77.c.project.internal", "instance/zone": "projects/1/zones/europe-west4-a"})
        env = {"GCE_METADATA_HOST": self.cloud.host, "TACHO_NO_CLOUD": None}
        spool = self.spool(given={}, destination={"batch_rows": 2})
        self.cloud.fault({"delay_s": 20}, ".*/metrics/insertAll", nth=2)
        process = self.spawn("deliver", spool.folder, env=self.cloud.environment(**env))
        self.assertTrue(until(lambda: self.acknowledged(spool) == 3, 20))
        process.kill()
        process.wait()
        self.cloud.faults()
        self.cloud.double.google.change({"instance/id": "88"})
        self.deliver(spool, **env)
        self.check()
        self.assertEqual({row["instance_id"] for row in self.cloud.rows("metrics")}, {77})
        self.assertEqual(self.cloud.rows("runtime")[0]["instance_name"], "vm-77")
        sent = [entry["body_bytes"] for entry in self.cloud.calls("metrics/insertAll")]
        self.assertEqual(len(sent), 3)  # 2, one that was killed and is not in the log, 2, 1: what was acknowledged is not sent again

    def test_an_answer_that_got_lost_in_a_kill(self):
        spool = self.spool()
        self.cloud.fault({"reset": "answer"}, ".*/metrics/insertAll")
        process = self.spawn("deliver", spool.folder, env=self.cloud.environment())
        self.assertTrue(until(lambda: len(self.cloud.rows("metrics")) == ROWS, 20))
        process.kill()
        process.wait()
        self.cloud.faults()
        self.deliver(spool)
        self.check()
        self.assertGreaterEqual(self.cloud.table("metrics").repeated, ROWS)

    def test_rejected_rows_are_written_down_once(self):
        spool = self.spool([[metrics_record(self.now_us, 0, mem_used_gb="much")], [metrics_record(self.now_us + 1, 1)]])
        self.cloud.fault({"delay_s": 20}, ".*/metrics/insertAll", nth=2)
        process = self.spawn("deliver", spool.folder, env=self.cloud.environment())
        self.assertTrue(until(lambda: len(self.cloud.calls("metrics/insertAll")) >= 1 and self.dead_letters(), 20))
        process.kill()
        process.wait()
        self.cloud.faults()
        self.deliver(spool)
        self.assertEqual(len(self.dead_letters()), 1)
        self.assertEqual([row["seq"] for row in self.cloud.rows("metrics")], [1])


class Beside(BigQuery):
    """tacho-deliver beside a monitor that lives: what it says, how it sleeps, how it ends."""

    def beside(self, spool, **env):
        read, write = os.pipe()
        lock = os.open(os.path.join(spool.folder, "lock"), os.O_RDWR)
        fcntl.flock(lock, fcntl.LOCK_EX)

        def descriptors():
            os.dup2(read, 3)
            os.dup2(lock, 4)
        process = self.spawn("--spool-run", spool.folder, program=os.path.join(os.path.dirname(TACHO), "tacho-deliver"), env=self.cloud.environment(**env),
                             preexec_fn=descriptors, close_fds=False)
        for fd in (read, lock):
            os.close(fd)
        self.control = os.fdopen(write, "wb", buffering=0)
        self.addCleanup(self.control.close)
        self.control.write(b"T\n")
        return process

    def test_preemption_is_told_at_once(self):
        self.use(metadata={**Identity.METADATA, "instance/preempted": "FALSE"})
        spool = self.spool(given={}, ended=False)
        process = self.beside(spool, GCE_METADATA_HOST=self.cloud.host, TACHO_NO_CLOUD=None)
        self.assertTrue(until(lambda: len(self.cloud.rows("metrics")) == ROWS and self.cloud.calls("preempted"), 20))
        self.cloud.double.google.change({"instance/preempted": "TRUE"})
        self.assertEqual(process.stderr.readline(), "@preempted\n")
        self.assertEqual(len(self.cloud.calls("preempted")), 2)  # one open request, answered by the change
        self.control.write(b"E5000\n")
        self.assertEqual(process.wait(20), 0)
        self.assertFalse(os.path.exists(spool.folder))

    def test_no_watch_where_nothing_can_be_taken_away(self):
        self.use(metadata={**Identity.METADATA, "instance/preempted": "FALSE", "instance/scheduling/preemptible": "FALSE"})
        process = self.beside(self.spool(given={}, ended=False), GCE_METADATA_HOST=self.cloud.host, TACHO_NO_CLOUD=None)
        self.assertTrue(until(lambda: len(self.cloud.rows("metrics")) == ROWS, 20))
        self.control.write(b"E5000\n")
        self.assertEqual(process.wait(20), 0)
        self.assertEqual(self.cloud.calls("preempted"), [])

    def test_sleeps_between_reports_and_is_small(self):
        process = self.beside(self.spool(ended=False))
        self.assertTrue(until(lambda: len(self.cloud.rows("metrics")) == ROWS and self.acknowledged_all(), 20))

        def status(*names):
            with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
                return sum(int(line.split()[1]) for line in file if line.startswith(names))
        time.sleep(0.3)
        before = status("voluntary_ctxt_switches")
        time.sleep(3)
        self.assertEqual(status("voluntary_ctxt_switches"), before, "it woke up")
        if not SANITIZED:
            print(f"tacho-deliver: VmHWM {status('VmHWM')} kB")
            self.assertLess(status("VmHWM"), 16 * 1024)

    def acknowledged_all(self):
        return not glob.glob(self.path("spool", "2*", "*.rec"))

    def test_ends_in_time_with_a_black_hole(self):
        self.cloud.fault({"delay_s": 30}, "/bigquery/.*")
        spool = self.spool(ended=False)
        process = self.beside(spool)
        time.sleep(0.5)
        begun = time.monotonic()
        self.control.write(b"E3000\n")
        process.wait(30)
        self.assertLess(time.monotonic() - begun, 12)
        self.assertTrue(os.path.exists(spool.folder))

    def test_new_segments_are_sent_when_told(self):
        spool = self.spool(ended=False)
        process = self.beside(spool)
        self.assertTrue(until(lambda: len(self.cloud.rows("metrics")) == ROWS, 20))
        text = metrics_record(self.now_us + 10_000_000, ROWS)
        spool.write("000001.rec", text)
        with open(os.path.join(spool.folder, "seals"), "ab") as file:
            file.write(b"%06d %d %d %08x\n" % (1, len(text), 1, crc32c(text)))
        self.control.write(b"S\n")
        self.assertTrue(until(lambda: len(self.cloud.rows("metrics")) == ROWS + 1, 20))
        self.control.close()  # the agent was killed
        self.assertEqual(process.wait(30), 0)
        self.check(rows=ROWS + 1)


class Certificates(BigQuery):
    def test_not_trusted(self):
        """Blocked, and nothing is sent; with the right CA it goes on."""
        key, certificate = self.path("key.pem"), self.path("cert.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=DNS:localhost"], check=True, capture_output=True)
        server = self.cloud.server.server
        server.socket = faults.tls_context(certificate, key).wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        endpoint = f"https://localhost:{server.server_address[1]}"
        spool = self.spool(destination={"endpoint": endpoint})
        self.assertIn("certificate", self.deliver(spool, rc=1).err)
        self.assertEqual(self.cloud.double.log, [])
        self.deliver(spool, SSL_CERT_FILE=certificate)
        self.check()


class Identity(BigQuery):
    METADATA = {"instance/id": "77", "instance/hostname": "vm-77.c.project.internal", "instance/zone": "projects/1/zones/europe-west4-a", "instance/cpu-platform": "Intel X",
                "instance/scheduling/preemptible": "TRUE", "instance/machine-type": "projects/1/machineTypes/n1-standard-1", "project/project-id": "project"}

    def runtime(self, **more):
        self.deliver(self.spool(given={}, fallback={"instance_id": 5, "instance_name": "local", "cpu_platform": "model"}, **more),
                     GCE_METADATA_HOST=self.cloud.host, TACHO_NO_CLOUD=None)
        return self.cloud.rows("runtime")[0]

    def test_metadata_server(self):
        self.use(metadata=self.METADATA)
        row = self.runtime()
        self.assertEqual([row[name] for name in ("instance_id", "instance_name", "zone", "cpu_platform", "preemptible", "machine_type", "project_id")],
                         [77, "vm-77", "europe-west4-a", "Intel X", True, "n1-standard-1", "project"])

    def test_fallback_and_placeholders(self):
        row = self.runtime()  # the server refuses (403)
        self.assertEqual([row[name] for name in ("instance_id", "instance_name", "zone", "cpu_platform", "preemptible", "project_id")],
                         [5, "local", "", "model", False, "project"])

    def test_server_of_somebody_else(self):
        self.use(metadata=self.METADATA, flavor="Moogle")
        self.assertEqual(self.runtime()["instance_id"], 5)
        self.assertEqual(len(self.cloud.calls("", "GET")), len([entry for entry in self.cloud.double.log if entry["method"] == "GET"]))

    def test_server_that_fails_now_and_then(self):
        self.use(metadata=self.METADATA)
        self.cloud.fault({"status": 503, "body": ""}, ".*/instance/id", to=3)
        self.assertEqual(self.runtime()["instance_id"], 77)

    def test_dead_server_is_asked_once(self):
        spool = self.spool(given={}, fallback={"instance_id": 5})
        begun = time.monotonic()
        self.deliver(spool, GCE_METADATA_HOST="127.0.0.1:1", TACHO_NO_CLOUD=None)
        self.assertEqual(self.cloud.rows("metrics")[0]["instance_id"], 5)
        self.assertLess(time.monotonic() - begun, 20)


class Credentials(BigQuery):
    """§2.7."""

    def setUp(self):
        super().setUp()
        self.use(auth=True)
        self.key = self.path("key.json")

    def account(self, token_uri=None, **more):
        self.cloud.double.config["accounts"] = service_account(self.key, token_uri or self.cloud.server.url + "/token", **more)

    def check_secrets(self, done, *secrets):
        for secret in secrets + tuple(self.cloud.double.google.tokens):
            self.assertNotIn(secret, done.out + done.err)

    def test_service_account(self):
        self.account()
        done = self.go(GOOGLE_APPLICATION_CREDENTIALS=self.key)
        self.assertEqual(self.cloud.double.google.complaints, [])
        self.check_secrets(done, "PRIVATE KEY")
        self.assertEqual(len(self.cloud.calls("/token", "POST")), 1)

    def test_flag_comes_first(self):
        self.account()
        self.write("other.json", "{}")
        self.deliver(self.spool(google={"credentials": self.key}), GOOGLE_APPLICATION_CREDENTIALS=self.path("other.json"))
        self.check()

    def test_token_uri_of_the_flag(self):
        self.account(token_uri="http://127.0.0.1:1/token")
        self.deliver(self.spool(google={"credentials": self.key, "token_uri": self.cloud.server.url + "/token"}))
        self.check()

    def test_gcloud_login(self):
        self.cloud.double.config["users"] = {"1//refresh": {"client_id": "id", "client_secret": "secret-of-the-client"}}
        os.makedirs(self.path(".config", "gcloud"))
        self.write(".config/gcloud/application_default_credentials.json", json.dumps(
            {"type": "authorized_user", "client_id": "id", "client_secret": "secret-of-the-client", "refresh_token": "1//refresh", "quota_project_id": "project",
             "token_uri": self.cloud.server.url + "/token"}))
        self.check_secrets(self.go(), "secret-of-the-client", "1//refresh")

    def test_access_token_file(self):
        token = json.loads(self.cloud.double.google.give("test", ["https://www.googleapis.com/auth/bigquery"]).body)["access_token"]
        self.deliver(self.spool(google={"access_token_file": self.write("token", token + "\n")}))
        self.check()

    def test_metadata_server_is_last(self):
        self.cloud.double.config["metadata"] = {"token": True}
        self.go(GCE_METADATA_HOST=self.cloud.host, TACHO_NO_CLOUD=None)
        self.assertIn("auth%2Fbigquery", self.cloud.calls("default/token")[0]["path"])

    def test_kinds_that_are_not_supported(self):
        self.cloud.double.config["metadata"] = {"token": True}
        self.write("key.json", json.dumps({"type": "external_account", "audience": "x"}))
        done = self.go(GOOGLE_APPLICATION_CREDENTIALS=self.key, GCE_METADATA_HOST=self.cloud.host, TACHO_NO_CLOUD=None)
        self.assertIn("external_account", done.err)

    def test_wrong_files(self):
        for text, word in (("nonsense", "credentials"), (json.dumps({"type": "service_account"}), "private_key"),
                           (json.dumps({"type": "service_account", "client_email": "x@y", "private_key": "no key", "token_uri": self.cloud.server.url + "/token"}), "private key")):
            with self.subTest(word):
                self.write("key.json", text)
                self.assertIn(word, self.deliver(self.spool(name=f"20261115T140000Z-1-{len(text):08}"), rc=1, GOOGLE_APPLICATION_CREDENTIALS=self.key).err)

    def test_refused_by_the_token_server(self):
        self.account()
        self.cloud.double.config["accounts"] = {}
        self.assertIn("refused", self.deliver(self.spool(), rc=1, GOOGLE_APPLICATION_CREDENTIALS=self.key).err)

    def test_token_server_fails_now_and_then(self):
        self.account()
        self.cloud.fault({"status": 503, "body": ""}, "/token", nth=1)
        self.go(GOOGLE_APPLICATION_CREDENTIALS=self.key)

    def test_no_credentials_at_all(self):
        self.assertIn("credentials", self.deliver(self.spool(), rc=1).err)


class Runs(BigQuery):
    """-o bq:// and tacho bq init."""

    def test_run(self):
        done = self.tacho("run", "-i", "0.1", "--upload-interval", "1", "-n", "job", "-o", "bq://project.data", "--", "sleep", "2.3", env=self.cloud.environment())
        self.assertEqual(done.rc, 0, done)
        run, table = self.the_run()
        self.cloud.dataset = "data"
        rows = self.cloud.rows("samples")
        self.assertEqual([row["seq"] for row in rows], list(range(len(table.rows))))
        self.assertEqual({(row["run_id"], row["job_name"]) for row in rows}, {(run["id"], "job")})
        for row, line in zip(rows, table.rows):
            for name, text in line.items():
                if name != "timestamp":
                    self.assertEqual(text == "", name not in row, name)
                    self.assertTrue(text == "" or float(text) == row[name], (name, text, row.get(name)))
        kinds = {field["name"]: field["type"] for field in self.cloud.table("samples").fields}
        self.assertEqual((kinds["process_pid"], kinds["process_cpu_usage"], kinds["timestamp"]), ("INTEGER", "FLOAT", "TIMESTAMP"))
        self.assertEqual(glob.glob(self.path("state", "tacho", "spool", "2*")), [])

    def test_bigquery_is_down_until_later(self):
        self.cloud.fault({"status": 503, "body": ""}, "/bigquery/.*")
        done = self.tacho("run", "-i", "0.1", "-o", "bq://project.data.mine", "--", "sh", "-c", "exit 3", env=self.cloud.environment(TACHO_FINISH_TIMEOUT="2"))
        self.assertEqual(done.rc, 3, done)
        folder, = glob.glob(self.path("state", "tacho", "spool", "2*"))
        self.assertIn(folder, done.err)
        self.cloud.faults()
        self.assertEqual(self.tacho("deliver", "--all", env=self.cloud.environment()).rc, 0)
        self.cloud.dataset = "data"
        self.assertEqual(len(self.cloud.rows("mine")), len(self.the_run()[1].rows))

    def test_leftovers_go_with_the_next_start(self):
        spool = Spool(self.path("state", "tacho", "spool", "20261115T140000Z-1-00000000"), [[metrics_record(self.now_us, 0)]])
        done = self.tacho("run", "-i", "0.1", "-o", "bq://project.data", "--", "sleep", "1", env=self.cloud.environment())
        self.assertEqual(done.rc, 0, done)
        self.assertFalse(os.path.exists(spool.folder))
        self.assertEqual(len(self.cloud.rows("metrics")), 1)

    def test_wrong_destinations(self):
        for uri in ("bq://project", "bq://", "bq://project.a-b", "bq://p.d.t?what=1", "bq://p q.d"):
            with self.subTest(uri):
                self.refused(self.tacho("run", "-o", uri, "--", "true"), "bq://" if "?" not in uri else "what=1")

    def test_init(self):
        words = ("bq", "init", "--project", "project", "--dataset", Cloud.dataset, "--location", "EU")
        done = self.tacho(*words, env=self.cloud.environment())
        self.assertEqual(done.rc, 0, done)
        self.assertEqual(done.out.count(" made"), 3)
        self.assertEqual(self.cloud.table("metadata").partition, "start_time")
        inputs, = [field for field in self.cloud.table("metadata").fields if field["name"] == "inputs"]
        self.assertEqual([field["name"] for field in inputs["fields"]], ["key", "type", "value", "size_bytes"])
        done = self.tacho(*words, env=self.cloud.environment())
        self.assertEqual((done.rc, done.out.count("is there")), (0, 3), done)

    def test_init_dry_run(self):
        done = self.tacho("bq", "init", "--dry-run")
        self.assertEqual(done.rc, 0, done)
        tables = json.loads(done.out)
        self.assertEqual(tables["metrics"]["schema"]["fields"][:len(METRICS)], METRICS)
        self.assertEqual(list(tables), ["runtime", "metrics", "metadata"])

    def test_init_adds_columns(self):
        self.cloud.make_tables({"metrics": METRICS})
        done = self.tacho("bq", "init", "--project=project", f"--dataset={Cloud.dataset}", "--bq-add-columns", env=self.cloud.environment())
        self.assertEqual(done.rc, 0, done)
        self.assertGreater(len(self.cloud.table("metrics").fields), len(METRICS))

    def test_init_refused(self):
        self.assertEqual(self.tacho("bq", "init", "--project", "p", env=self.cloud.environment()).rc, 2)
        self.assertEqual(self.tacho("bq", "init", "--nonsense").rc, 2)
        self.assertEqual(self.tacho("bq").rc, 2)
        self.use(may=["get", "create"])
        done = self.tacho("bq", "init", "--project", "p", "--dataset", "d", env=self.cloud.environment())
        self.assertEqual(done.rc, 1, done)
        self.assertIn("Access Denied", done.err)
