"""tacho cromwell (cromwell-bigquery.md §3, §4.3): metadata of workflows into BigQuery, by hand and as a service, and old logs."""
import json
import os

from cromwell_case import BATCH, COUNTS, FIXTURES, GENOTYPE, OUTER, PAPI, Cromwell, fixture


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

    def written(self):
        return sorted((row["task_call_name"], row["shard"], row["attempt"]) for row in map(json.loads, self.read("old.ndjson").splitlines()))

    def test_rows_for_a_load_job_are_written_once(self):
        """However often the rest is tried; and they are written where the first try ended before."""
        document = fixture("papi.json")
        document["calls"]["genotype.align"][0].update({"start": "2019-10-01T00:00:00Z", "end": "2019-10-01T01:00:00Z"})
        self.double.config["workflows"][PAPI] = document
        words = (PAPI, "--skip-existing", "--ndjson", self.path("old.ndjson"))
        refuse = {"do": {"rows": [{"index": 0, "reason": "invalid", "message": "no"}]}}
        for number in range(3):
            self.seen_ids_are_forgotten() if number else None
            self.cloud.fault(refuse, ".*/insertAll")
            self.upload(*words, rc=1)
            self.assertEqual(self.written(), [("align", 0, 1)], "one of the others is missing in the table")
        self.cloud.faults()
        self.upload(*words)
        self.assertEqual(self.written(), [("align", 0, 1)])
        os.unlink(self.path("old.ndjson"))
        self.upload(*words)
        self.assertEqual(self.written(), [("align", 0, 1)], "the others are there, but this one never was written")
        table = self.cloud.table("metadata")
        table.rows.append(("loaded", json.loads(self.read("old.ndjson"))))
        self.write("old.ndjson", "")
        done = self.upload(*words)
        self.assertEqual(self.written(), [], "it was loaded")
        self.assertIn("2 rows are there already, 1 were never taken", done.err)
        self.assertEqual(len(self.rows()), 3)

    def test_a_workflow_of_old_rows_alone_is_written_once(self):
        self.write("wf.json", json.dumps(fixture("papi.json")).replace("2026-10", "2019-10"))
        words = ("--metadata", self.path("wf.json"), "--skip-existing", "--ndjson", self.path("old.ndjson"))
        self.assertIn("3 too old for streaming", self.upload(*words).err)
        self.assertIn("3 were never taken for their dates", self.upload(*words).err)
        self.assertEqual(self.written(), [("align", 0, 1), ("align", 0, 2), ("import", -1, 1)])

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
