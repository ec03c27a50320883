"""tacho cromwell (cromwell-bigquery.md §3, §4.3): metadata of workflows into BigQuery, by hand and as a service, and old logs."""
import base64
import concurrent.futures
import glob
import http.client
import json
import os
import signal
import socket
import subprocess
import threading
import time

from bigquery import Cloud
from service import Running
from support import Case, until
import cromwell_double  # found through service.py

HERE = os.path.dirname(os.path.abspath(__file__))
FIXTURES = os.path.join(HERE, "..", "fixtures", "cromwell")
PAPI, BATCH, OUTER = ("5d96fd3c-1a89-40ae-8095-c364181cda46", "9d3a8a7e-2f27-4a5e-8f3d-7c2b64a1e001", "7a1c0000-0000-4000-8000-000000000001")
OBJECTS = {"data/a.bam": 1_500_000_000, "ref/hg38.fa": 3_272_116_950, "data/t.csv": 1234, "data/b.bam": 1}


def fixture(name):
    with open(os.path.join(FIXTURES, name), encoding="utf-8") as file:
        return json.load(file)


def event(workflow_id, generation="1", **more):
    return {"bucket": "logs", "name": f"wf/workflow.{workflow_id}.log", "generation": generation, "size": "10", **more}


class Cromwell(Case):
    def setUp(self):
        super().setUp()
        self.cloud = Cloud()
        self.addCleanup(self.cloud.close)
        self.double = cromwell_double.Cromwell({"objects": dict(OBJECTS), "workflows": {
            PAPI: fixture("papi.json"), BATCH: fixture("batch.json"), OUTER: fixture("sub_by_id.json")}})
        self.server = Running(cromwell_double.Handler, self.double)
        self.addCleanup(self.server.close)

    def use(self, **more):
        return self.cloud.environment(CROMWELL_BASEURL=self.server.url, STORAGE_EMULATOR_HOST=self.server.url.removeprefix("http://"),
                                      GCP_PROJECT=Cloud.project, DATASET_ID=Cloud.dataset, **more)

    def upload(self, *words, rc=0, env=None, **keywords):
        done = self.tacho("cromwell", "upload", *words, env={**self.use(), **(env or {})}, **keywords)
        self.assertEqual(done.rc, rc, done)
        return done

    def rows(self):
        return self.cloud.rows("metadata")

    def keys(self):
        return sorted((row["workflow_name"], row["task_call_name"], row["shard"], row["attempt"]) for row in self.rows())

    def fault(self, action, path, **match):
        self.double.rules.replace([{"match": {"path": path, **match}, "action": action}])

    def asked(self, part):
        with self.double.lock:
            return [entry for entry in self.double.log if part in entry["path"]]

    def clean(self):
        self.assertEqual(self.double.complaints, [])
        self.assertEqual(self.cloud.double.complaints, [])
        for table in self.cloud.double.tables.values():
            self.assertEqual(table.conflicts, [])


GENOTYPE = [("genotype", "align", 0, 1), ("genotype", "align", 0, 2), ("joint", "import", -1, 1)]
COUNTS = [("counts", "plot", -1, 1), ("counts", "sum", -1, 1)]


