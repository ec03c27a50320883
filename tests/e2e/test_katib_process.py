"""The collector's process side: main process, markers, exit codes, early ends, in a pod made of a PID namespace."""
import os
import signal
import subprocess
import time
import unittest

import katib_pod
import support
from katib_pod import KATIB, ZERO, PodCase

EPOCHS = "for i in 1 2 3; do echo accuracy=0.$i loss=0.$((9-i)); sleep 0.2; done"


class Pod(PodCase):
    def test_success(self):
        self.db()
        trainer = self.trainer(f"({EPOCHS})")
        collector = self.collector()
        self.ends(collector, 0)
        self.assertEqual(trainer.wait(10), 0)
        self.assertEqual(self.rows(), [(ZERO, name, value) for i in range(1, 4)
                                       for name, value in (("accuracy", f"0.{i}"), ("loss", f"0.{9 - i}"))])
        self.assertEqual(self.read(collector.out_name).splitlines(), [f"accuracy=0.{i} loss=0.{9 - i}" for i in range(1, 4)])

    def test_failure_sends_rows_and_ends_with_255(self):
        self.db()
        self.trainer(f"({EPOCHS}; exit 3)")
        collector = self.collector()
        self.ends(collector, 255)
        self.assertEqual(len(self.rows()), 6)
        self.assertIn("training failed", self.errors(collector).splitlines()[-1])

    def test_objective_missing_is_one_unavailable_row(self):
        self.db()
        self.trainer("(echo loss=0.5; echo loss=0.4)")
        collector = self.collector()
        self.ends(collector, 0)
        self.assertEqual(self.rows(), [(ZERO, "accuracy", "unavailable")])

    def test_objective_missing_and_failed_is_nothing(self):
        self.db()
        self.trainer("(echo loss=0.5; exit 1)")
        self.ends(self.collector(), 255)
        self.assertEqual(self.rows(), [])

    def test_log_never_made(self):
        self.db()
        self.trainer("true", redirect=False)
        self.ends(self.collector(), 0)
        self.assertEqual(self.rows(), [(ZERO, "accuracy", "unavailable")])

    def test_trainer_comes_late(self):
        self.db()
        collector = self.collector()
        time.sleep(1)
        self.assertIsNone(collector.poll())
        self.trainer(f"({EPOCHS})")
        self.ends(collector, 0)
        self.assertEqual(len(self.rows()), 6)

    def test_trainer_already_gone(self):
        self.db()
        self.assertEqual(self.trainer(f"({EPOCHS})").wait(20), 0)
        self.ends(self.collector(), 0)
        self.assertEqual(len(self.rows()), 6)

    def test_trainer_failed_before(self):
        self.db()
        self.assertNotEqual(self.trainer(f"({EPOCHS}; false)").wait(20), 0)
        self.ends(self.collector(), 255)
        self.assertEqual(len(self.rows()), 6)

    def test_markers_of_an_earlier_pod(self):
        """The folder is a volume that outlives pods: the trainer is awaited, its failure is one though its pid was marked before, and the old
        log's rows are not its own, nor met rules of its."""
        self.db()
        old = [(".tacho-launcher", "7 5\n"), ("metrics.log", "accuracy=0.1\n" * 9)]
        for name, text in [(f"{pid}.pid", "completed\n") for pid in range(2, 40)] + old:
            path = os.path.join(self.shared, name)
            self.write(path, text)
            os.utime(path, (time.time() - 3600,) * 2)
        collector = self.collector("-stop-rule", "accuracy;0.5;less;1", env={"TACHO_SIDECAR": "native"})
        time.sleep(0.5)
        self.assertIsNone(collector.poll(), self.errors(collector))
        self.trainer("(echo loss=1; sleep 0.5; false)")
        self.ends(collector, 255)
        self.assertEqual(self.rows(), [])

    def test_last_line_without_its_end_counts(self):
        self.db()
        self.trainer("(printf 'accuracy=0.1\\naccuracy=0.2')")
        self.ends(self.collector(), 0)
        self.assertEqual([row[2] for row in self.rows()], ["0.1", "0.2"])

    def test_damaged_marker(self):
        self.db()
        self.enter("sh", "-c", f"echo accuracy=0.5 > {self.log}; echo what > {self.shared}/$$.pid # echo completed > {self.shared}")
        collector = self.collector()
        self.ends(collector, 255)
        self.assertEqual(len(self.rows()), 1)

    def test_waits_for_others_only_if_told(self):
        self.db()
        other = self.enter("sleep", "1000")
        self.trainer(f"({EPOCHS})")
        self.ends(self.collector("-w", "false"), 0)
        waiting = self.collector()
        time.sleep(2)
        self.assertIsNone(waiting.poll(), self.errors(waiting))
        os.kill(self.host_pid(other), signal.SIGKILL)
        self.ends(waiting, 0)
        self.assertEqual(len(self.rows()), 6)

    def test_proxies_are_not_waited_for(self):
        self.db()
        os.symlink("/bin/sleep", self.path("envoy"))
        self.enter(self.path("envoy"), "1000")
        self.trainer(f"({EPOCHS})")
        self.ends(self.collector(), 0)

    def test_a_proxy_that_a_shell_became_is_not_waited_for(self):
        self.db()
        os.symlink("/bin/sleep", self.path("envoy"))
        os.mkfifo(self.path("gate"))
        self.enter("sh", "-c", f"read line < {self.path('gate')}; exec {self.path('envoy')} 1000")
        self.trainer(f"({EPOCHS}; sleep 1)")
        collector = self.collector()
        self.assertTrue(katib_pod.sleep_until_row(self, 1))  # the shell was seen as a container
        self.write("gate", "go\n")
        self.ends(collector, 0)

    def test_timeout(self):
        self.db()
        self.trainer("(echo accuracy=0.1; sleep 1000)")
        collector = self.collector("-timeout", "2s")
        self.ends(collector, 255)
        self.assertIn("timed out", self.errors(collector).splitlines()[-1])
        self.assertEqual(len(self.rows()), 1)

    def test_terminated(self):
        self.db()
        self.trainer("(echo accuracy=0.1; sleep 1000)")
        collector = self.collector("--report", "1h")
        self.assertTrue(support.until(lambda: "accuracy=0.1" in self.read(collector.out_name)))
        os.kill(self.host_pid(collector), signal.SIGTERM)
        self.ends(collector, 0)
        self.assertEqual([row[2] for row in self.rows()], ["0.1"])

    def test_strangers_under_our_names_in_the_shared_folder(self):
        """The trainer puts a FIFO, a link and a directory where the collector keeps its own: nobody waits, nothing of others is written."""
        self.db()
        victim = self.write("victim", "precious")
        os.mkfifo(os.path.join(self.shared, ".tacho-state"))
        os.mkfifo(os.path.join(self.shared, ".tacho-state.new"))
        os.symlink(victim, os.path.join(self.shared, ".tacho-state.rows"))
        os.symlink(victim, os.path.join(self.shared, ".tacho-state.lock"))
        os.mkfifo(os.path.join(self.shared, ".tacho-launcher"))
        os.mkfifo(os.path.join(self.shared, "99999.pid"))
        self.trainer("(echo accuracy=1; sleep 1; echo accuracy=2)")
        collector = self.collector("--resources", metrics="accuracy")
        self.ends(collector, 0)
        self.assertEqual([row[2] for row in self.rows() if row[1] == "accuracy"], ["1", "2"])
        self.assertEqual(self.read("victim"), "precious")
        self.assertTrue(os.path.isfile(os.path.join(self.shared, ".tacho-state")))

    def test_log_that_is_a_link_out_of_its_folder_is_not_shown(self):
        self.db()
        secret = self.write("secret", "accuracy=1 password\n")
        self.trainer(f"(ln -sf {secret} {self.log}; sleep 1)", redirect=False)
        collector = self.collector(metrics="accuracy")
        self.ends(collector, 0)
        self.assertEqual([row[2] for row in self.rows()], ["unavailable"])
        self.assertNotIn("password", self.read(collector.out_name))
        self.assertIn("leads out of its folder", self.errors(collector))

    def test_native_sidecar(self):
        self.db()
        other = self.enter("sleep", "1000")
        collector = self.collector(env={"TACHO_SIDECAR": "native"})
        launcher = os.path.join(support.BUILD, "bin", "tacho-katib-exec")
        if not os.path.exists(launcher):
            self.skipTest("the launcher is not built")
        self.enter(launcher, "--dir", self.shared, "--file", self.log, "--", "sh", "-c", EPOCHS)
        self.ends(collector, 0)
        self.assertEqual(len(self.rows()), 6)
        self.assertIsNone(other.poll())

    def test_passive(self):
        self.trainer(f"({EPOCHS})")
        collector = self.collector("--active-when", "RANK=0", env={"RANK": "1"})
        self.ends(collector, 0)
        self.assertIn("accuracy=0.3", self.read(collector.out_name))

    def test_names_of_the_older_collectors(self):
        self.db()
        os.symlink(KATIB, self.path("file-metricscollector"))
        self.trainer(f"({EPOCHS})")
        self.ends(self.collector(program=(self.path("file-metricscollector"),)), 0)
        self.assertEqual(len(self.rows()), 6)

    def test_idle_wakes_by_its_timers_only(self):
        if not support.can("strace", "-V"):
            self.skipTest("no strace")
        self.db()
        self.trainer("(echo accuracy=0.1; sleep 1000)")
        collector = self.collector("--report", "1h", "-p", "1s")
        self.assertTrue(support.until(lambda: "accuracy=0.1" in self.read(collector.out_name)))
        pid = self.host_pid(collector)
        time.sleep(2)
        subprocess.run(["timeout", "-s", "INT", "6", "strace", "-f", "-qq", "-o", self.path("trace"), "-p", str(pid)], check=False)
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            resident_kib = next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
        # The poll that was waiting is shown when strace lets go; nothing else happens in an hour's pause.
        self.assertLessEqual(len(self.read("trace").splitlines()), 4, self.read("trace"))
        if not support.SANITIZED:
            self.assertLess(resident_kib, 12 * 1024)


if __name__ == "__main__":
    unittest.main()
