"""Watches of tacho-katib trials: bookmarks, cuts, 410 in both forms, half-read lists, deletions during a gap, faults of the server."""
import json
import time
import unittest

from cluster import TRIALS, ClusterCase, a_trial, conditions
from support import SANITIZED, until
from test_kube_trials import ROWS


class TestKubeWatch(ClusterCase):
    def setUp(self):
        super().setUp()
        self.start_db()

    def requests(self, *words):
        with self.kube.lock:
            return [entry for entry in self.kube.log if entry["method"] == "GET" and all(word in entry["path"] for word in words)]

    def lists(self):
        return [entry for entry in self.requests("/trials?") if "watch=1" not in entry["path"]]

    def watches(self):
        return self.requests("/trials?", "watch=1")

    def settled(self):
        """Both the list and the first watch of Trials were made."""
        self.assertTrue(until(lambda: self.watches()), self.logs())

    def works(self, name):
        self.create(a_trial(name))
        self.started(name)

    def test_asks_as_the_contract_says(self):
        self.start_trials()
        self.settled()
        self.assertIn("limit=500", self.lists()[0]["path"])
        path = self.watches()[0]["path"]
        for word in ("watch=1", "allowWatchBookmarks=true", "resourceVersion=", "timeoutSeconds="):
            self.assertIn(word, path)
        seconds = int(path.split("timeoutSeconds=")[1].split("&")[0])
        self.assertTrue(240 <= seconds <= 360, seconds)

    def test_resumes_from_a_bookmark_without_a_list(self):
        self.start_trials()
        self.settled()
        self.works("first")
        # Other kinds of objects move the version on; a bookmark tells the watch of it.
        for number in range(5):
            self.kube.put("v1", "pods", {"metadata": {"name": f"p{number}", "namespace": "team"}})
        marked = self.kube.version
        self.kube.bookmark()
        time.sleep(0.3)
        before = len(self.watches())
        self.kube.cut()
        self.assertTrue(until(lambda: len(self.watches()) > before), self.logs())
        resumed = int(self.watches()[before]["path"].split("resourceVersion=")[1].split("&")[0])
        self.assertGreaterEqual(resumed, marked)
        self.works("second")
        self.assertEqual(len(self.lists()), 1, "a cut is no reason to list again")

    def test_ends_are_normal(self):
        self.start_trials("--watch-timeout", "1s")
        self.settled()
        self.assertTrue(until(lambda: len(self.watches()) >= 4))
        self.works("after")
        self.assertEqual(len(self.lists()), 1)

    def gone(self, how):
        self.kube.config["gone_as"] = how
        self.start_trials()
        self.settled()
        self.works("stays")
        self.works("goes")
        # While nobody listens: one Trial and its job vanish, another one comes, and the server forgets everything before.
        self.kube.config["gone_as"] = how
        with self.kube.lock:
            self.kube.drop(TRIALS, "trials", "team", "goes", silent=True)
            self.kube.drop("batch/v1", "jobs", "team", "goes", silent=True)
            self.kube.put(TRIALS, "trials", a_trial("comes"))
            self.kube.compact()
            self.kube.version += 1
            self.kube.oldest = self.kube.version
            self.kube.cut()
        self.started("comes")
        self.assertTrue(until(lambda: len(self.lists()) >= 2), self.logs())
        # "goes" is not worked on any more: its job is not made again.
        self.kube.bookmark()
        time.sleep(0.5)
        self.assertIsNone(self.job("goes"))
        self.add_rows("stays", *ROWS)
        self.finish_job("stays")
        self.wait_state("stays", "Succeeded")

    def test_gone_as_status(self):
        self.gone("status")

    def test_gone_as_event(self):
        self.gone("event")

    def test_error_event_in_the_middle(self):
        self.start_trials()
        self.settled()
        self.works("one")
        expired = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": 410, "message": "too old"}
        self.kube.inject({"type": "ERROR", "object": expired})
        self.assertTrue(until(lambda: len(self.lists()) == 2), self.logs())
        self.works("two")

    def test_list_in_pages_and_expired_continue(self):
        # A continue token is forgotten after the first page: the list begins again and is complete.
        for number in range(1200):
            self.kube.put(TRIALS, "trials", {**a_trial(f"t{number:04}"), "status": {"conditions": [{"type": "Succeeded", "status": "True"}]}})
        for number in range(1200):
            self.kube.objects[(TRIALS, "trials")][("team", f"t{number:04}")]["metadata"]["finalizers"] = ["clean-metrics-in-db"]
            self.kube.objects[(TRIALS, "trials")][("team", f"t{number:04}")]["status"]["conditions"].insert(0, {"type": "Created", "status": "True"})
        real, expired = self.kube.list, []

        def list_once(api, plural, ns, query):
            if plural == "trials" and query.get("continue") and not expired:
                expired.append(1)
                self.kube.pages.clear()
            return real(api, plural, ns, query)
        self.kube.list = list_once
        self.start_trials()
        self.settled()
        self.assertEqual(len(expired), 1)
        pages = [entry["status"] for entry in self.lists()]
        self.assertEqual(pages.count(410), 1)
        self.assertEqual(pages.count(200), 1 + 3)
        self.works("fresh")

    def test_server_in_trouble(self):
        self.kube.rules.replace([
            {"match": {"path": "/apis/kubeflow.org/v1beta1/trials", "nth": [1, 2]}, "action": {"status": 503, "code": "ServiceUnavailable"}},
            {"match": {"path": "/apis/kubeflow.org/v1beta1/trials", "nth": 3}, "action": {"status": 429, "code": "TooManyRequests", "headers": {"Retry-After": "1"}}},
            {"match": {"path": ".*/trials/one/status", "nth": 1}, "action": {"status": 500, "code": "InternalError"}},
            {"match": {"path": ".*/trials/one/status", "nth": 2}, "action": {"reset": "answer"}},
            {"match": {"path": ".*/jobs", "method": "POST", "nth": 1}, "action": {"reset": "answer"}}])
        self.create(a_trial("one"))
        self.start_trials()
        self.started("one")
        self.add_rows("one", *ROWS)
        self.finish_job("one")
        trial = self.wait_state("one", "Succeeded")
        self.assertEqual([entry[0] for entry in conditions(trial)].count("Created"), 1)

    def test_garbage_in_the_stream(self):
        self.start_trials()
        self.settled()
        self.kube.inject("this is no event")
        self.assertTrue(until(lambda: len(self.lists()) >= 2), self.logs())
        self.works("one")

    def test_token_instead_of_a_certificate(self):
        self.write("token", "a-token\n")
        self.api.write_config("tokenFile: token")
        self.start_trials()
        self.works("one")
        self.assertTrue(all(entry["headers"].get("authorization") == "Bearer a-token" for entry in self.requests("/trials")))
        for name in ("trials-a.log", "db.log"):
            self.assertNotIn("a-token", self.read(name))

    def test_wrong_ca_is_refused(self):
        import os
        import subprocess
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "x.key", "-out", "other.pem",
                        "-subj", "/CN=other"], cwd=self.dir, check=True, capture_output=True)
        os.replace(self.path("other.pem"), self.path("ca.pem"))
        self.start_trials(wait=False)
        self.assertTrue(until(lambda: "certificate" in self.read("trials-a.log")), self.logs())
        self.assertEqual(self.kube.log, [])