class Upload(Cromwell):
    def test_ids_as_arguments_and_the_table_is_made(self):
        done = self.upload(PAPI, BATCH)
        self.assertEqual(self.keys(), COUNTS + GENOTYPE)
        table = self.cloud.table("metadata")
        self.assertEqual((table.partition, table.filtered), ("start_time", True))
        self.assertEqual([field["name"] for field in table.fields][:4], ["project_id", "zone", "instance_name", "preemptible"])
        row = next(row for row in self.rows() if row["task_call_name"] == "align" and row["attempt"] == 1)
        inputs = {entry["key"]: entry for entry in row["inputs"]}
        self.assertEqual(inputs["bam"], {"key": "bam", "type": "file", "value": "1.500000", "size_bytes": 1_500_000_000})
        self.assertEqual(inputs['refs["fa"]']["value"], "3.272116950")
        self.assertEqual(row["inputs_size_bytes"], 1_500_000_000 + 3_272_116_950)
        self.assertIn("1 cached or bypassed, 1 never started", done.err)
        self.assertIn("1 files without a size", done.err)  # gs://data/none.csv
        total = next(row for row in self.rows() if row["task_call_name"] == "sum")
        self.assertIsNone(next(entry for entry in total["inputs"] if entry["key"] == "missing").get("value"))
        self.clean()

    def test_ids_on_stdin(self):
        self.upload(input=f"# a comment\n\n  {PAPI}  \n{BATCH}\n")
        self.assertEqual(self.keys(), COUNTS + GENOTYPE)

    def test_one_unknown_id_leaves_the_others(self):
        unknown = "00000000-0000-4000-8000-000000000000"
        done = self.upload(unknown, PAPI, rc=1)
        self.assertIn(unknown, done.err)
        self.assertIn("404", done.err)
        self.assertEqual(self.keys(), GENOTYPE)

    def test_an_id_that_is_none(self):
        done = self.upload("../../etc", PAPI, rc=1)
        self.assertIn("no workflow id", done.err)
        self.assertEqual(self.keys(), GENOTYPE)

    def test_saved_metadata(self):
        self.upload("--metadata", os.path.join(FIXTURES, "papi.json"), env={"CROMWELL_BASEURL": None})
        self.assertEqual(self.keys(), GENOTYPE)
        self.assertEqual(self.asked("/api/"), [])

    def test_saved_metadata_from_stdin(self):
        self.upload("--metadata", "-", input=json.dumps(fixture("batch.json")), env={"CROMWELL_BASEURL": None})
        self.assertEqual(self.keys(), COUNTS)

    def test_sub_workflows_that_are_only_named_are_fetched(self):
        self.upload(OUTER)
        self.assertEqual(self.keys(), COUNTS)
        self.assertEqual({row["root_workflow_id"] for row in self.rows()}, {OUTER})
        self.assertEqual({row["workflow_id"] for row in self.rows()}, {BATCH})

    def test_in_a_saved_document_they_are_an_error(self):
        done = self.upload("--metadata", os.path.join(FIXTURES, "sub_by_id.json"), rc=1)
        self.assertIn("expandSubWorkflows", done.err)

    def test_the_same_again_has_the_same_ids(self):
        self.upload(PAPI)
        self.upload(PAPI)
        self.assertEqual(self.keys(), GENOTYPE)
        self.assertEqual(self.cloud.table("metadata").repeated, 3)
        self.clean()

    def test_skip_existing(self):
        self.upload(PAPI, "--skip-existing")
        done = self.upload(PAPI, "--skip-existing")
        self.assertIn("there already", done.err)
        self.assertEqual(self.cloud.table("metadata").repeated, 0)
        self.assertEqual(len(self.cloud.calls("/insertAll")), 1)

    def test_skip_existing_follows_sub_workflows_that_are_only_named(self):
        document = fixture("papi.json")
        document["calls"]["genotype.more"] = fixture("sub_by_id.json")["calls"]["outer.inner"]
        self.double.config["workflows"][PAPI] = document
        self.upload(PAPI, "--skip-existing")
        self.assertEqual(self.keys(), COUNTS + GENOTYPE)
        table = self.cloud.table("metadata")
        table.rows = [entry for entry in table.rows if entry[1]["workflow_name"] != "counts"]  # these were lost on the way
        table.ids.clear()
        done = self.upload(PAPI, "--skip-existing")
        self.assertIn("3 rows are there already, 2 of 2 rows uploaded", done.err)
        self.assertEqual(self.keys(), COUNTS + GENOTYPE)

    def seen_ids_are_forgotten(self):
        """BigQuery remembers insertIds for about a minute."""
        self.cloud.table("metadata").ids.clear()

    def test_skip_existing_counts_no_row_twice(self):
        """Two attempts that stored the first batch, and each broke off then, are no whole upload."""
        call = fixture("papi.json")["calls"]["genotype.align"][1]
        self.double.config["workflows"]["many"] = {"id": "many", "status": "Succeeded", "calls": {"w.t": [{**call, "shardIndex": i} for i in range(600)]}}
        self.upload("many", "--skip-existing", "--no-sizes")
        table = self.cloud.table("metadata")
        first = [entry for entry in table.rows if entry[1]["shard"] < 300]
        table.rows = first + first  # 600 rows, 300 calls
        self.seen_ids_are_forgotten()
        for page_rows in (10_000, 7):
            with self.subTest(page_rows):
                self.cloud.double.config["page_rows"] = page_rows
                table.rows = first + first
                self.seen_ids_are_forgotten()
                done = self.upload("many", "--skip-existing", "--no-sizes")
                self.assertIn("300 rows are there already, 300 of 300 rows uploaded", done.err)
                self.assertEqual({row["shard"] for row in self.rows()}, set(range(600)))
                self.assertEqual(len(self.rows()), 900, "what was there is not sent again")
        done = self.upload("many", "--skip-existing", "--no-sizes")
        self.assertIn("600 rows are there already", done.err)
        self.clean()

    def test_a_row_that_is_refused_does_not_bring_the_others_again(self):
        self.cloud.fault({"do": {"rows": [{"index": 1, "reason": "invalid", "message": "no"}]}}, ".*/insertAll", nth=1)
        self.upload(PAPI, "--skip-existing", rc=1)
        self.assertEqual(len(self.rows()), 2)
        for _ in range(2):
            self.seen_ids_are_forgotten()
            self.cloud.fault({"do": {"rows": [{"index": 0, "reason": "invalid", "message": "no"}]}}, ".*/insertAll")
            done = self.upload(PAPI, "--skip-existing", rc=1)
            self.assertIn("2 rows are there already, 0 of 1 rows uploaded, 1 refused", done.err)
            self.assertEqual(len(self.rows()), 2)
        self.cloud.faults()
        self.upload(PAPI, "--skip-existing")  # the table was put right
        self.assertEqual(self.keys(), GENOTYPE)

    def test_rows_that_no_table_takes_bring_no_others_again(self):
        document = fixture("papi.json")
        for name, value in {"start": "2019-10-01T00:00:00Z", "end": "2019-10-01T01:00:00Z"}.items():
            document["calls"]["genotype.align"][0][name] = value
        self.double.config["workflows"][PAPI] = document
        self.upload(PAPI, "--skip-existing", "--ndjson", self.path("old.ndjson"))
        self.assertEqual(len(self.rows()), 2)
        self.seen_ids_are_forgotten()
        done = self.upload(PAPI, "--skip-existing", "--ndjson", self.path("old.ndjson"))
        self.assertIn("2 rows are there already, 1 were never taken", done.err)
        self.assertEqual(len(self.rows()), 2)
        self.assertEqual(self.read("old.ndjson").count("\n"), 1)

    def test_a_row_of_a_running_call_is_not_the_one_of_its_end(self):
        done = fixture("batch.json")
        running = json.loads(json.dumps(done))
        running["status"] = "Running"
        for calls in running["calls"].values():
            for call in calls:
                if call.get("executionStatus") == "Done":
                    call["executionStatus"] = "Running"
        self.double.config["workflows"]["run"] = running
        self.upload("run", "--allow-running", "--skip-existing")
        before = len(self.rows())
        self.assertGreater(before, 0)
        self.double.config["workflows"]["run"] = done
        self.upload("run", "--skip-existing")
        self.assertEqual({"Done"} - {row["execution_status"] for row in self.rows()}, set())

    def test_a_query_that_cannot_be_answered_now_is_said(self):
        self.upload(PAPI)
        self.cloud.fault({"status": 503}, ".*/queries")
        done = self.upload(PAPI, "--skip-existing", rc=1)
        self.assertIn("does not say what is there already", done.err)

    def test_flags_for_more_rows(self):
        self.double.config["workflows"]["x"] = fixture("aborted.json")
        self.upload("x", "--include-cached", "--all-backends")
        self.assertEqual(len(self.rows()), 4)

    def test_no_rows_no_request(self):
        self.double.config["workflows"]["empty"] = {"id": "empty", "status": "Succeeded", "calls": {}}
        self.upload("empty")
        self.assertEqual(self.cloud.double.log, [])

    def test_an_old_table_stays_as_it_is(self):
        original = [("project_id", "STRING"), ("zone", "STRING"), ("instance_name", "STRING"), ("preemptible", "BOOLEAN"), ("workflow_name", "STRING"),
                    ("workflow_id", "STRING"), ("task_call_name", "STRING"), ("shard", "INTEGER"), ("attempt", "INTEGER"), ("start_time", "TIMESTAMP"),
                    ("end_time", "TIMESTAMP"), ("execution_status", "STRING"), ("cpu_count", "INTEGER"), ("mem_total_gb", "FLOAT")]
        fields = [{"name": name, "type": kind, "mode": "REQUIRED"} for name, kind in original]
        fields += [{"name": name, "type": kind, "mode": "REPEATED"} for name, kind in
                   (("disk_mounts", "STRING"), ("disk_total_gb", "FLOAT"), ("disk_types", "STRING"))]
        fields += [{"name": "docker_image", "type": "STRING", "mode": "REQUIRED"},
                   {"name": "inputs", "type": "RECORD", "mode": "REPEATED", "fields": [{"name": "key", "type": "STRING", "mode": "REQUIRED"},
                    {"name": "type", "type": "STRING", "mode": "REQUIRED"}, {"name": "value", "type": "STRING", "mode": "NULLABLE"}]}]
        self.cloud.make_tables({"metadata": fields})
        self.upload(PAPI)
        self.assertEqual(self.keys(), GENOTYPE)
        self.assertNotIn("call_fqn", self.rows()[0])
        self.assertEqual(self.cloud.table("metadata").fields, fields)
        self.clean()

    def test_dry_run_prints_rows(self):
        done = self.upload(PAPI, "--dry-run", env={"DATASET_ID": None, "GCP_PROJECT": None})
        self.assertEqual(len([json.loads(line) for line in done.out.splitlines()]), 3)
        self.assertEqual(self.cloud.double.log, [])

    def test_rows_too_old_for_streaming_go_to_a_file(self):
        text = json.dumps(fixture("papi.json")).replace("2026-10", "2019-10")
        self.write("old.json", text)
        done = self.upload("--metadata", self.path("old.json"), "--ndjson", self.path("old.ndjson"))
        self.assertIn("3 too old for streaming", done.err)
        self.assertIn(self.path("old.ndjson"), done.err)
        with open(self.path("old.ndjson"), encoding="utf-8") as file:
            self.assertEqual([json.loads(line)["task_call_name"] for line in file], ["align", "align", "import"])
        self.assertEqual(self.rows(), [])


