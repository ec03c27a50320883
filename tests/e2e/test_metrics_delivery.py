"""Metrics by remote write and OTLP/HTTP: what arrives is compared with the CSV of the run, and each answer of a receiver has its rule."""
import json
import os

from metrics import MetricsCase
from support import until


class Metrics(MetricsCase):
    def test_samples_are_the_rows(self):
        self.go(options=("-n", 'a"b\nc', "--metric-label", "team_x=7"), fragment="#system=1", TACHO_PROMETHEUS_TOKEN="geheim")
        self.check()
        request = self.receiver.log[0]["headers"]
        self.assertEqual(request["authorization"], "Bearer geheim")
        self.assertEqual(request["x-prometheus-remote-write-version"], "0.1.0")
        self.assertEqual(request["content-type"], "application/x-protobuf")
        self.assertTrue(request["user-agent"].startswith("tacho/"))
        for names in self.receiver.order:
            self.assertEqual(names, sorted(names))
        labels = dict(next(iter(self.receiver.series)))
        self.assertEqual((labels["job"], labels["job_name"], labels["team_x"]), ("tacho", 'a"b\nc', "7"))
        self.assertEqual(labels["run_id"], self.facts()["id"] if "id" in self.facts() else labels["run_id"])
        self.assertTrue(self.receiver.values("tacho_system_network_bytes_total", direction="receive"))
        self.assertEqual(self.receiver.twice, 0)
        self.assertLessEqual(sum(not dict(key)["__name__"].startswith("tacho_system") for key in self.receiver.series), 19)

    def test_the_job_sees_no_secret(self):
        done = self.go("sh", "-c", "env", TACHO_PROMETHEUS_USER="u", TACHO_PROMETHEUS_PASSWORD="geheim",
                       TACHO_PROMETHEUS_HEADERS="X-Scope-OrgID=team")
        self.assertNotIn("TACHO_PROMETHEUS", done.out)
        self.assertEqual(self.receiver.log[0]["headers"]["authorization"], "Basic dTpnZWhlaW0=")
        self.assertEqual(self.receiver.log[0]["headers"]["x-scope-orgid"], "team")

    def test_refused_options(self):
        for place in ("prometheus+https://u:p@host/x", "prometheus+http://203.0.113.9/x", "prometheus+https://host/x#no=1",
                      "prometheus+https://host/x#gzip=0", "otlp+https://host#run_id=0", "otlp:host", "prometheus+https:///x"):
            done = self.tacho("run", "-o", place, "--", "true")
            self.assertEqual(done.rc, 125, (place, done))
            self.assertNotIn(":p@", done.err)
        done = self.tacho("run", "-o", "prometheus+https://host/x", "--", "true", env={"TACHO_PROMETHEUS_HEADERS": "Host=x"})
        self.assertEqual(done.rc, 125, done)
        self.assertEqual(self.spools(), [])

    def test_one_bad_sample_is_found(self):
        self.rules({"action": {"do": {"refuse": {"name": "tacho_job_exit_code"}}}})
        done = self.go()
        self.check()
        self.assertIn("out of order sample", done.err)
        text = open(self.letters()[0], encoding="utf-8").read()
        self.assertTrue(text.startswith("tacho_job_exit_code{"), text)
        self.assertTrue(text.endswith("# EOF\n"))
        self.assertEqual([value for _, value in self.receiver.values("tacho_job_exit_code")], [None])

    def test_refused_samples_fail_a_strict_run_only(self):
        self.rules({"action": {"status": 400}})
        self.go("true", options=("--strict",), rc=125)
        self.assertEqual(self.spools(), [])

    def test_answers_that_pass(self):
        for rules in ([{"match": {"nth": 1}, "action": {"status": 429, "headers": {"Retry-After": "1"}}}],
                      [{"match": {"to": 3}, "action": {"status": 500}}],
                      [{"match": {"nth": 1}, "action": {"status": 503}}],
                      [{"match": {"nth": 1}, "action": {"reset": "answer"}}],
                      [{"match": {"nth": 1}, "action": {"reset": "body"}}],
                      [{"action": {"do": {"most": 7}}}]):
            with self.subTest(rules=rules):
                self.receiver.series.clear()
                self.rules(*rules)
                for folder in self.run_folders():
                    os.rename(folder, folder + ".before")
                self.go()
                self.assertEqual(self.letters(), [])

    def test_a_batch_that_breaks_the_server(self):
        self.rules({"action": {"do": {"refuse": {"name": "tacho_job_info"}, "status": 500}}})
        self.go("true", TACHO_FINISH_TIMEOUT="60")
        self.assertEqual(self.spools(), [])
        self.assertIn("tacho_job_info{", open(self.letters()[0], encoding="utf-8").read())
        self.assertTrue(self.receiver.values("tacho_job_running"))

    def test_a_wrong_token_keeps_the_run(self):
        self.rules({"action": {"status": 401}})
        done = self.go()
        self.assertEqual(len(self.spools()), 1)
        self.assertIn("setting is wrong", done.err)
        done = self.tacho("deliver", "--json", env={"TACHO_PROMETHEUS_TOKEN": "new"})
        self.assertIn("TACHO_PROMETHEUS_URL", done.err)
        self.rules()
        done = self.tacho("deliver", "--json", env={"TACHO_PROMETHEUS_TOKEN": "new", "TACHO_PROMETHEUS_URL": self.server.url})
        self.assertEqual(done.rc, 0, done)
        line = json.loads(done.out.splitlines()[0])
        self.assertEqual((line["state"], line["refused"], line["waiting"], line["dead_letter"]), ("delivered", 0, 0, None))
        self.assertEqual(line["sent"], sum(len(samples) for samples in self.receiver.series.values()))
        self.assertEqual(self.receiver.log[-1]["headers"]["authorization"], "Bearer new")
        self.check()

    def test_a_redirect_to_another_host_is_not_followed(self):
        self.rules({"action": {"status": 307, "headers": {"Location": "http://localhost:1/x"}}})
        self.go("true", TACHO_PROMETHEUS_TOKEN="geheim")
        self.assertEqual(len(self.spools()), 1)

    def test_a_page_to_be_seen_is_no_receipt(self):
        """303 asks for a GET, such as of a proxy's login page: what that answers says nothing of the samples."""
        self.rules({"match": {"method": "POST"}, "action": {"status": 303, "headers": {"Location": "/login"}}})
        done = self.go("true")
        self.assertEqual({request["method"] for request in self.receiver.log}, {"POST"})
        self.assertEqual(len(self.spools()), 1)
        self.assertIn("setting is wrong", done.err)

    def test_later_and_the_same_bytes_again(self):
        self.go(options=("--deliver", "later"))
        self.assertEqual(self.receiver.log, [])
        self.assertEqual(len(self.spools()), 1)
        self.rules({"match": {"nth": 1}, "action": {"reset": "answer"}})
        done = self.tacho("deliver", "--all")
        self.assertEqual(done.rc, 0, done)
        self.assertEqual(self.receiver.bodies[0], self.receiver.bodies[1])
        self.check()

    def test_follow_takes_what_becomes_free(self):
        follower = self.spawn("deliver", "--follow")
        for _ in range(3):
            self.go("true", options=("--deliver", "later"))
        until(lambda: not self.spools())
        follower.terminate()
        self.assertEqual(follower.wait(20), 0)
        self.assertEqual(len({dict(key)["run_id"] for key in self.receiver.series}), 3)

    def test_otlp(self):
        self.go(kind="otlp", fragment="#encoding=json", options=("-n", "align"),
                OTEL_RESOURCE_ATTRIBUTES="team.x=a%20b", OTEL_EXPORTER_OTLP_HEADERS="x-key=a%3Db", OTEL_SERVICE_NAME="s")
        seen = self.receiver.log[0]
        self.assertEqual((seen["path"], seen["headers"]["x-key"]), ("/v1/metrics", "a=b"))
        self.assertEqual(seen["headers"]["content-encoding"], "gzip")
        resource = {entry["key"]: entry["value"] for entry in self.receiver.requests[0]["resourceMetrics"][0]["resource"]["attributes"]}
        self.assertEqual(resource["service.name"], {"stringValue": "s"})
        self.assertEqual(resource["team.x"], {"stringValue": "a b"})
        self.assertEqual(resource["tacho.scope"], {"stringValue": "tree"})
        self.assertEqual(resource["process.command_args"]["arrayValue"]["values"][0], {"stringValue": "sleep"})
        points = [point for request in self.receiver.requests for metric in request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]
                  if metric["name"] == "process.memory.usage" for point in metric["sum"]["dataPoints"]]
        rows = [row for row in self.rows() if row["process_memory_mib"]]
        self.assertEqual([(p["timeUnixNano"], p["asInt"]) for p in points],
                         [(str(round(float(r["timestamp"]) * 1000) * 10 ** 6), str(round(float(r["process_memory_mib"]) * 2 ** 20))) for r in rows])
        self.assertEqual(self.spools(), [])

    def test_what_is_hidden_does_not_leave_the_machine(self):
        pod = {"KUBERNETES_SERVICE_HOST": "h", "POD_NAME": "pod-17", "NODE_NAME": "node-9", "POD_NAMESPACE": "space"}
        for hidden, kept in (("team", {"pod-17", "node-9", "space"}), ("host_name", {"space"}), ("external_run_id", {"node-9", "space"})):
            self.receiver.requests.clear()
            self.go("true", kind="otlp", fragment="#encoding=json", options=("--hide", hidden), **pod)
            said = json.dumps(self.receiver.requests)
            self.assertEqual({word for word in ("pod-17", "node-9", "space") if word in said}, kept, hidden)

    def test_otlp_answers(self):
        self.rules({"action": {"do": {"body": "\x0a\x06\x08\x03\x12\x02no"}}})
        done = self.go("true", kind="otlp")
        self.assertIn("(no)", done.err)
        self.rules({"match": {"nth": 1}, "action": {"status": 500}})
        self.go("true", kind="otlp")
        lines = [json.loads(line) for line in open(self.letters()[0], encoding="utf-8")]
        self.assertIn("resourceMetrics", lines[0])
        self.rules({"match": {"nth": 1}, "action": {"status": 503}})
        self.go("true", kind="otlp")
        self.assertEqual(self.spools(), [])