class TestKubeMany(ClusterCase):
    weight = 15

    def test_ten_thousand_trials(self):
        """Below 64 MiB, and an event still reaches the status at once."""
        if SANITIZED:
            self.skipTest("a sanitizer needs more memory by itself")
        self.start_db()
        command = ["python3", "/opt/katib/train.py", "--epochs=10", "--lr=0.0123456", "--optimizer=adam", "--data=/mnt/data/mnist"]
        for number in range(10_000):
            trial = a_trial(f"trial-{number:05}")
            trial["metadata"].update(finalizers=["clean-metrics-in-db"], managedFields=[{"manager": "m", "fieldsV1": {f"f:field{i}": {} for i in range(40)}}])
            container = trial["spec"]["runSpec"]["spec"]["template"]["spec"]["containers"][0]
            container.update(command=command, env=[{"name": f"VARIABLE_{i}", "value": f"value of the variable {i}"} for i in range(12)])
            trial["spec"]["parameterAssignments"] = [{"name": f"parameter{i}", "value": str(number * 0.001 + i)} for i in range(10)]
            trial["status"] = {"startTime": "2026-11-15T10:00:00Z", "completionTime": "2026-11-15T11:00:00Z",
                               "conditions": [{"type": kind, "status": status, "reason": "Trial" + kind, "message": f"Trial is {kind}",
                                               "lastUpdateTime": "2026-11-15T10:00:00Z", "lastTransitionTime": "2026-11-15T10:00:00Z"}
                                              for kind, status in (("Created", "True"), ("Running", "False"), ("Succeeded", "True"))],
                               "observation": {"metrics": [{"name": name, "min": "0.1", "max": "0.9", "latest": "0.8"} for name in ("accuracy", "loss")]}}
            self.kube.put(TRIALS, "trials", trial)
        size = len(json.dumps(self.kube.get(TRIALS, "trials", "team", "trial-00000")))
        self.kube.history.clear()
        process = self.start_trials()
        self.assertTrue(until(lambda: any("watch=1" in entry["path"] and "/trials?" in entry["path"] for entry in self.kube.log), 60), self.logs())
        self.create(a_trial("fresh"))
        self.started("fresh")
        self.add_rows("fresh", *ROWS)
        began = time.time()
        self.finish_job("fresh")
        self.wait_state("fresh", "Succeeded")
        took = self.status_writes("fresh")[-1][0] - began
        with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
            memory = dict(line.split(":", 1) for line in file)
        peak, now = (int(memory[key].split()[0]) / 1024 for key in ("VmHWM", "VmRSS"))
        print(f"10,000 Trials of {size} bytes: {now:.0f} MiB, peak {peak:.0f} MiB; from the job's end to the status {took * 1000:.0f} ms")
        self.assertLess(now, 64)
        self.assertLess(took, 2)  # 0.1 s is meant


