"""tacho-kube follow-log: the output of a container through the API server, over a server that ends every answer early."""
from cluster import KUBE, ClusterCase, kube_state
from support import until


class TestKubeLog(ClusterCase):
    def follow(self, *more):
        log = open(self.path("follow.log"), "w+", encoding="utf-8")
        self.addCleanup(log.close)
        return self.spawn("follow-log", "--kubeconfig", self.api.config_file, "--namespace", "team", "--pod", "one", "--container", "main", "--file",
                          self.path("metrics.log"), *more, program=KUBE, stdout=log, stderr=log)

    def test_every_line_once(self):
        process = self.follow()
        self.assertTrue(until(lambda: "waiting to start" in self.read("follow.log")), self.read("follow.log"))
        log = kube_state.PodLog()
        log.lines = ["2026-11-15T10:00:00.000000001Z a=1", "2026-11-15T10:00:00.000000001Z a=1", "2026-11-15T10:00:00.5Z b=2"]
        log.cut = 3
        self.kube.pod_logs[("team", "one", "main")] = log
        self.assertTrue(until(lambda: self.read("metrics.log").count("\n") == 2), self.read("metrics.log"))
        # The rest of the cut line comes with the next answer, and what was there is not written again.
        log.lines += ["2026-11-15T10:00:00.5Z b=2", "2026-11-15T10:00:07.25Z c=3 with  blanks"]
        wanted = "a=1\na=1\nb=2\nb=2\nc=3 with  blanks\n"
        self.assertTrue(until(lambda: self.read("metrics.log") == wanted), self.read("metrics.log"))
        paths = [entry["path"] for entry in self.kube.log if "/pods/one/log" in entry["path"]]
        for word in ("follow=true", "timestamps=true", "container=main"):
            self.assertIn(word, paths[0])
        log.lines.append("2026-11-15T10:00:08Z last, without its end")
        log.cut = 1
        log.ended = True
        self.assertEqual(process.wait(30), 0)
        self.assertEqual(self.read("metrics.log"), wanted + "last, without its end\n")
        self.assertTrue(any("sinceTime=2026-11-15T10%3A00%3A07Z" in entry["path"] for entry in self.kube.log), "resumed by time")

    def test_without_the_right_the_pod_is_not_failed(self):
        self.kube.rules.replace([{"match": {"path": "/api/v1/namespaces/team/pods/one/log"}, "action": {"status": 403}}])
        self.assertEqual(self.follow().wait(30), 0, "a container that fails would fail the trainer's pod")
        self.assertIn("pods/log", self.read("follow.log"))

    def put_pod(self, state, restarts):
        self.kube.put("v1", "pods", {"metadata": {"name": "one", "namespace": "team"}, "spec": {"restartPolicy": "OnFailure"},
                                     "status": {"containerStatuses": [{"name": "main", "restartCount": restarts, "state": state}]}})

    def test_a_restart_is_followed(self):
        """The container fails, waits to be started again and says more; the end of what it said first is still read."""
        log = self.kube.pod_logs[("team", "one", "main")] = kube_state.PodLog()
        log.lines, log.ended = ["2026-11-15T10:00:00.1Z a=1"], True
        self.put_pod({"waiting": {"reason": "CrashLoopBackOff"}}, 0)
        process = self.follow("--restart", "OnFailure")
        self.assertTrue(until(lambda: self.read("metrics.log") == "a=1\n"), self.read("follow.log"))
        asked = lambda: len([entry for entry in self.kube.log if "/pods/one/log" in entry["path"]])  # noqa: E731
        before = asked()
        self.assertTrue(until(lambda: asked() >= before + 4 or process.poll() is not None, 30))
        self.assertIsNone(process.poll(), "it waits for the container to come back")
        log.previous = [log.lines[0], "2026-11-15T10:00:00.2Z b=2"]
        log.lines, log.sent = ["2026-11-15T10:00:20Z c=3"], 0
        self.put_pod({"running": {}}, 1)
        wanted = ["a=1\nb=2\nc=3\n", "a=1\nc=3\nb=2\n"]  # the new one's first lines may have come before anybody saw the restart
        self.assertTrue(until(lambda: "c=3" in self.read("metrics.log"), 30), self.read("follow.log"))
        self.put_pod({"terminated": {"exitCode": 0}}, 1)
        self.assertEqual(process.wait(30), 0)
        self.assertIn(self.read("metrics.log"), wanted + ["a=1\nc=3\n"])

    def test_without_the_pods_status_a_first_restart_is_waited_for(self):
        self.kube.rules.replace([{"match": {"path": "/api/v1/namespaces/team/pods/one"}, "action": {"status": 403, "code": "Forbidden"}}])
        log = self.kube.pod_logs[("team", "one", "main")] = kube_state.PodLog()
        log.lines, log.ended = ["2026-11-15T10:00:00.1Z a=1"], True
        never = self.follow()
        self.assertEqual(never.wait(30), 0, "with restartPolicy Never its end is the end")
        process = self.follow("--restart", "OnFailure")
        asked = lambda: len([entry for entry in self.kube.log if "/pods/one/log" in entry["path"]])  # noqa: E731
        before = asked()
        self.assertTrue(until(lambda: asked() >= before + 5 or process.poll() is not None, 30))
        self.assertIsNone(process.poll())
        log.lines.append("2026-11-15T10:00:20Z b=2")
        self.assertTrue(until(lambda: self.read("metrics.log") == "a=1\nb=2\n", 30), self.read("metrics.log"))
        process.kill()
        process.wait()
