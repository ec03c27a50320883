"""Early stopping: rules met, marker, the whole tree ended, rows before status, exit 0."""
import os
import signal
import time
import unittest

import support
from grpc_double import GrpcDouble
from katib_pod import PodCase

RULE = ("-stop-rule", "accuracy;0.5;less;4")
# Falls below the rule at once, then would go on for ever.
HOPELESS = "for i in 1 2 3 4 5 6; do echo accuracy=0.1 loss=$i; sleep 0.1; done; sleep 1000"


class Stop(PodCase):
    weight = 15

    def setUp(self):
        super().setUp()
        self.service = GrpcDouble()
        self.addCleanup(self.service.close)

    def stop_flags(self, *extra):
        return [*RULE, "-s-earlystop", f"127.0.0.1:{self.service.port}", *extra]

    def trainer_processes(self):
        return [args for pid, (_, args) in self.pids().items() if "sleep 1000" in args or "accuracy" in args and "collect" not in args]

    def expect_stopped(self, collector, trainer):
        self.ends(collector, 0)
        self.assertEqual(trainer.wait(20), 0, trainer.stderr.read())
        self.assertEqual(self.service.calls[-1], self.trial)
        self.assertEqual(self.trainer_processes(), [])
        rows = [row for row in self.rows() if row[1] == "accuracy"]
        self.assertGreaterEqual(len(rows), 4)
        marker = next(name for name in os.listdir(self.shared) if name.endswith(".pid"))
        self.assertEqual(self.read("shared/" + marker).strip(), "completed")

    def test_stops(self):
        self.db()
        trainer = self.trainer(f"({HOPELESS})", early=True)
        collector = self.collector(*self.stop_flags())
        self.expect_stopped(collector, trainer)
        self.assertIn("Early Stopped", trainer.stdout.read())

    def test_several_children_some_ignore_term(self):
        self.db()
        stubborn = "(trap '' TERM; while true; do sleep 0.2; done) & (sleep 1000 &) ; setsid sleep 1000 & "
        trainer = self.trainer(f"({stubborn} {HOPELESS})", early=True)
        collector = self.collector(*self.stop_flags("--grace", "1s"))
        self.expect_stopped(collector, trainer)
        self.assertNotIn("sleep", " ".join(args for pid, (_, args) in self.pids().items() if pid != 1 and "defunct" not in args))

    def test_daemon_of_the_container(self):
        """It left parent, group and session, but not the container's mount namespace."""
        self.db()
        trainer = self.trainer(f"((setsid sleep 1000 &) ; {HOPELESS})", early=True, before=("unshare", "-m"))
        self.expect_stopped(self.collector(*self.stop_flags("--grace", "1s")), trainer)

    def test_trainer_of_another_user(self):
        self.db()
        trainer = self.trainer(f"({HOPELESS})", early=True, user=65534)
        collector = self.collector(*self.stop_flags())
        self.expect_stopped(collector, trainer)

    def test_status_comes_after_the_rows(self):
        """The database is away when the rules are met: nobody hears of the stop until the rows are stored."""
        trainer = self.trainer(f"({HOPELESS})", early=True)
        collector = self.collector(*self.stop_flags())
        self.assertEqual(trainer.wait(30), 0)
        time.sleep(1)
        self.assertEqual(self.service.calls, [])
        self.db()
        self.expect_stopped(collector, trainer)

    def test_status_is_retried(self):
        self.db()
        self.service.codes = [14, 2]
        trainer = self.trainer(f"({HOPELESS})", early=True)
        self.expect_stopped(self.collector(*self.stop_flags()), trainer)
        self.assertEqual(len(self.service.calls), 3)

    def test_trainer_without_wrapper(self):
        self.db()
        trainer = self.enter("sh", "-c", f"({HOPELESS}) > {self.log}")
        collector = self.collector(*self.stop_flags())
        self.ends(collector, 0)
        self.assertNotEqual(trainer.wait(20), 0)
        self.assertEqual(self.service.calls, [self.trial])
        self.assertEqual(self.trainer_processes(), [])

    def test_killed_in_the_middle_of_a_stop(self):
        trainer = self.trainer(f"({HOPELESS})", early=True)
        collector = self.collector(*self.stop_flags())
        self.assertTrue(support.until(lambda: any(name.endswith(".pid") for name in os.listdir(self.shared))))
        os.kill(self.host_pid(collector), signal.SIGKILL)
        collector.wait(20)
        self.db()
        self.expect_stopped(self.collector(*self.stop_flags()), trainer)

    def test_rules_that_are_not_met(self):
        self.db()
        self.trainer("(for i in 1 2 3 4 5; do echo accuracy=0.9; done)", early=True)
        self.ends(self.collector(*self.stop_flags()), 0)
        self.assertEqual(self.service.calls, [])

    def test_training_that_has_ended_is_not_stopped(self):
        """The rules are met by rows that were read after its end: success stays success, failure stays failure."""
        self.db()
        with open(self.log, "w", encoding="utf-8") as log:
            log.write("accuracy=0.1\n" * 6)
        self.ends(self.collector(*self.stop_flags()), 255)
        marker = os.path.join(self.shared, "77.pid")
        with open(marker, "w", encoding="utf-8") as file:
            file.write("completed\n")
        self.ends(self.collector(*self.stop_flags("--state", "")), 0)
        self.assertEqual(self.service.calls, [])

    def test_launcher(self):
        launcher = os.path.join(support.BUILD, "bin", "tacho-katib-exec")
        if not os.path.exists(launcher):
            self.skipTest("the launcher is not built")
        self.db()
        trainer = self.enter(launcher, "--dir", self.shared, "--file", self.log, "--", "sh", "-c", HOPELESS)
        self.expect_stopped(self.collector(*self.stop_flags()), trainer)


if __name__ == "__main__":
    unittest.main()
