"""tacho-katib trials: the life of a Trial against the API-server double and a real DB manager of tacho's."""
import json
import time
import unittest

from cluster import TRIALS, ClusterCase, a_trial, conditions, fetch, observation
from support import until

ROWS = [("2026-11-15T10:00:00Z", "accuracy", "0.5"), ("2026-11-15T10:00:01Z", "accuracy", "0.91"), ("2026-11-15T10:00:02Z", "accuracy", "0.80"),
        ("2026-11-15T10:00:00Z", "loss", "1e-1"), ("2026-11-15T10:00:02Z", "loss", "0.30")]


class TestKubeTrialLife(ClusterCase):
    def setUp(self):
        super().setUp()
        self.start_db()

    def test_a_good_answer_that_is_no_trial(self):
        """A proxy on the way says 200 to writes that never arrived: they are made again, and no empty object is taken for the Trial."""
        self.kube.rules.replace([{"match": {"path": ".*/trials/one.*", "method": method, "from": 1, "to": 2}, "action": {"status": 200, "body": "[]"}}
                                 for method in ("PUT", "PATCH")])
        self.start_trials()
        self.create(a_trial("one"))
        self.started("one")
        self.assertNotIn("Events cannot be written", self.logs())

    def test_succeeds(self):
        self.start_trials()
        self.create(a_trial("one"))
        job = self.started("one")
        trial = self.trial("one")
        self.assertEqual(conditions(trial), [("Created", "True"), ("Running", "True")])
        self.assertIn("clean-metrics-in-db", trial["metadata"]["finalizers"])
        self.assertRegex(trial["status"]["startTime"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual(trial["spec"]["futureField"], {"kept": [1, 2.5, None]})
        owner = job["metadata"]["ownerReferences"]
        self.assertEqual(owner, [{"apiVersion": TRIALS, "kind": "Trial", "name": "one", "uid": trial["metadata"]["uid"], "controller": True,
                                  "blockOwnerDeletion": True}])
        self.add_rows("one", *ROWS)
        began = time.time()
        self.finish_job("one", reason="Done", message="all good")
        trial = self.wait_state("one", "Succeeded")
        self.assertLess(self.status_writes("one")[-1][0] - began, 2)  # 0.1 s is meant; a loaded machine may take longer
        self.assertEqual(conditions(trial), [("Created", "True"), ("Running", "False"), ("Succeeded", "True")])
        last = trial["status"]["conditions"][-1]
        self.assertEqual((last["reason"], last["message"]), ("TrialSucceeded. Job reason: Done", "Trial has succeeded. Job message: all good"))
        self.assertEqual(observation(trial), {"accuracy": ("0.5", "0.91", "0.80"), "loss": ("1e-1", "0.30", "0.30")})
        self.assertEqual([entry["name"] for entry in trial["status"]["observation"]["metrics"]], ["accuracy", "loss"])
        self.assertTrue(trial["status"]["completionTime"])
        self.assertTrue(until(lambda: self.job("one") is None), "the job stays")
        deletion = [entry[3] for entry in self.kube.writes if entry[1] == "DELETE"]
        self.assertEqual([entry["propagationPolicy"] for entry in deletion], ["Foreground"])
        # Nothing more is written when nothing changes.
        written = len(self.kube.writes)
        time.sleep(1)
        self.assertEqual([entry[1:3] for entry in self.kube.writes[written:] if "leases" not in entry[2] and "events" not in entry[2]], [])

    def test_job_that_ended_while_nobody_watched(self):
        """It is known by a list only, whose items do not say their kind; and the Trial leaves the conditions to the defaults."""
        first = self.start_trials()
        trial = a_trial("away")
        del trial["spec"]["successCondition"], trial["spec"]["failureCondition"]
        self.create(trial)
        self.started("away")
        first.terminate()
        self.assertEqual(first.wait(30), 0)
        self.add_rows("away", *ROWS)
        self.finish_job("away")
        self.start_trials(name="b")
        self.wait_state("away", "Succeeded")
        self.assertTrue(until(lambda: self.job("away") is None), self.logs())

    def test_retained_job_stays(self):
        self.start_trials()
        self.create(a_trial("keep", retainRun=True))
        self.started("keep")
        self.add_rows("keep", *ROWS)
        self.finish_job("keep")
        self.wait_state("keep", "Succeeded")
        time.sleep(0.5)
        self.assertIsNotNone(self.job("keep"))

    def test_fails(self):
        self.start_trials()
        self.create(a_trial("bad"))
        self.started("bad")
        self.finish_job("bad", "Failed", reason="BackoffLimitExceeded", message="too often")
        trial = self.wait_state("bad", "Failed")
        self.assertEqual(conditions(trial), [("Created", "True"), ("Running", "False"), ("Failed", "True")])
        self.assertEqual(trial["status"]["conditions"][-1]["reason"], "TrialFailed. Job reason: BackoffLimitExceeded")
        self.assertNotIn("observation", trial["status"])
        self.assertTrue(until(lambda: any(event["reason"] == "JobFailed" for event in self.kube.all("v1", "events"))))

    def test_metrics_unavailable(self):
        self.start_trials()
        self.create(a_trial("none"))
        self.started("none")
        self.add_rows("none", ("0001-01-01T00:00:00Z", "accuracy", "unavailable"))
        self.finish_job("none")
        trial = self.wait_state("none", "MetricsUnavailable")
        last = trial["status"]["conditions"][-1]
        self.assertEqual((last["type"], last["reason"], last["message"]), ("MetricsUnavailable", "MetricsUnavailable", "Metrics are not available"))
        self.assertEqual(observation(trial)["accuracy"], ("unavailable",) * 3)
        self.assertTrue(trial["status"]["completionTime"])

    def test_waits_for_rows_then_gives_up(self):
        self.start_trials("--metrics-wait", "3s")
        for name in ("late", "never"):
            self.create(a_trial(name))
            self.started(name)
            self.finish_job(name)
        time.sleep(0.5)
        self.assertNotIn(("Succeeded", "True"), conditions(self.trial("late")))
        self.add_rows("late", *ROWS)
        self.wait_state("late", "Succeeded")
        trial = self.wait_state("never", "MetricsUnavailable")
        self.assertIn("accuracy", trial["status"]["conditions"][-1]["message"])

    def test_a_trial_made_again_waits_anew(self):
        """It was given up at once for what its namesake had waited before it."""
        self.start_trials("--metrics-wait", "6s")
        self.create(a_trial("again"))
        self.started("again")
        self.finish_job("again")
        time.sleep(5)
        with self.kube.lock:
            self.kube.drop("batch/v1", "jobs", "team", "again")
            self.kube.drop(TRIALS, "trials", "team", "again")
            self.kube.put(TRIALS, "trials", a_trial("again"))
        self.started("again")
        self.finish_job("again")
        finished = time.monotonic()
        self.wait_state("again", "MetricsUnavailable")
        self.assertGreater(time.monotonic() - finished, 5)

    def test_push_writes_the_row_itself(self):
        self.start_trials()
        self.create(a_trial("push", metricsCollector={"collector": {"kind": "Push"}}))
        self.started("push")
        self.finish_job("push")
        self.wait_state("push", "MetricsUnavailable")
        self.assertEqual(self.count_rows("push"), 1)

    def test_early_stopped(self):
        self.start_trials()
        self.create(a_trial("early"))
        self.started("early")
        self.add_rows("early", *ROWS)

        def stop(trial):
            trial["status"]["conditions"].append({"type": "EarlyStopped", "status": "True", "reason": "TrialEarlyStopped",
                                                  "message": "Trial is early stopped"})
        self.kube.change(TRIALS, "trials", "team", "early", stop)
        self.assertTrue(until(lambda: "observation" in self.trial("early")["status"]), self.logs())
        self.assertTrue(until(lambda: self.job("early") is None), "not cleaned up")
        trial = self.trial("early")
        self.assertEqual(observation(trial)["accuracy"], ("0.5", "0.91", "0.80"))
        self.assertEqual(conditions(trial), [("Created", "True"), ("Running", "False"), ("EarlyStopped", "True")], "the last one is shown")
        self.assertNotIn("Failed", [entry[0] for entry in conditions(trial)])
        # The observation came first, then the clean-up.
        order = [entry[1] for entry in self.kube.writes if entry[1] in ("PUT", "DELETE") and "lease" not in entry[2]]
        self.assertEqual(order[-2:], ["PUT", "DELETE"], [entry[1:] for entry in self.kube.writes if "event" not in entry[2]])

    def test_finalizer_deletes_the_rows(self):
        self.start_trials()
        self.create(a_trial("gone"))
        self.started("gone")
        self.add_rows("gone", *ROWS)
        self.kube.delete(TRIALS, "trials", "team", "gone", {})
        self.assertTrue(until(lambda: self.trial("gone") is None), self.logs())
        self.assertEqual(self.count_rows("gone"), 0)

    def test_rows_stay_while_a_namesake_lives(self):
        self.put_namespace("other")
        self.start_trials()
        self.create(a_trial("twin"))
        self.create(a_trial("twin", ns="other"))
        self.started("twin")
        self.assertTrue(until(lambda: self.job("twin", "other")))
        self.assertTrue(until(lambda: any(event["reason"] == "RowsShared" for event in self.kube.all("v1", "events"))), self.logs())
        self.add_rows("twin", *ROWS)
        self.kube.delete(TRIALS, "trials", "team", "twin", {})
        self.assertTrue(until(lambda: self.trial("twin") is None), self.logs())
        self.assertEqual(self.count_rows("twin"), len(ROWS))
        self.kube.delete(TRIALS, "trials", "other", "twin", {})
        self.assertTrue(until(lambda: self.trial("twin", "other") is None))
        self.assertEqual(self.count_rows("twin"), 0)

    def test_two_writers_and_early_stopped_is_kept(self):
        self.start_trials()
        self.create(a_trial("race", retainRun=True))
        self.started("race")
        self.add_rows("race", *ROWS)
        # While our PUT is on its way, the early-stopping service writes the whole list of conditions.
        hits = []

        def stop(trial):
            trial["status"]["conditions"].append({"type": "EarlyStopped", "status": "True", "reason": "TrialEarlyStopped", "message": "m"})
        real = self.kube.update

        def update(api, plural, ns, name, sub, new):
            if sub == "status" and name == "race" and not hits:
                hits.append(1)
                self.kube.change(TRIALS, "trials", "team", "race", stop)
            return real(api, plural, ns, name, sub, new)
        self.kube.update = update
        self.finish_job("race")
        trial = self.wait_state("race", "EarlyStopped")
        self.assertTrue(until(lambda: "observation" in self.trial("race")["status"]), self.logs())
        trial = self.trial("race")
        self.assertIn(("EarlyStopped", "True"), conditions(trial))
        self.assertEqual(observation(trial)["accuracy"], ("0.5", "0.91", "0.80"))
        self.assertTrue(hits)

    def test_a_change_that_overtakes_our_reply(self):
        self.start_trials()
        hits, real = [], self.kube.update

        def update(api, plural, ns, name, sub, new):
            result = real(api, plural, ns, name, sub, new)
            if sub == "status" and name == "late" and not hits and "Running" in json.dumps(new["status"]):
                hits.append(1)
                self.kube.delete(TRIALS, "trials", "team", "late", {})
                time.sleep(0.3)  # the watch tells of the deletion before the reply to our write comes
            return result
        self.kube.update = update
        self.create(a_trial("late"))
        self.assertTrue(until(lambda: hits and not self.trial("late")), self.logs())

    def test_other_kinds_of_jobs(self):
        self.start_trials()
        self.create(a_trial("torch", kind="PyTorchJob"))
        self.assertTrue(until(lambda: self.kube.get("kubeflow.org/v1", "pytorchjobs", "team", "torch")), self.logs())
        self.wait_state("torch", "Running")
        self.add_rows("torch", *ROWS)
        self.kube.change("kubeflow.org/v1", "pytorchjobs", "team", "torch",
                         lambda job: job.update(status={"conditions": [{"type": "Succeeded", "status": "True"}]}))
        self.wait_state("torch", "Succeeded")

    def test_check_mode_writes_nothing(self):
        health = self.start_trials("--metrics-address", "127.0.0.1:0", mode="check")
        self.assertIsNotNone(health)
        trial = a_trial("theirs")
        trial["status"] = {"conditions": [{"type": "Succeeded", "status": "True", "reason": "TrialSucceeded", "message": ""}],
                           "observation": {"metrics": [{"name": "accuracy", "min": "0.5", "max": "0.91", "latest": "0.80"},
                                                       {"name": "loss", "min": "9", "max": "0.30", "latest": "0.30"}]}}
        self.add_rows("theirs", *ROWS)
        self.kube.put(TRIALS, "trials", trial)
        self.assertTrue(until(lambda: "its observation is not what its rows give" in self.read("trials-a.log")), self.logs())
        self.assertEqual([entry[1:3] for entry in self.kube.writes if "leases" not in entry[2]], [])
        self.assertIsNotNone(self.kube.get("coordination.k8s.io/v1", "leases", "kubeflow", "tacho.katib.kubeflow.org"))

    def test_health_metrics_and_end(self):
        import socket
        ports = []
        for _ in range(2):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                ports.append(probe.getsockname()[1])
        config = "init: {controller: {enableLeaderElection: true, leaderElectionID: katibs.own}}"  # never both act: its lease is ours
        self.kube.put("v1", "configmaps", {"metadata": {"name": "katib-config", "namespace": "kubeflow"}, "data": {"katib-config.yaml": config}})
        process = self.start_trials("--health-address", f"127.0.0.1:{ports[0]}", "--metrics-address", f"127.0.0.1:{ports[1]}")
        self.assertTrue(until(lambda: fetch(f"http://127.0.0.1:{ports[0]}/readyz")[0] == 200))
        self.assertEqual(fetch(f"http://127.0.0.1:{ports[0]}/healthz"), (200, "ok\n"))
        self.create(a_trial("counted"))
        self.started("counted")
        text = fetch(f"http://127.0.0.1:{ports[1]}/metrics")[1]
        self.assertIn('katib_trial_created_total{namespace="team"} 1', text)
        self.assertIn("tacho_leader 1", text)
        self.assertTrue(until(lambda: 'katib_trials_current{namespace="team",status="Running"} 1' in fetch(f"http://127.0.0.1:{ports[1]}/metrics")[1]))
        process.terminate()
        self.assertEqual(process.wait(20), 0, self.logs())
        lease = self.kube.get("coordination.k8s.io/v1", "leases", "kubeflow", "katibs.own")
        self.assertEqual(lease["spec"]["holderIdentity"], "")

    def test_bad_options(self):
        from cluster import KUBE
        for words in (["--mode", "both"], ["--nonsense"], ["--workers", "0"], ["--metrics-wait", "soon"], ["--health-address", "nowhere"], ["--db", "nowhere"], ["--tls-cert", "x"]):
            done = self.tacho("trials", *words, program=KUBE)
            self.assertEqual(done.rc, 2, done)
            self.assertIn("--help", done.err)
        done = self.tacho("trials", program=KUBE, env={"KUBECONFIG": None})
        self.assertEqual(done.rc, 1, done)
        self.assertIn("--kubeconfig", done.err)


if __name__ == "__main__":
    unittest.main()