class Progress(Cromwell):
    def seen(self, *words, env=None):
        """What a person sees on stderr."""
        leader, follower = os.openpty()
        process = self.spawn("cromwell", "upload", *words, stderr=follower, env={**self.use(), **(env or {})})
        os.close(follower)
        told = b""
        while True:
            try:
                piece = os.read(leader, 65536)
            except OSError:  # nobody writes any more
                break
            if not piece:
                break
            told += piece
        os.close(leader)
        return process.wait(timeout=60), told.decode()

    def test_a_person_sees_what_is_done(self):
        """Each step, however short the one before it was, and in the end nothing but what was done."""
        rc, told = self.seen(PAPI, BATCH)
        self.assertEqual(rc, 0, told)
        steps = told.split("\r\x1b[K")
        for word in (f"1/2 fetching {PAPI}", "1/2 reading", "1/2 sending the last of 3 rows", f"2/2 fetching {BATCH}", "2/2 reading"):
            self.assertTrue(any(word in step for step in steps), (word, told))
        last = [line.rpartition("\x1b[K")[2] for line in told.split("\n")]
        self.assertTrue(all(line.startswith("tacho: ") for line in last if line), told)
        self.assertEqual(len([line for line in last if "3 rows" in line]), 1, told)
        self.assertNotIn("fetching", self.upload(PAPI).err)
        rc, told = self.seen("-q", PAPI)
        self.assertEqual((rc, told), (0, ""))

    def test_a_long_document_shows_how_far_it_is(self):
        call = {"executionStatus": "Done", "backend": "PAPIv2", "shardIndex": -1, "attempt": 1, "start": "2026-11-01T00:00:00Z", "end": "2026-11-01T01:00:00Z",
                "jes": {"machineType": "n1-standard-1"}}
        document = {"id": PAPI, "workflowName": "w", "status": "Succeeded", "calls": {f"w.t{i}": [{**call, "shardIndex": i}] for i in range(20_000)}}
        self.write("m.json", json.dumps(document))
        rc, told = self.seen("--metadata", self.path("m.json"))
        self.assertEqual(rc, 0, told[-500:])
        self.assertRegex(told, r"sending: \d+ rows, \d+ % of the document")

    def test_a_message_has_a_line_of_its_own(self):
        self.cloud.fault({"status": 503}, nth=1)
        rc, told = self.seen(PAPI)
        self.assertEqual(rc, 0, told)
        self.assertRegex(told, r"\x1b\[Ktacho: [^\r\n]*503")


