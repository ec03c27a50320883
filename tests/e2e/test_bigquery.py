"""What BigQuery answers and what its tables look like (cromwell-bigquery.md §1.10, §2.3–2.5): every case ends with the check that each row arrived once, or
lies where it is said to."""
import glob
import json
import os
import subprocess
import time

from bigquery import METRICS, ROWS, TASK, BigQuery, Cloud, column, metrics_record, runtime_record
import faults  # found through service.py


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
            self.expect_a_second_try(action)

    def test_one_invalid_row_stops_the_others(self):
        bad = [metrics_record(self.now_us + i * 1_000_000, i, **({"mem_used_gb": "much"} if i == 2 else {})) for i in range(ROWS)]
        done = self.deliver(self.spool([[runtime_record(self.now_us)] + bad]))
        self.assertEqual([row["seq"] for row in self.cloud.rows("metrics")], [0, 1, 3, 4])
        self.assertEqual(len(self.cloud.calls("metrics/insertAll")), 2)
        letter, = self.dead_letters()
        self.assertEqual((letter["location"], letter["reason"], letter["table"], letter["row"]["seq"]), ("mem_used_gb", "invalid", "metrics", 2))
        self.assertIn("dead-letter", done.err)

    def test_an_answer_that_names_only_the_culprit(self):
        """The others were stopped by it all the same: one bad row fails the whole request."""
        self.use(only_culprits=True)
        bad = [metrics_record(self.now_us + i * 1_000_000, i, **({"mem_used_gb": "much"} if i in (1, 2) else {})) for i in range(ROWS)]
        self.deliver(self.spool([[runtime_record(self.now_us)] + bad]))
        self.assertEqual([row["seq"] for row in self.cloud.rows("metrics")], [0, 3, 4])
        self.assertEqual(sorted(letter["row"]["seq"] for letter in self.dead_letters()), [1, 2])

    def test_errors_that_name_no_row(self):
        for entry in ({"errors": [{"reason": "invalid", "message": "x"}]}, {"index": 99, "errors": [{"reason": "invalid", "message": "x"}]},
                      {"index": -1, "errors": [{"reason": "timeout"}]}, {"errors": [{"reason": "stopped"}]}, 7):
            with self.subTest(entry):
                self.use()
                self.cloud.fault({"status": 200, "body": json.dumps({"insertErrors": [entry]})}, ".*/metrics/insertAll", nth=1)
                self.deliver(self.spool())
                self.assertEqual(sorted(row["seq"] for row in self.cloud.rows("metrics")), list(range(ROWS)))
                self.assertEqual(self.dead_letters(), [])
        for body in ({"insertErrors": {"index": 0}}, {"error": {"code": 500, "message": "x"}}):
            with self.subTest(body):
                self.use()
                self.cloud.fault({"status": 200, "body": json.dumps(body)}, ".*/metrics/insertAll", nth=1)
                self.deliver(self.spool())
                self.check()

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

    def test_one_row_that_is_stopped_alone_waits_and_goes_again(self):
        self.cloud.fault({"do": {"stopped": True}}, ".*/runtime/insertAll", nth=[1, 2])
        self.go()
        self.assertEqual(self.dead_letters(), [])

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
            self.expect_a_second_try(action)

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
        self.assertIn("certificate", self.deliver(spool, rc=1, BIGQUERY_EMULATOR_HOST=endpoint).err)
        self.assertEqual(self.cloud.double.log, [])
        self.deliver(spool, BIGQUERY_EMULATOR_HOST=endpoint, SSL_CERT_FILE=certificate)
        self.check()


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

    def test_a_dataset_that_is_missing_and_may_not_be_looked_at(self):
        self.cloud.fault({"status": 403, "code": "accessDenied"}, ".*/datasets/[^/]+", method="GET")
        self.go()

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
        self.assertIn("rows_dropped", done.err, "all of them are named")

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

    def test_a_table_with_nothing_in_common_takes_no_empty_rows(self):
        self.cloud.make_tables({"metrics": [column("owner", "STRING")]})
        spool = self.spool()
        self.assertIn("no column that tacho writes", self.deliver(spool, rc=1).err)
        self.assertEqual(self.cloud.rows("metrics"), [])
        os.rename(spool.folder, spool.folder + "x")
        self.use()
        self.cloud.make_tables({"metrics": [column("owner", "STRING")]})
        self.add(TACHO_BQ_COLUMN_WAIT="10ms")
        self.check()

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

    def test_a_server_that_wants_no_compressed_bodies(self):
        # The first body that it gets is that of a new dataset.
        self.cloud.faults({"match": {"method": "POST", "path": ".*/datasets", "nth": 1}, "action": {"status": 415}})
        self.go(TACHO_BQ_GZIP="1")
        self.assertFalse(any("content-encoding" in entry["headers"] for entry in self.cloud.calls("insertAll")))
