"""Delivery to the service and to S3 (sentinel.md §9): every case ends with the check that what arrived is what was recorded."""
import json
import os
import time

import fake_gpus
from service import Service
from delivery_case import Delivery


class Start(Delivery):
    def test_is_what_discover_prints(self):
        device = "device name=H200 util=50 total=1048576000 used=1048576"
        env = {"TACHO_NO_CLOUD": "1", **fake_gpus.machine(self, device, device)}
        _, run = self.go("sleep", "0.7", **env)  # a driver answers after a moment, and the run is announced then
        said = json.loads(self.tacho("discover", "--json", env=env).out)
        sent = {key: value for key, value in run["start"].items() if key.startswith(("host_", "cloud_"))}
        self.assertEqual(sent, {key: value for key, value in said.items() if key.startswith(("host_", "cloud_"))})
        self.assertEqual((sent["host_gpu_model"], sent["host_gpu_count"], sent["host_gpu_memory_mib"]), ("H200", 2, 2000))

    def test_fields(self):
        _, run = self.go("true", options=("--job-name", "j", "--team", "t", "--tag", "a=b", "--tag", "c=d", "--hide", "host_ip"))
        start = run["start"]
        self.assertEqual((start["job_name"], start["team"], start["tags"]), ("j", "t", ["a=b", "c=d"]))
        self.assertEqual(json.loads(start["command"]), ["true"])
        self.assertNotIn("host_ip", start)
        self.assertNotIn("pid", start)
        self.assertIn("host_vcpus", start)
        self.assertNotIn("project_name", start)

    def test_hidden_command(self):
        _, run = self.go("true", options=("--hide", "command"))
        self.assertNotIn("command", run["start"])

    def test_500_three_times(self):
        self.service.api_faults({"match": {"path": "/runs", "to": 3}, "action": {"status": 500}})
        self.go("sleep", "0.3")
        self.assertEqual(len(self.service.calls("/runs")), 4)

    def test_delayed(self):
        self.service.api_faults({"match": {"path": "/runs"}, "action": {"delay_s": 4}})
        self.batches(source=None)

    def test_never_reachable(self):
        self.service.api_faults({"action": {"reset": "start"}})
        begun = time.monotonic()
        done = self.tacho("run", "-i", "0.1", "--", "sh", "-c", "exit 7", env=self.env(TACHO_FINISH_TIMEOUT="2"))
        self.assertEqual(done.rc, 7, done)
        self.assertLess(time.monotonic() - begun, 15)
        self.assertEqual(len(self.spools()), 1)
        self.assertIn(self.spools()[0], done.err)
        self.service.api_faults()
        self.deliver("--all")
        self.assertEqual(self.check("inline")["finish"]["exit_code"], 7)

    def test_optional_fields_refused(self):
        options = ["--tag", "a=b"]
        for name in ("job-name", "project-name", "stage-name", "task-name", "team", "env", "language", "orchestrator", "executor",
                     "external-run-id", "container-image"):
            options += ["--" + name, "x"]
        names = [name.replace("-", "_") for name in options[2::2] if name.startswith("--")]
        for name in [name.strip("_") for name in names] + ["command", "host_vcpus", "host_cpu_model", "host_memory_mib", "host_storage_gb"]:
            with self.subTest(name):
                self.use({"reject": [name]})
                done = self.tacho("run", "--no-store", *options, "--", "true", env=self.env())
                self.assertEqual(done.rc, 0, done)
                run = self.the_finished()
                self.assertNotIn(name, run["start"])
                self.assertIn("tags", run["start"])
                self.assertIn(name, done.err)

    def test_several_fields_refused_at_once(self):
        self.use({"reject": ["team", "host_vcpus", "command"]})
        _, run = self.go("true", options=("--team", "t", "--env", "e"))
        self.assertEqual(run["start"]["env"], "e")

    def test_seed_names(self):
        self.use({"reject": ["host_hostname"], "seed_names": True})
        _, run = self.go()
        self.assertIn("host_name", run["start"])

    def test_tags_as_object_and_not_at_all(self):
        self.use({"tags": "object"})
        _, run = self.go("true", options=("--tag", "a=b"))
        self.assertEqual(run["start"]["tags"], {"a": "b"})
        self.use({"tags": "none"})
        done = self.tacho("run", "--no-store", "--tag", "a=b", "--", "true", env=self.env())
        self.assertNotIn("tags", self.the_finished()["start"])
        self.assertIn("tags", done.err)

    def test_expiry_forms(self):
        for form in ("expires_at", "expiration", "offset", "unix", "missing", "aws"):
            with self.subTest(form):
                self.use({"expiry": form})
                done = self.tacho("run", "--no-store", "-i", "0.2", "--upload-interval", "1", "--", "sleep", "1.5", env=self.env())
                self.assertEqual(done.rc, 0, done)
                self.assertEqual(self.the_finished()["finish"]["data_source"], "s3")
                self.assertEqual(self.the_finished()["refreshes"], 0)

    def test_without_prefix(self):
        self.use({"prefix": None})
        self.batches(source="inline")
        self.assertEqual(self.service.s3.log, [])

    def test_prefix_without_key(self):
        self.use({"prefix": "s3://data"})
        done, _ = self.batches(source="inline")
        self.assertIn("prefix", done.err)

    def test_base_url_with_path(self):
        self.use({"base_path": "/some/base"})
        self.batches()
        self.use({"base_path": "/some/base"})
        done = self.tacho("run", "--no-store", "--", "true", env={**self.env(), "SENTINEL_API_URL": self.service.api_server.url + "/some/base/"})
        self.assertEqual((done.rc, len(self.service.finished())), (0, 1), done)

    def test_alias_of_the_token(self):
        env = self.env()
        env["SENTINEL_API_KEY"] = " " + env["SENTINEL_API_TOKEN"] + "\n"
        env["SENTINEL_API_TOKEN"] = ""
        done = self.tacho("run", "--", "true", env=env)
        self.assertEqual(done.rc, 0, done)
        self.check()

    def test_html_answer(self):
        self.service.api_faults({"match": {"path": "/runs"}, "action": {"status": 200, "body": "<html>hello</html>"}})
        done = self.tacho("run", "--", "true", env=self.env(TACHO_FINISH_TIMEOUT="3"))
        self.assertEqual(done.rc, 0, done)
        self.assertIn("JSON", done.err)
        self.service.api_faults()
        self.deliver("--all")
        self.check()

    def test_a_page_in_the_place_of_an_answer_is_asked_again(self):
        """A proxy's page, then the service: delivered within the run's own time."""
        for path in ("/runs", ".*/finish"):
            with self.subTest(path):
                self.use()
                self.service.api_faults({"match": {"path": path, "nth": 1}, "action": {"status": 200, "body": "<html>hello</html>"}})
                done = self.tacho("run", "--no-store", "--", "true", env=self.env(TACHO_FINISH_TIMEOUT="20"))
                self.assertEqual(done.rc, 0, done)
                self.assertEqual((len(self.service.finished()), self.spools()), (1, []), done)

    def test_redirect_to_another_host(self):
        other = Service()
        self.addCleanup(other.close)
        self.service.api_faults({"match": {"path": "/runs"}, "action": {"status": 307, "headers": {"Location": other.api_server.url + "/runs"}}})
        done = self.tacho("run", "--", "true", env=self.env(TACHO_FINISH_TIMEOUT="3"))
        self.assertEqual(done.rc, 0, done)
        self.assertEqual(other.api.log, [])
        self.assertEqual(len(self.spools()), 1)

    def test_plain_http_elsewhere(self):
        done = self.tacho("run", "--", "true", env={**self.env(TACHO_FINISH_TIMEOUT="3"), "SENTINEL_API_URL": "http://192.0.2.1:1"})
        self.assertEqual(done.rc, 0, done)
        self.assertIn("http", done.err)
        self.assertEqual(len(self.spools()), 1)