class BadInput(Cromwell):
    def test_configuration(self):
        for missing in ("CROMWELL_BASEURL", "DATASET_ID", "GCP_PROJECT"):
            done = self.upload(PAPI, rc=2, env={missing: None})
            self.assertIn(missing, done.err)
        for words in (["--wat"], ["--table"], ["--bq-create", "maybe"], ["--cromwell-auth", "x"], ["--gcs-parallel", "0"], ["--dataset", "a/b"],
                      ["--cromwell", "ftp://x"], ["--bq-endpoint", "ftp://x"], ["--metadata", "x", PAPI]):
            self.assertEqual(self.tacho("cromwell", "upload", *words, env=self.use()).rc, 2, words)
        self.assertEqual(self.tacho("cromwell", env=self.use()).rc, 2)
        self.assertEqual(self.tacho("cromwell", "wat", env=self.use()).rc, 2)
        self.assertEqual(self.tacho("cromwell", "upload", "--help").rc, 0)

    def test_broken_json_sends_nothing_and_names_the_byte(self):
        text = json.dumps(fixture("papi.json"))
        self.write("cut.json", text[:2000])
        done = self.upload("--metadata", self.path("cut.json"), rc=1)
        self.assertIn("byte 2000", done.err)
        self.assertEqual(self.cloud.double.log, [])

    def test_with_stream_the_rows_before_the_break_are_sent(self):
        document = fixture("papi.json")
        document = {"id": document.pop("id"), **document}
        text = json.dumps(document)
        self.write("cut.json", text[:text.index("subWorkflowMetadata")])
        self.upload("--metadata", self.path("cut.json"), "--stream", rc=1)
        self.assertEqual(self.keys(), GENOTYPE[:2])

    def test_one_bad_call(self):
        document = fixture("papi.json")
        document["calls"]["genotype.align"][0]["shardIndex"] = "many"
        document["calls"]["a-b.c-d"] = [{**document["calls"]["genotype.align"][1], "attempt": 7}]
        self.double.config["workflows"][PAPI] = document
        done = self.upload(PAPI, rc=1)
        for word in (PAPI, "genotype.align", "shardIndex", "many", "attempt 1"):
            self.assertIn(word, done.err)
        self.assertEqual(self.keys(), [("genotype", "align", 0, 2), ("genotype", "c-d", 0, 7), ("joint", "import", -1, 1)])

    def test_deep_nesting_duplicates_and_bytes_that_are_no_text(self):
        self.double.config["workflows"]["deep"] = '{"id":"deep","outputs":' + "[" * 2000 + "]" * 2000 + "}"
        self.assertIn("1024 levels", self.upload("deep", rc=1).err)
        with open(self.path("odd.json"), "wb") as file:
            file.write(b'{"id":"one","id":"two","status":"Succeeded","calls":{"w.t":[{"jes":{},"executionStatus":"Done","start":"2026-10-01T00:00:00Z",'
                       b'"attempt":1,"shardIndex":-1,"inputs":{"a":"\xff\xfe"},"inputs":{"b":"\xff"}}]}}')
        self.upload("--metadata", self.path("odd.json"))
        self.assertEqual([(row["workflow_id"], row["inputs"]) for row in self.rows()], [("two", [{"key": "b", "type": "string", "value": "\ufffd"}])])

    def test_not_json_at_all(self):
        self.double.config["workflows"]["html"] = "<html>hello</html>"
        self.assertIn("byte 0", self.upload("html", rc=1).err)
        self.double.config["workflows"]["list"] = []
        self.double.config["workflows"]["list"] = "[]"
        self.assertIn("no workflow metadata", self.upload("list", rc=1).err)

    def test_a_workflow_that_still_runs(self):
        running = {**fixture("batch.json"), "status": "Running"}
        self.double.config["workflows"]["run"] = running
        self.assertIn("--wait", self.upload("run", rc=1).err)
        self.assertEqual(self.rows(), [])
        self.upload("run", "--allow-running")
        self.assertEqual(self.keys(), COUNTS)

    def test_wait_until_it_is_over(self):
        self.double.config["workflows"]["run"] = [{**fixture("batch.json"), "status": "Running"}, fixture("batch.json")]
        self.upload("run", "--wait")
        self.assertEqual(self.keys(), COUNTS)


