"""The end of a run at the service: what finish says, and when it is not said."""
import json
import os
import time

from support import until
from delivery_case import Delivery


class Finish(Delivery):
    def test_short_run(self):
        _, run = self.go("true", source="inline")
        finish = run["finish"]
        self.assertEqual((finish["run_status"], finish["exit_code"]), ("finished", 0))
        self.assertRegex(finish["finished_at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual(self.service.s3.log, [])

    def test_exit_codes(self):
        for script, code, status in (("exit 3", 3, 3), ("kill -9 $$", 137, -9)):
            with self.subTest(script):
                self.use()
                done = self.tacho("run", "--no-store", "--", "sh", "-c", script, env=self.env())
                self.assertEqual(done.rc, status, done)
                finish = self.the_finished()["finish"]
                self.assertEqual((finish["run_status"], finish["exit_code"]), ("failed", code))

    def test_slow(self):
        self.service.api_faults({"match": {"path": ".*/finish"}, "action": {"delay_s": 3}})
        self.go()

    def test_500_then_200(self):
        self.service.api_faults({"match": {"path": ".*/finish", "to": 2}, "action": {"status": 500}})
        self.go()

    def test_lost_answer_then_409(self):
        self.service.api_faults({"match": {"path": ".*/finish", "nth": 1}, "action": {"reset": "answer"}})
        _, run = self.go()
        self.assertEqual(run["finishes"], 1)
        self.assertEqual([call.get("status") for call in self.service.calls("/finish")], [200, 409])

    def test_retry_after(self):
        self.service.api_faults({"match": {"path": ".*/finish", "nth": 1}, "action": {"status": 429, "headers": {"Retry-After": "2"}}})
        self.go()
        first, second = self.service.calls("/finish")
        self.assertGreaterEqual(second["time"] - first["time"], 1.9)

    def test_retry_after_holds_at_the_end(self):
        self.service.api_faults({"match": {"path": "/runs", "nth": 1}, "action": {"status": 429, "headers": {"Retry-After": "2"}}})
        self.go("sleep", "0.5")
        first, second = self.service.calls("/runs")
        self.assertGreaterEqual(second["time"] - first["time"], 1.9)

    def test_retry_after_beyond_the_end_is_not_waited_for(self):
        self.service.api_faults({"match": {"path": ".*/finish", "nth": 1}, "action": {"status": 503, "headers": {"Retry-After": "250"}}})
        done = self.tacho("run", "--", "true", env=self.env(TACHO_FINISH_TIMEOUT="200"))
        self.assertEqual((done.rc, len(self.spools()), len(self.service.calls("/finish"))), (0, 1, 1), done)
        with open(os.path.join(self.spools()[0], "meta.json"), encoding="utf-8") as file:
            meta = json.load(file)
        self.assertEqual(([meta["run_id"]], meta["sealed"], meta["uploaded"]), (list(self.service.runs()), [0], {}))
        self.assertEqual((meta["prefix"][:5], meta["outcome"]["exit_code"], meta["start"]["command"]), ("s3://", 0, '["true"]'))
        self.deliver("--all")
        self.check("inline")

    def test_413(self):
        self.use({"inline_limit": 1000})
        self.go("true", source="s3")

    def test_413_without_a_bucket(self):
        self.use({"inline_limit": 1000, "prefix": None})
        done = self.tacho("run", "--", "true", env=self.env(TACHO_FINISH_TIMEOUT="3"))
        self.assertEqual((done.rc, len(self.spools())), (0, 1), done)

    def test_other_name_of_inline(self):
        self.use({"data_sources": ["local", "s3"]})
        self.go("true", source="local")

    def test_named_local(self):
        self.use({"data_sources": ["local", "s3"]})
        self.go("true", source="local", TACHO_DATA_SOURCE_LOCAL_NAME="local")
        self.assertEqual(len(self.service.calls("/finish")), 1)

    def test_finished_at_refused(self):
        self.use({"reject_finish": ["finished_at"]})
        _, run = self.go()
        self.assertNotIn("finished_at", run["finish"])

    def test_compressed_bodies(self):
        self.use({"gzip": True})
        self.go(TACHO_SENTINEL_GZIP="1")
        self.assertTrue(all("gzip" in call["headers"].get("content-encoding", "") for call in self.service.calls("/finish")))

    def test_compressed_bodies_refused(self):
        self.go(TACHO_SENTINEL_GZIP="1")

    def test_forgotten_run(self):
        process = self.spawn("run", "-i", "0.1", "--upload-interval", "1", "--", "sleep", "3", env=self.env())
        self.assertTrue(until(lambda: len(self.service.s3.objects) >= 1))
        for run in self.service.runs().values():
            run["forgotten"] = True
        self.assertEqual(process.wait(30), 0)
        self.check()
        self.assertEqual(len(self.service.runs()), 2)

    def test_retry_after_of_s3_is_not_waited_for(self):
        self.service.s3_faults({"match": {"method": "PUT", "from": 2}, "action": {"status": 503, "code": "SlowDown", "headers": {"Retry-After": "200"}}})
        begun = time.monotonic()
        self.batches(2.5, source="inline", TACHO_FINISH_TIMEOUT="120")
        self.assertLess(time.monotonic() - begun, 50)  # half of the time is S3's

    def test_forgotten_at_the_end(self):
        self.service.api_faults({"match": {"path": ".*/finish", "nth": 1}, "action": {"status": 404}})
        run = self.batches(1.5)[1]
        self.assertEqual(len(self.service.runs()), 2)
        new_id = [name for name, entry in self.service.runs().items() if entry is run][0]
        self.assertTrue(all(new_id in uri for uri in run["finish"]["data_uris"]), run["finish"])

    def test_statistics_in_the_store(self):
        self.use({"stats": {"cpu": {"mean": 1.25}, "verdict": "idle"}})
        self.go()
        with open(os.path.join(self.run_folders()[0], "run.json"), encoding="utf-8") as file:
            delivery = json.load(file)["delivery"][0]
        self.assertEqual(delivery["processing"]["rows"], len(self.local_rows()))
        shown = self.tacho("show", "last")
        self.assertIn("delivered to " + self.service.api_server.url, shown.out)
        self.assertIn(", cpu.mean 1.25, verdict idle", shown.out)

    def test_heartbeat_is_off_without_a_path(self):
        self.batches()
        self.assertEqual(self.service.calls("/heartbeat"), [])