class Upload(Delivery):
    def test_batches(self):
        _, run = self.batches(4.3)
        uris = run["finish"]["data_uris"]
        self.assertGreaterEqual(len(uris), 4)
        self.assertEqual(uris, sorted(uris))
        for number, uri in enumerate(uris):
            self.assertTrue(uri.endswith(f"/{number:06}.csv.gz"), uri)
        headers = {self.service.object(uri).splitlines()[0] for uri in uris}
        self.assertEqual(len(headers), 1)

    def test_503_then_200(self):
        self.service.s3_faults({"match": {"method": "PUT", "nth": [1, 3]}, "action": {"status": 503, "code": "SlowDown"}})
        self.batches(source=None)

    def test_reset_in_the_body(self):
        self.service.s3_faults({"match": {"method": "PUT", "nth": 1}, "action": {"reset": "body"}})
        self.batches(3.5)

    def test_lost_answer(self):
        self.service.s3_faults({"match": {"method": "PUT", "nth": 1}, "action": {"reset": "answer"}})
        self.batches(3.5)
        self.assertTrue(any(entry["puts"] > 1 for entry in self.service.s3.listing().values()))

    def test_expired_token(self):
        self.service.s3_faults({"match": {"method": "PUT", "nth": 1}, "action": {"status": 403, "code": "ExpiredToken"}})
        _, run = self.batches(3.5)
        self.assertEqual(run["refreshes"], 1)

    def test_short_lived_credentials(self):
        self.use({"life_s": 4})
        _, run = self.batches(6.5)
        self.assertGreaterEqual(run["refreshes"], 2)
        self.assertLessEqual(run["refreshes"], 8)
        self.assertTrue(all(entry["status"] == 200 for entry in self.service.s3.log))

    def test_less_than_five_minutes_are_not_used(self):
        self.use({"life_s": 200})
        _, run = self.batches(1.5)
        self.assertEqual(run["refreshes"], 1)
        self.assertLess(self.service.calls("/refresh-credentials")[0]["time"], self.service.s3.log[0]["time"])

    def test_uploads_go_on_while_nothing_can_be_renewed(self):
        self.use({"life_s": 200})
        # Also where the service asks for patience with this one call: the old ones are good, and so is the way to close the run.
        self.service.api_faults({"match": {"path": ".*/refresh-credentials"}, "action": {"status": 500, "headers": {"Retry-After": "300"}}})
        self.batches(1.5)
        first_put = self.service.s3.log[0]["time"]
        self.assertEqual(len([call for call in self.service.calls("/refresh-credentials") if call["time"] < first_put]), 1)

    def test_permanent_403(self):
        self.service.s3_faults({"match": {"method": "PUT"}, "action": {"status": 403, "code": "AccessDenied"}})
        done, _ = self.batches(source="inline")
        self.assertIn("refused", done.err)

    def test_mixed_failure_sends_all_inline(self):
        self.service.s3_faults({"match": {"method": "PUT", "from": 2}, "action": {"status": 403, "code": "AccessDenied"}})
        self.batches(3.5, source="inline")
        self.assertEqual(len(self.service.s3.objects), 1)

    def test_wrong_region(self):
        self.use(s3_config={"buckets": {"data": "eu-west-3"}})
        self.batches()

    def test_region_of_the_credentials(self):
        self.use({"region": "ap-south-1"}, {"buckets": {"data": "ap-south-1"}})
        self.batches()
        self.assertTrue(all(entry["status"] == 200 for entry in self.service.s3.log if entry["method"] == "PUT"))

    def test_slow_loris(self):
        self.service.s3_faults({"match": {"method": "PUT", "nth": 1}, "action": {"slow_s": 0.01}})
        self.batches(3.5)

    def test_endpoint_with_a_path(self):
        self.use(s3_config={"base_path": "/s3/here"})
        self.batches()

    def test_prefixes(self):
        for prefix in ("s3://my.bucket.eu/runs", "s3://data/runs/", "s3://data/runs//", "s3://data/a b+c/\u00fc%20'()&=/x", "s3://data/{run_id}/x"):
            with self.subTest(prefix):
                self.use({"prefix": prefix})
                done = self.tacho("run", "--no-store", "-i", "0.2", "--upload-interval", "1", "--", "sleep", "1.5", env=self.env())
                self.assertEqual(done.rc, 0, done)
                run = self.the_finished()
                run_id = next(iter(self.service.runs()))
                clean = prefix.replace("{run_id}", run_id).rstrip("/")
                tail = "" if "{run_id}" in prefix else f"/{run_id}"
                self.assertEqual(run["finish"]["data_uris"][0], f"{clean}{tail}/000000.csv.gz", done)
                self.assertGreaterEqual(len(self.service.rows(run)), 6)

    def test_clock_of_the_server(self):
        skew = {"action": {"skew_s": 3600}}
        self.service.api_faults(skew)
        self.service.s3_faults(skew)
        self.use({"life_s": 7200})
        self.service.api_faults(skew)
        self.service.s3_faults(skew)
        self.batches()
        # The service's own Date told the time before the first signature was made.
        self.assertEqual({entry["status"] for entry in self.service.s3.log}, {200})

    def test_straight_to_a_bucket(self):
        self.service.s3.config["credentials"] = {"AKIAME": {"secret_key": "secret"}}
        env = {"AWS_ACCESS_KEY_ID": "AKIAME", "AWS_SECRET_ACCESS_KEY": "secret", "TACHO_S3_ENDPOINT": self.service.s3_server.url}
        done = self.tacho("run", "-i", "0.2", "--upload-interval", "1", "-o", "s3://data/my/runs", "--", "sleep", "2.5", env=env)
        self.assertEqual(done.rc, 0, done)
        self.assertEqual(self.service.api.log, [])
        run_id = os.path.basename(self.run_folders()[0])
        names = sorted(self.service.s3.objects)
        self.assertEqual(names[0], f"data/my/runs/{run_id}/000000.csv.gz")
        rows = []
        for name in names:
            rows += self.service.object("s3://" + name).splitlines()[1:]
        self.assertEqual(rows, self.local_rows())
        self.assertEqual(self.spools(), [])

    def test_all_of_the_time_is_for_the_bucket(self):
        self.service.s3.config["credentials"] = {"AKIAME": {"secret_key": "secret"}}
        self.service.s3_faults({"match": {"method": "PUT", "nth": 1}, "action": {"delay_s": 1.8}})
        env = {"AWS_ACCESS_KEY_ID": "AKIAME", "AWS_SECRET_ACCESS_KEY": "secret", "TACHO_S3_ENDPOINT": self.service.s3_server.url, "TACHO_FINISH_TIMEOUT": "3"}
        done = self.tacho("run", "-o", "s3://data/my/runs", "--", "true", env=env)
        self.assertEqual((done.rc, self.spools(), [entry["puts"] for entry in self.service.s3.listing().values()]), (0, [], [1]), done)