class Rest(Cromwell):
    def test_temporary_faults_are_repeated(self):
        for action in ({"status": 503}, {"status": 429, "headers": {"Retry-After": "1"}}, {"status": 500, "body": "<html>"}, {"reset": "answer"}, {"half_close": True}):
            with self.subTest(action=action):
                self.fault(action, "/api/.*", nth=1)
                self.upload(PAPI)
                self.assertEqual(self.keys(), GENOTYPE)
        self.clean()

    def test_an_old_server_gets_the_other_list(self):
        self.double.config["no_include"] = True
        self.upload(PAPI)
        self.assertEqual(self.keys(), GENOTYPE)
        self.assertEqual(len(self.asked("excludeKey")), 1)
        self.clean()

    def test_too_many_rows_for_the_server(self):
        self.double.config["row_limit"] = True
        self.upload(OUTER)
        self.assertEqual(self.keys(), COUNTS)
        self.assertTrue(all("expandSubWorkflows=false" in entry["path"] for entry in self.asked("/api/") if entry["status"] == 200))
        self.clean()

    def test_compressed_and_behind_a_path(self):
        self.double.config.update(gzip=True, prefix="/some/where")
        self.upload(PAPI, "--cromwell", self.server.url + "/some/where/")
        self.assertEqual(self.keys(), GENOTYPE)
        self.clean()

    def test_tokens(self):
        self.double.config["token"] = "the-secret"
        self.write("token", "the-secret\n")
        self.upload(PAPI, env={"CROMWELL_ACCESS_TOKEN": "the-secret"}, rc=0)  # sizes are refused, which is no fault of the upload
        self.assertEqual(self.keys(), GENOTYPE)
        done = self.upload(PAPI, "--cromwell-auth=none", env={"CROMWELL_ACCESS_TOKEN": "the-secret"}, rc=1)
        self.assertIn("401", done.err)
        done = self.upload(PAPI, env={"CROMWELL_ACCESS_TOKEN": "wrong-secret"}, rc=1)
        self.assertNotIn("wrong-secret", done.err + done.out)


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