class TestKubeLeader(ClusterCase):
    weight = 20
    LEASE = "3fbc96e9.katib.kubeflow.org"

    def setUp(self):
        super().setUp()
        self.start_db()

    def lease(self):
        return self.kube.get("coordination.k8s.io/v1", "leases", "kubeflow", self.LEASE)

    def test_lease_as_the_contract_says(self):
        self.start_trials()
        lease = self.lease()["spec"]
        self.assertEqual((lease["holderIdentity"], lease["leaseDurationSeconds"], lease["leaseTransitions"]), ("a", 10, 0))
        self.assertRegex(lease["renewTime"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")
        first = lease["renewTime"]
        self.assertTrue(until(lambda: self.lease()["spec"]["renewTime"] != first, 10))
        self.assertEqual(self.lease()["spec"]["acquireTime"], lease["acquireTime"])

    def test_kill_of_the_leader(self):
        leader = self.start_trials(name="a")
        self.start_trials(name="b", wait=False)
        for name in ("one", "two"):
            self.create(a_trial(name))
            self.started(name)
            self.add_rows(name, *ROWS)
        self.assertNotIn("leads", self.read("trials-b.log"))
        leader.kill()
        killed = time.time()
        self.finish_job("one")
        self.finish_job("two")
        self.wait_state("one", "Succeeded", seconds=60)
        self.wait_state("two", "Succeeded", seconds=60)
        self.assertLess(time.time() - killed, 15)
        self.assertEqual(self.lease()["spec"]["holderIdentity"], "b")
        self.assertEqual(self.lease()["spec"]["leaseTransitions"], 1)
        # One write of the end for each: nobody wrote twice.
        for name in ("one", "two"):
            ends = [entry for entry in self.status_writes(name) if any(c["type"] == "Succeeded" for c in entry[3]["status"]["conditions"])]
            self.assertEqual(len(ends), 1)

    def test_handover_is_quick(self):
        leader = self.start_trials(name="a")
        self.start_trials(name="b", wait=False)
        time.sleep(1)
        leader.terminate()
        self.assertEqual(leader.wait(20), 0)
        ended = time.time()
        self.assertTrue(until(lambda: "leads" in self.read("trials-b.log")), self.logs())
        self.assertLess(time.time() - ended, 8)  # not the ten seconds of a lease that runs out

    def test_lost_lease_ends_the_replica(self):
        leader = self.start_trials(name="a")

        def steal(lease):
            lease["spec"].update(holderIdentity="thief", renewTime="2026-01-01T00:00:00.000000Z")
        self.kube.change("coordination.k8s.io/v1", "leases", "kubeflow", self.LEASE, steal)
        self.assertEqual(leader.wait(20), 1, self.logs())
        self.assertIn("thief", self.read("trials-a.log"))
        self.assertEqual(self.lease()["spec"]["holderIdentity"], "thief")

    def test_a_lease_that_is_removed_is_made_anew(self):
        """What is left of one whose holder is gone is often removed by hand. Who had seen it wanted to make the new one with the old
        one's version, which no server takes, and never led."""
        stale = {"metadata": {"name": self.LEASE, "namespace": "kubeflow"}, "spec": {
            "holderIdentity": "dead", "leaseDurationSeconds": 3600, "acquireTime": "2026-01-01T00:00:00.000000Z", "renewTime": "2026-01-01T00:00:00.000000Z",
            "leaseTransitions": 7}}
        self.kube.put("coordination.k8s.io/v1", "leases", stale)
        waiting = self.start_trials(name="a", wait=False)
        self.assertTrue(until(lambda: any("/leases/" in entry["path"] for entry in self.kube.log)), self.logs())
        self.kube.drop("coordination.k8s.io/v1", "leases", "kubeflow", self.LEASE)
        self.assertTrue(until(lambda: "leads" in self.read("trials-a.log"), 20), self.logs())
        # The same under a leader's hands: it goes on leading.
        self.kube.drop("coordination.k8s.io/v1", "leases", "kubeflow", self.LEASE)
        self.assertTrue(until(lambda: self.lease() and self.lease()["spec"]["holderIdentity"] == "a", 20), self.logs())
        time.sleep(8)  # longer than a leader stays one without a renewal
        self.assertIsNone(waiting.poll(), self.logs())

    def test_leader_without_server_stops_writing(self):
        leader = self.start_trials(name="a")
        self.kube.rules.replace([{"match": {"path": ".*/leases/.*"}, "action": {"status": 500, "code": "InternalError"}}])
        self.assertEqual(leader.wait(30), 1, self.logs())


if __name__ == "__main__":
    unittest.main()
