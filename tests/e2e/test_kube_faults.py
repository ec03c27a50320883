"""Faults at every page of a list and at every event of a watch, one after the other in one process; and what one poisonous object may do."""
import json
import time
import unittest

import faults
from cluster import TRIALS, ClusterCase, a_trial, fetch, kube_double
from injection import free_port
from support import until

STATUS = {"kind": "Status", "apiVersion": "v1", "status": "Failure"}
GONE = {"type": "ERROR", "object": {**STATUS, "code": 410, "reason": "Expired"}}
DONE = [{"type": "Created", "status": "True"}, {"type": "Succeeded", "status": "True"}]


def ended_trial(name, **more):
    """One that needs no work: nothing is asked of the server for it."""
    trial = a_trial(name)
    trial["metadata"]["finalizers"] = ["clean-metrics-in-db"]
    trial["status"] = {"conditions": DONE, "completionTime": "2026-11-15T11:00:00Z"}
    trial.update(more)
    return trial


class TestKubeFaults(ClusterCase):
    weight = 10

    def setUp(self):
        super().setUp()
        self.start_db()
        self.kube.config["page"] = 3

    def start(self, *args):
        self.ports = free_port(), free_port()
        self.process = self.start_trials("--health-address", f"127.0.0.1:{self.ports[0]}", "--metrics-address", f"127.0.0.1:{self.ports[1]}", *args)
        self.assertTrue(until(self.ready, 60), self.logs())

    def metric(self, line):
        text = fetch(f"http://127.0.0.1:{self.ports[1]}/metrics")[1]
        return next((float(entry.rsplit(" ", 1)[1]) for entry in text.splitlines() if entry.startswith(line + " ")), None)

    def ready(self):
        try:
            return fetch(f"http://127.0.0.1:{self.ports[0]}/readyz")[0] == 200
        except OSError:
            return False

    def cached(self):
        return self.metric('tacho_watch_objects{resource="trials"}')

    def expect(self, what):
        names = len(self.kube.all(TRIALS, "trials"))
        self.assertTrue(until(lambda: self.cached() == names, 60), f"{what}: {self.cached()} of {names}\n{self.logs()}")
        self.assertTrue(self.ready(), what)

    PAGE_FAULTS = {
        "500": lambda page: kube_double.Refused(500, "InternalError", "a fault"),
        "429": lambda page: kube_double.Refused(429, "TooManyRequests", "a fault", retryAfterSeconds=0),
        "410": lambda page: kube_double.Refused(410, "Expired", "a fault"),
        "reset": lambda page: faults.Reset(),
        "garbage": lambda page: faults.Answer(200, b"\x00\xff{]", None, "application/json"),
        "half": lambda page: faults.Answer(200, json.dumps(page)[:-40].encode(), None, "application/json"),
        "wrong kind": lambda page: faults.json_answer(200, {"kind": "Status", "apiVersion": "v1", "status": "Success"}),
        "no version": lambda page: faults.json_answer(200, {**page, "metadata": {"continue": page["metadata"].get("continue", "")}}),
        "cut": lambda page: ("half_close", page),
        "slow": lambda page: ("slow_s", page),
    }

    def test_a_fault_at_every_page(self):
        """One 500 on page 2 left a watch without its list, for good."""
        for number in range(8):
            self.kube.put(TRIALS, "trials", ended_trial(f"t{number}"))
        self.start()
        self.expect("at the start")
        real, plan = self.kube.list, {}

        def listing(api, plural, ns, query):
            if plural != "trials" or query.get("limit") is None:
                return real(api, plural, ns, query)
            if not query.get("continue"):
                plan["page"] = 0
            plan["page"] = plan.get("page", 0) + 1
            page = real(api, plural, ns, query)
            if plan.get("at") != plan["page"]:
                return page
            plan["at"], plan["met"] = None, True
            fault = self.PAGE_FAULTS[plan["fault"]](page)
            if isinstance(fault, BaseException):
                raise fault
            if isinstance(fault, tuple):
                answer = faults.json_answer(200, page)
                answer.action = {fault[0]: True if fault[0] == "half_close" else 0.0001}
                return answer
            return fault
        self.kube.list = listing
        walked = 0
        for name in self.PAGE_FAULTS:
            for page in (1, 2, 3):
                plan.clear()
                plan.update(fault=name, at=page)
                with self.kube.lock:  # one goes without a word, another comes, and the server has forgotten how
                    self.kube.drop(TRIALS, "trials", "team", sorted(t["metadata"]["name"] for t in self.kube.all(TRIALS, "trials"))[walked % 8], silent=True)
                    self.kube.put(TRIALS, "trials", ended_trial(f"x{walked:03}"))
                    self.kube.inject(GONE, "trials")
                self.assertTrue(until(lambda: plan.get("met"), 60), f"{name} at page {page} was not met\n{self.logs()}")
                self.expect(f"{name} at page {page}")
                # The watch behind the list lives: an event comes through.
                self.kube.put(TRIALS, "trials", ended_trial(f"y{walked:03}"))
                self.expect(f"an event after {name} at page {page}")
                self.kube.drop(TRIALS, "trials", "team", f"y{walked:03}")
                self.expect(f"a deletion after {name} at page {page}")
                walked += 1
        self.assertEqual(walked, 3 * len(self.PAGE_FAULTS))
        self.assertIsNone(self.process.poll())

    def test_a_fault_at_every_event(self):
        self.kube.config["page"] = 500
        self.start()
        self.kube.put(TRIALS, "trials", ended_trial("first"))
        self.expect("at the start")
        odd = {"metadata": {"name": "odd", "namespace": "team", "resourceVersion": "7"}}
        line = json.dumps({"type": "ADDED", "object": ended_trial("slow")}).encode() + b"\n"
        events = {
            "gone": GONE,
            "error 500": {"type": "ERROR", "object": {**STATUS, "code": 500, "reason": "InternalError", "message": "a fault"}},
            "error without a status": {"type": "ERROR", "object": 7},
            "garbage": kube_double.Raw(b"\x00\xff this is no JSON\n"),
            "half a line, then a cut": kube_double.Raw(line[:50], cut=True),
            "half a line, then an end of line": kube_double.Raw(line[:50] + b"\n"),
            "an empty line": kube_double.Raw(b"\n \r\n"),
            "another kind": {"type": "ADDED", "object": {"kind": "Pod", "apiVersion": "v1", **odd}},
            "another type": {"type": "RENAMED", "object": {"kind": "Trial", "apiVersion": TRIALS, **odd}},
            "no object": {"type": "ADDED"},
            "an object without a name": {"type": "ADDED", "object": {"kind": "Trial", "metadata": {"resourceVersion": "8"}}},
            "nested too deeply": kube_double.Raw(b'{"type":"ADDED","object":' + b"[" * 1000 + b"]" * 1000 + b"}\n"),
            "a bookmark without a version": {"type": "BOOKMARK", "object": {"kind": "Trial"}},
            "a bookmark": "bookmark",
            "a version of no use, then a cut": kube_double.Raw(b'{"type":"BOOKMARK","object":{"kind":"Trial","metadata":{"resourceVersion":"a"}}}\n', cut=True),
            "its predecessor's deletion": {"type": "DELETED", "object": {"kind": "Trial", "metadata": {"name": "first", "namespace": "team", "uid": "before"}}},
            "twice": "twice",
            "a cut": "cut",
            "slow": "slow",
        }
        walked = 0
        for name, event in events.items():
            for before in (0, 1):
                with self.kube.lock:
                    made = [f"e{walked:02}-{part}" for part in range(3)]
                    for trial in made[:before]:
                        self.kube.put(TRIALS, "trials", ended_trial(trial))
                if before:
                    self.expect(f"before {name}")
                if event == "twice":
                    self.kube.inject({"type": "MODIFIED", "object": self.kube.all(TRIALS, "trials")[0]}, "trials")
                elif event == "cut":
                    self.kube.cut()
                elif event == "slow":
                    self.kube.put(TRIALS, "trials", ended_trial(f"slow{walked}"), event="ADDED")
                    data = json.dumps({"type": "MODIFIED", "object": self.kube.get(TRIALS, "trials", "team", f"slow{walked}")}).encode() + b"\n"
                    self.kube.inject(kube_double.Raw(data, slow_s=0.0002), "trials")
                else:
                    self.kube.inject(event, "trials")
                for trial in made[before:]:
                    self.kube.put(TRIALS, "trials", ended_trial(trial))
                self.kube.drop(TRIALS, "trials", "team", made[0])
                self.expect(f"{name} after {before} events")
                walked += 1
        self.assertEqual(walked, 2 * len(events))
        self.assertIsNone(self.process.poll())

    def test_poisonous_trials_do_not_stop_the_others(self):
        shapes = [{"spec": None}, {"spec": []}, {"spec": {"runSpec": 7}}, {"status": {"conditions": {"a": 1}}}, {"status": {"conditions": [7, None, {"type": 8}]}},
                  {"spec": {"objective": {"metricStrategies": [7], "additionalMetricNames": {}}, "runSpec": {"apiVersion": [], "kind": {}}}},
                  {"spec": {"runSpec": {"apiVersion": "v1/../../secrets?x=", "kind": "Job\n"}}},
                  {"spec": {"runSpec": {"apiVersion": "batch/v1", "kind": "Job", "metadata": [], "spec": 5}}},
                  {"spec": {"runSpec": {"apiVersion": "batch/v1", "kind": "Job"}, "successCondition": "#(((", "failureCondition": "@#|" * 50}},
                  {"spec": {"wide": {f"key{number}": number for number in range(60_000)}}},
                  {"spec": {"deep": json.loads("[" * 200 + "]" * 200)}}]
        for number, shape in enumerate(shapes):
            self.kube.put(TRIALS, "trials", {"metadata": {"name": f"poison-{number}", "namespace": "team", "labels": {"a": "b"}}, **shape})
        self.start()
        self.create(a_trial("good"))
        self.started("good")
        for number, shape in enumerate(shapes):  # the same as events
            self.kube.put(TRIALS, "trials", {"metadata": {"name": f"again-{number}", "namespace": "team"}, **shape})
        self.create(a_trial("better"))
        self.started("better")
        self.assertTrue(self.ready())
        self.assertIsNone(self.process.poll())

    def threads(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return int(next(line.split()[1] for line in file if line.startswith("Threads")))

    def test_kinds_that_trials_name_cost_no_threads_and_no_readiness(self):
        """A Trial's runSpec.kind is anybody's word."""
        for number in range(40):
            self.kube.kinds.setdefault("many.test/v1", {})[f"kind{number}s"] = (f"Kind{number}", True)
        self.start("--idle-watch", "6s")
        self.create(a_trial("before"))
        self.started("before")
        usual = self.threads()
        unknown = [{"apiVersion": f"nowhere{number}.test/v1", "kind": "Job"} for number in range(10)]
        refused = [{"apiVersion": "forbidden.test/v1", "kind": "Job"}, {"apiVersion": "broken.test/v1", "kind": "Job"}]
        self.kube.rules.replace([{"match": {"path": "/apis/forbidden.test/v1"}, "action": {"status": 403, "code": "Forbidden"}},
                                 {"match": {"path": "/apis/broken.test/v1"}, "action": {"status": 503, "code": "ServiceUnavailable"}}])
        for number, spec in enumerate(unknown + refused):
            self.kube.put(TRIALS, "trials", a_trial(f"odd-{number}", runSpec=spec))
        self.assertTrue(until(lambda: any(event["reason"] == "ReconcileFailed" for event in self.kube.all("v1", "events")), 60), self.logs())
        self.create(a_trial("between"))
        self.started("between")
        self.assertTrue(self.ready(), "a kind that is not there is nobody's reason to wait")
        self.assertLessEqual(self.threads(), usual, "nothing is watched that the server does not have")
        # Kinds that are there: so many at a time, and the rest still works.
        for number in range(40):
            self.kube.put(TRIALS, "trials", ended_trial(f"many-{number}", spec={"runSpec": {"apiVersion": "many.test/v1", "kind": f"Kind{number}"}}))
        most = [0]

        def watched():
            most[0] = max(most[0], self.threads() - usual)
            return most[0] >= 16
        self.assertTrue(until(watched, 60), most)
        self.assertLessEqual(most[0], 16)
        self.assertTrue(until(lambda: self.threads() <= usual, 60), "what no Trial needs is watched no more")
        self.assertTrue(self.ready())

    def test_a_server_that_asks_to_be_left_alone_is(self):
        """It said to come back in 12 seconds, and the same write came again after 0.1, 0.2, 0.4 …"""
        self.kube.rules.replace([{"match": {"path": ".*/trials/busy/status", "method": "PUT", "nth": 1},
                                  "action": {"status": 429, "code": "TooManyRequests", "headers": {"Retry-After": "12"}}}])
        self.start()
        self.create(a_trial("busy"))
        writes = lambda: [entry for entry in self.kube.log if entry["method"] == "PUT" and entry["path"].endswith("/busy/status")]  # noqa: E731
        self.assertTrue(until(writes), self.logs())
        refused = time.monotonic()
        self.create(a_trial("other"))
        self.started("other")
        self.started("busy")
        self.assertGreater(time.monotonic() - refused, 8)
        self.assertEqual(writes()[0]["status"], 429)

    def test_a_good_answer_that_is_no_lease(self):
        """A proxy's 200 to anything was taken for a lease that nobody holds."""
        self.kube.put("coordination.k8s.io/v1", "leases", {"metadata": {"name": "3fbc96e9.katib.kubeflow.org", "namespace": "kubeflow"}, "spec": {
            "holderIdentity": "other", "leaseDurationSeconds": 3600, "renewTime": "2026-01-01T00:00:00.000000Z"}})
        self.kube.rules.replace([{"match": {"path": ".*/leases/.*", "method": "GET", "to": 2, "from": 1}, "action": {"status": 200, "body": "{}"}}])
        self.start_trials(wait=False)
        leases = lambda method: [entry for entry in self.kube.log if "/leases" in entry["path"] and entry["method"] == method]  # noqa: E731
        self.assertTrue(until(lambda: len(leases("GET")) > 2), self.logs())
        self.assertEqual(leases("PUT"), [])

    def test_a_kind_without_a_watch_is_asked_for(self):
        """The watch of pods is refused; the Trial's job is followed all the same."""
        self.kube.rules.replace([{"match": {"path": "/apis/jobset.x-k8s.io/v1alpha2/jobsets"}, "action": {"status": 403, "code": "Forbidden"}}])
        self.start()
        trial = a_trial("set", runSpec={"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "spec": {}})
        trial["spec"]["successCondition"] = 'status.conditions.#(type=="Completed")#|#(status=="True")#'
        self.create(trial)
        self.assertTrue(until(lambda: self.kube.get("jobset.x-k8s.io/v1alpha2", "jobsets", "team", "set"), 30), self.logs())
        self.wait_state("set", "Running")
        self.assertTrue(self.ready())
        self.add_rows("set", ("2026-11-15T10:00:00Z", "accuracy", "0.5"), ("2026-11-15T10:00:00Z", "loss", "0.5"))
        self.kube.change("jobset.x-k8s.io/v1alpha2", "jobsets", "team", "set",
                         lambda job: job.update(status={"conditions": [{"type": "Completed", "status": "True"}]}))
        self.wait_state("set", "Succeeded", seconds=60)

    def test_a_crd_that_goes_and_comes_back(self):
        self.start()
        self.create(a_trial("before"))
        self.started("before")
        kinds = self.kube.kinds["kubeflow.org/v1beta1"]
        trials = kinds.pop("trials")
        self.kube.cut()
        self.assertTrue(until(lambda: any(entry.get("status") == 404 and "/trials?" in entry["path"] for entry in self.kube.log), 30), self.logs())
        kinds["trials"] = trials
        self.create(a_trial("after"))
        self.assertTrue(until(lambda: self.job("after"), 60), self.logs())

    def test_the_lease_is_given_away_whatever_was_under_way(self):
        """A renewal whose answer is lost leaves us behind the lease's version; and a worker that waits for the DB manager is no reason to keep it."""
        self.start()
        lease = lambda: self.kube.get("coordination.k8s.io/v1", "leases", "kubeflow", "3fbc96e9.katib.kubeflow.org")["spec"]  # noqa: E731
        self.assertEqual(lease()["holderIdentity"], "a")
        self.kube.rules.replace([{"match": {"path": ".*/leases/.*", "method": "PUT", "nth": 1}, "action": {"reset": "answer"}}])
        renewed = lease()["renewTime"]
        self.assertTrue(until(lambda: lease()["renewTime"] != renewed, 20))
        self.process.terminate()
        self.assertEqual(self.process.wait(30), 0, self.logs())
        self.assertEqual(lease()["holderIdentity"], "")


if __name__ == "__main__":
    unittest.main()