class Service(Cromwell):
    def start(self, *words, **env):
        self.service = self.spawn("cromwell", "serve", "--port", "0", "--address", "127.0.0.1", *words, env=self.use(**env))
        line = self.service.stderr.readline()
        while line and "listening" not in line:
            line = self.service.stderr.readline()
        self.port = int(line.rpartition(" ")[2])

    def post(self, body, headers=None, method="POST", path="/any/path"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=50)
        data = body if isinstance(body, (bytes, str)) else json.dumps(body)
        connection.request(method, path, data, {"Content-Type": "application/json", **(headers or {})})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def stop(self):
        self.service.send_signal(signal.SIGTERM)
        self.assertEqual(self.service.wait(20), 0)

    def test_events_of_every_kind_upload_once(self):
        self.start()
        self.assertEqual(self.post("", method="GET", path="/healthz")[0], 200)
        log = event(PAPI)
        message = {"attributes": {"eventType": "OBJECT_FINALIZE", "bucketId": "logs", "objectId": log["name"], "objectGeneration": "2"}, "messageId": "77"}
        storage = {"ce-specversion": "1.0", "ce-type": "google.cloud.storage.object.v1.finalized", "ce-source": "//s", "ce-id": "1", "ce-subject": "objects/" + log["name"]}
        envelopes = [
            ({"context": {"eventType": "google.storage.object.finalize"}, "data": log}, {}),
            (log, {}),
            ({**log, "generation": "3"}, storage),
            ({"specversion": "1.0", "type": "google.cloud.storage.object.v1.finalized", "source": "//s", "id": "1", "data": {**log, "generation": "4"}},
             {"Content-Type": "application/cloudevents+json"}),
            ({"message": message, "subscription": "s"}, {}),
            ({"message": {"data": base64.b64encode(json.dumps(event(PAPI, "5")).encode()).decode()}, "subscription": "s"}, {}),
            ({"message": message}, {**storage, "ce-type": "google.cloud.pubsub.topic.v1.messagePublished"}),
            ({"workflowId": PAPI, "state": "Succeeded"}, {}),
        ]
        for body, headers in envelopes:
            status, text = self.post(body, headers)
            self.assertEqual(status, 200, (body, text))
        asked = len(self.asked("/metadata"))
        self.assertEqual(self.post(envelopes[-1][0])[0], 200)
        self.assertEqual(len(self.asked("/metadata")), asked, "it was told of the end already")
        self.assertEqual(self.keys(), GENOTYPE)
        self.assertEqual(len(self.cloud.calls("/insertAll")), 1)
        self.assertEqual(self.cloud.table("metadata").repeated, 0)
        self.stop()
        self.clean()

    def test_nothing_to_do_and_malformed(self):
        self.start()
        for body in ({"bucket": "b", "name": "reads.bam"}, {"context": {"eventType": "google.storage.object.delete"}, "data": event(PAPI)},
                     {"workflowId": PAPI, "state": "Running"}):
            self.assertEqual(self.post(body)[0], 204, body)
        for body in ("", "{", "[]", "{}", {"message": 1, "subscription": "s"}, {"workflowId": "x", "state": "Succeeded"}):
            self.assertEqual(self.post(body)[0], 400, body)
        self.assertEqual(self.post("", method="GET")[0], 405)
        self.assertEqual(self.asked("/api/"), [])
        self.stop()

    def test_large_and_slow_bodies(self):
        self.start()
        try:
            status = self.post("x" * 10_000_000)[0]
        except (BrokenPipeError, ConnectionResetError):
            status = 413  # it did not even wait for the rest
        self.assertEqual(status, 413)
        slow = socket.create_connection(("127.0.0.1", self.port))
        slow.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Le")
        self.assertEqual(self.post("", method="GET", path="/healthz")[0], 200)
        slow.close()
        self.stop()

    def test_try_again_later(self):
        self.start()
        self.double.config["workflows"]["00000000-0000-4000-8000-000000000001"] = {**fixture("batch.json"), "status": "Running"}
        self.assertEqual(self.post(event("00000000-0000-4000-8000-000000000001"))[0], 503)
        self.assertEqual(self.post(event("00000000-0000-4000-8000-00000000ffff"))[0], 503)  # not known yet
        self.assertEqual(self.rows(), [])
        self.double.config["workflows"]["00000000-0000-4000-8000-000000000001"] = fixture("batch.json")
        self.assertEqual(self.post(event("00000000-0000-4000-8000-000000000001"))[0], 200)
        self.assertEqual(self.keys(), COUNTS)
        self.stop()

    def test_sizes_that_cannot_be_had_bring_the_event_back(self):
        self.fault({"status": 503}, "/storage/.*t.csv")
        self.start()
        self.assertEqual(self.post(event(BATCH))[0], 503)
        self.double.rules.replace([])
        self.assertEqual(self.post(event(BATCH))[0], 200)
        self.assertEqual(self.keys(), COUNTS)
        self.assertTrue(all(entry.get("value") for row in self.rows() for entry in row["inputs"] if entry["key"] == "table"))
        self.stop()
        self.clean()

    def test_the_same_workflow_at_once_is_uploaded_once(self):
        import concurrent.futures
        self.fault({"delay_s": 1}, "/api/.*")
        self.start()
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda i: self.post({"workflowId": PAPI, "state": "Failed", "n": i})[0], range(8)))
        self.assertEqual(answers, [200] * 8)
        self.assertEqual(self.keys(), GENOTYPE)
        self.assertEqual(self.cloud.table("metadata").repeated, 0)
        self.stop()

    def test_ends_on_term_whatever_hangs(self):
        self.fault({"delay_s": 30}, "/api/.*")
        self.start()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=50)
        connection.request("POST", "/", json.dumps(event(PAPI)))
        self.assertTrue(until(lambda: self.post("", method="GET", path="/healthz")[0] == 200))
        begun = time.monotonic()
        self.stop()
        self.assertLess(time.monotonic() - begun, 20)
        connection.close()

    def test_metadata_update_of_the_same_generation_is_skipped(self):
        self.start()
        update = {"context": {"eventType": "google.storage.object.metadataUpdate"}, "data": event(PAPI)}
        self.assertEqual(self.post(update)[0], 200)
        fetched = len(self.asked("/api/"))
        self.assertEqual(fetched, 1)
        self.assertEqual(self.post(update)[0], 200)
        self.assertEqual(len(self.asked("/api/")), fetched)
        self.stop()

    def test_shared_token(self):
        self.write("token", "let-me-in\n")
        self.start("--auth-token-file", self.path("token"))
        self.assertEqual(self.post(event(PAPI))[0], 401)
        self.assertEqual(self.post(event(PAPI), {"Authorization": "Bearer wrong"})[0], 401)
        self.assertEqual(self.asked("/api/"), [])
        self.assertEqual(self.post("", method="GET", path="/healthz")[0], 200)
        self.assertEqual(self.post(event(PAPI), {"Authorization": "Bearer let-me-in"})[0], 200)
        self.stop()
        self.assertNotIn("let-me-in", self.service.stderr.read())

    def identity(self, key, kid="k1", **claims):
        def part(data):
            return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
        now = int(time.time())
        text = part(json.dumps({"alg": "RS256", "kid": kid, "typ": "JWT"}).encode()) + "." + part(json.dumps(
            {"iss": "https://accounts.google.com", "aud": "https://me", "email": "push@p.iam", "email_verified": True, "iat": now, "exp": now + 600, **claims}).encode())
        signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", key], input=text.encode(), check=True, capture_output=True).stdout
        return {"Authorization": f"Bearer {text}.{part(signature)}"}

    def test_identity_tokens(self):
        for name in ("key", "other"):
            subprocess.run(["openssl", "genrsa", "-out", self.path(name), "2048"], check=True, capture_output=True)
        modulus = subprocess.run(["openssl", "rsa", "-noout", "-modulus", "-in", self.path("key")], check=True, capture_output=True, text=True).stdout
        number = bytes.fromhex(modulus.strip().partition("=")[2])
        self.double.config["jwks"] = {"keys": [{"kty": "RSA", "alg": "RS256", "kid": "k1", "e": "AQAB",
                                                "n": base64.urlsafe_b64encode(number).rstrip(b"=").decode()}]}
        self.start("--oidc-audience", "https://me", "--oidc-email", "push@p.iam", "--oidc-jwks", self.server.url + "/certs")
        key = self.path("key")
        for headers in ({}, {"Authorization": "Bearer x"}, {"Authorization": "Bearer a.b.c"}, self.identity(self.path("other")), self.identity(key, kid="k2"),
                        self.identity(key, aud="https://you"), self.identity(key, iss="https://evil"), self.identity(key, exp=1700000000)):
            self.assertEqual(self.post(event(PAPI), headers)[0], 401, headers)
        self.assertEqual(self.post(event(PAPI), self.identity(key, email="other@p.iam"))[0], 403)
        self.assertEqual(self.post(event(PAPI), self.identity(key, email_verified=False))[0], 403)
        self.assertEqual(self.asked("/api/"), [])
        self.assertEqual(self.post(event(PAPI), self.identity(key))[0], 200)
        self.assertEqual(self.keys(), GENOTYPE)
        self.assertEqual(len(self.asked("/certs")), 1)  # kept, also against unknown key ids
        self.stop()

    def test_keys_that_do_not_come_stall_nobody(self):
        subprocess.run(["openssl", "genrsa", "-out", self.path("key"), "2048"], check=True, capture_output=True)
        headers = self.identity(self.path("key"))
        self.write("token", "let-me-in\n")
        self.fault({"delay_s": 7}, "/certs")
        self.start("--oidc-audience", "https://me", "--oidc-email", "push@p.iam", "--oidc-jwks", self.server.url + "/certs", "--auth-token-file", self.path("token"))
        with concurrent.futures.ThreadPoolExecutor(60) as pool:
            strangers = [pool.submit(self.post, event(PAPI), headers) for _ in range(60)]
            self.assertTrue(until(lambda: self.asked("/certs")))
            # Before, these waited behind sixty fetches of ten seconds each.
            begun = time.monotonic()
            self.assertEqual(self.post("", method="GET", path="/healthz")[0], 200)
            self.assertEqual(self.post(event(PAPI), {"Authorization": "Bearer let-me-in"})[0], 200)
            self.assertLess(time.monotonic() - begun, 20)
            self.assertEqual({one.result()[0] for one in strangers}, {503})
        self.assertLessEqual(len(self.asked("/certs")), 3)
        self.stop()

    def test_one_odd_document_does_not_end_the_service(self):
        early, odd = "1970-01-01T00:00:00.123456+01:00", "00000000-0000-4000-8000-00000000000e"
        document = json.loads(json.dumps(fixture("batch.json")))
        document["id"] = odd
        document["start"] = document["end"] = early
        for calls in document["calls"].values():
            for call in calls:
                call["start"] = call["end"] = early
        self.double.config["workflows"][odd] = document
        self.start()
        for _ in range(2):
            self.assertEqual(self.post({"workflowId": odd, "state": "Succeeded"})[0], 200)
        for body in ('{"specversion":"1.0","type":"google.cloud.storage.object.v1.finalized","data":' + "[" * 100_000 + "]" * 100_000 + "}",
                     json.dumps({"message": {"data": base64.b64encode(b"[" * 100_000 + b"]" * 100_000).decode()}}), '{"a":' * 100_000):
            self.assertEqual(self.post(body)[0], 400, body[:60])
        self.assertEqual(self.post(event(PAPI))[0], 200)
        self.assertEqual(self.keys(), GENOTYPE)
        self.stop()

    def test_configuration(self):
        done = self.tacho("cromwell", "serve", "--oidc-audience", "https://me", env=self.use())
        self.assertEqual(done.rc, 2, done)
        self.assertIn("--oidc-email", done.err)
        for words, env in (([], {"CROMWELL_BASEURL": None}), ([], {"DATASET_ID": None}), (["--port", "x"], {}), ([], {"PORT": "99999"}), (["--oidc-email", "x"], {}),
                           (["extra"], {}), (["--auth-token-file", "/nowhere"], {}), (["--oidc-audience", "x", "--oidc-email", "y", "--oidc-jwks", "http://example.org/k"], {})):
            self.assertEqual(self.tacho("cromwell", "serve", *words, env={**self.use(), **env}).rc, 2, words)


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
