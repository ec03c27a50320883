"""Every row once: the collector killed at any moment, the DB manager away at any time, answers that are lost after the commit."""
import collections
import contextlib
import datetime
import json
import os
import random
import signal
import sqlite3
import time
import unittest

import support
from katib_pod import ZERO, PodCase, sleep_until_row
from tcp_faults import TcpFaults

# So many rows, some a millisecond apart, each with its own number.
SLOW = "for i in $(seq 1 {rows}); do echo accuracy=$i; if [ $((i % 50)) = 0 ]; then sleep 0.05; fi; done"


class Delivery(PodCase):
    weight = 20

    def values(self):
        return [int(float(row[2])) for row in self.rows()]

    def expect_each_once(self, count):
        counts = collections.Counter(self.values())
        missing = [i for i in range(1, count + 1) if counts[i] == 0]
        twice = [i for i, times in counts.items() if times > 1]
        self.assertEqual((missing[:20], twice[:20], len(counts)), ([], [], count))

    def proxy(self):
        proxy = TcpFaults(("127.0.0.1", self.port))
        self.addCleanup(proxy.close)
        return proxy

    def test_replies_lost_after_the_commit(self):
        self.db()
        proxy = self.proxy()
        proxy.lose_replies(4, self.trial.encode())
        self.trainer("(" + SLOW.format(rows=1000) + ")")
        collector = self.collector(address=f"127.0.0.1:{proxy.port}", metrics="accuracy")
        self.ends(collector, 0)
        self.assertGreaterEqual(proxy.lost, 2)
        self.expect_each_once(1000)

    def test_reports_that_timed_out_and_arrive_later(self):
        """The manager stands still for longer than a call may take, again and again, and then finds them all."""
        manager = self.db()
        self.trainer("(" + SLOW.format(rows=1000) + ")")
        collector = self.collector("--rpc-timeout", "300ms", metrics="accuracy")
        for _ in range(3):
            manager.send_signal(signal.SIGSTOP)
            time.sleep(1)
            manager.send_signal(signal.SIGCONT)
            time.sleep(0.3)
        self.ends(collector, 0)
        self.assertIn("DEADLINE_EXCEEDED", self.errors(collector))
        self.expect_each_once(1000)

    def test_equal_rows_and_lost_replies(self):
        """The same line again and again: only counting tells whether a call was stored."""
        self.db()
        proxy = self.proxy()
        self.trainer("(for i in $(seq 1 40); do echo accuracy=0.5; sleep 0.1; done)")
        collector = self.collector(address=f"127.0.0.1:{proxy.port}", metrics="accuracy")
        self.assertTrue(sleep_until_row(self, 5))
        proxy.lose_replies(2, self.trial.encode())
        self.ends(collector, 0)
        self.assertEqual(self.rows(), [(ZERO, "accuracy", "0.5")] * 40)

    def test_rows_of_others_do_not_stand_for_lost_ones(self):
        """Rows of an earlier attempt, whose state is gone, and answers and whole calls that are lost: all rows of this attempt come."""
        self.db()
        self.rows()
        with contextlib.closing(sqlite3.connect(self.path("trials.db"))) as store, store:
            store.executemany("INSERT INTO observation_logs (trial_name, time, metric_name, value) VALUES (?, '0001-01-01 00:00:00.000000', 'accuracy', ?)",
                              [(self.trial, str(i)) for i in range(1, 301)])
        proxy = self.proxy()
        proxy.lose_replies(3, self.trial.encode())
        self.trainer("(" + SLOW.format(rows=300) + ")")
        collector = self.collector(address=f"127.0.0.1:{proxy.port}", metrics="accuracy")
        proxy.cut()
        self.ends(collector, 0)
        self.assertEqual(collections.Counter(self.values()), collections.Counter({i: 2 for i in range(1, 301)}))

    def test_killed_at_random_moments(self):
        for profile in ("drop-in", "tacho"):
            with self.subTest(profile):
                self.trial = "trial-" + profile
                for name in os.listdir(self.shared):
                    os.unlink(os.path.join(self.shared, name))
                self.killed_at_random(profile)

    def killed_at_random(self, profile):
        database = self.db()
        seed = int(time.time())
        dice = random.Random(seed)
        proxy = self.proxy()
        address = f"127.0.0.1:{proxy.port}"
        trainer = self.trainer("(" + SLOW.format(rows=4000) + ")")
        kills = 0
        collector = self.collector("--profile", profile, "--report", "20ms", address=address, metrics="accuracy")
        while trainer.poll() is None or kills < 15:
            time.sleep(dice.uniform(0.02, 0.3))
            if dice.random() < 0.3:
                proxy.lose_replies(1, self.trial.encode())
            if dice.random() < 0.2:
                proxy.cut()
            if collector.poll() is not None and trainer.poll() is not None:
                break
            try:
                os.kill(self.host_pid(collector), signal.SIGKILL)
                kills += 1
            except (OSError, TypeError):
                pass
            collector.wait(20)
            collector = self.collector("--profile", profile, "--report", "20ms", address=address, metrics="accuracy")
        proxy.lose_replies(0, b"")
        self.ends(collector, 0)
        try:
            self.expect_each_once(4000)
        except AssertionError as fault:
            self.fail(f"seed {seed}, {kills} kills: {fault}")
        database.terminate()
        database.wait(20)

    def test_database_away_at_start_middle_and_end(self):
        self.trainer("(" + SLOW.format(rows=6000) + ")")
        collector = self.collector(metrics="accuracy")
        time.sleep(1)
        database = self.db()
        self.assertTrue(sleep_until_row(self, 100), self.errors(collector))
        database.kill()
        database.wait()
        time.sleep(1.5)
        database = self.db()
        time.sleep(0.3)
        database.kill()
        database.wait()
        time.sleep(3)
        self.assertIsNone(collector.poll(), self.errors(collector))
        self.db()
        self.ends(collector, 0)
        self.expect_each_once(6000)

    def test_deadline_after_training(self):
        self.trainer("(echo accuracy=1)")
        collector = self.collector("--report-deadline", "2s", metrics="accuracy")
        self.ends(collector, 255)
        self.assertIn("could not be delivered", self.errors(collector).splitlines()[-1])
        self.db()
        self.ends(self.collector(metrics="accuracy"), 0)
        self.expect_each_once(1)

    def test_hundred_thousand_rows(self):
        self.db()
        with open(self.log, "w", encoding="utf-8") as file:
            file.writelines(f"accuracy={i}\n" for i in range(1, 100_001))
        self.trainer("true", redirect=False)
        self.ends(self.collector("--echo=false", "--report", "end", metrics="accuracy"), 0)
        self.expect_each_once(100_000)

    def test_second_attempt_replaces(self):
        self.db()
        for kept, expected in (("keep", ["1", "2", "3", "1", "2"]), ("replace", ["1", "2"])):
            with self.subTest(kept):
                self.trial = "trial-" + kept
                for name in os.listdir(self.shared):
                    os.unlink(os.path.join(self.shared, name))
                self.trainer("(for i in 1 2 3; do echo accuracy=$i; done; exit 1)").wait()
                self.ends(self.collector("--attempts", kept, metrics="accuracy"), 255)
                self.assertEqual([row[2] for row in self.rows()], ["1", "2", "3"])
                self.trainer("(for i in 1 2; do echo accuracy=$i; done)").wait()
                self.ends(self.collector("--attempts", kept, metrics="accuracy"), 0)
                self.assertEqual([row[2] for row in self.rows()], expected)

    def test_log_truncated_while_it_is_followed(self):
        """The trainer's container starts again below a living collector that waits for another one."""
        self.db()
        for kept, expected in (("keep", ["1", "2", "3", "4", "5"]), ("replace", ["4", "5"])):
            with self.subTest(kept):
                self.trial = "trial-" + kept
                for name in os.listdir(self.shared):
                    os.unlink(os.path.join(self.shared, name))
                trainer = self.trainer(f"(for i in 1 2 3; do echo accuracy=$i; done; sleep 1.5; : > {self.log}; sleep 0.5; "
                                       f"for i in 4 5; do echo accuracy=$i >> {self.log}; sleep 0.3; done)")
                self.ends(self.collector("--attempts", kept, metrics="accuracy"), 0)
                self.assertEqual(trainer.wait(10), 0)
                self.assertEqual([row[2] for row in self.rows()], expected)

    def test_arrival_times_increase(self):
        self.db()
        self.trainer("(for i in 1 2 3 4 5 6 7 8; do echo accuracy=$i; sleep 0.1; done)")
        self.ends(self.collector("--profile", "tacho", metrics="accuracy"), 0)
        times = [row[0] for row in self.rows()]
        self.assertEqual([row[2] for row in self.rows()], [str(i) for i in range(1, 9)])
        self.assertEqual(len(set(times)), 8)
        self.assertTrue(all(t.startswith("20") for t in times))

    def test_arrival_is_when_a_line_came_and_not_when_it_is_reported(self):
        """Also for what came after a restart. The value is the time at which the trainer wrote it."""
        self.db()
        for log_format, line in (("TEXT", "accuracy=$(date +%s.%N)"), ("JSON", '"{\\"accuracy\\": $(date +%s.%N)}"')):
            with self.subTest(log_format):
                self.trial = f"trial-{log_format.lower()}"
                for name in os.listdir(self.shared):
                    os.unlink(os.path.join(self.shared, name))
                self.trainer(f"(for i in 1 2 3 4 5 6 7 8; do echo {line}; sleep 0.5; done)")
                flags = ("--profile", "tacho", "--report", "1s" if log_format == "TEXT" else "end")
                first = self.collector(*flags, metrics="accuracy", log_format=log_format)
                if log_format == "TEXT":
                    self.assertTrue(sleep_until_row(self, 1))
                    os.kill(self.host_pid(first), signal.SIGKILL)
                    first.wait(10)
                    flags = ("--profile", "tacho", "--report", "end")
                    first = self.collector(*flags, metrics="accuracy", log_format=log_format)
                self.ends(first, 0)
                rows = self.rows()
                self.assertEqual(len(rows), 8)
                came = [datetime.datetime.fromisoformat(row[0].replace("Z", "+00:00")).timestamp() for row in rows]
                wrote = [float(row[2]) for row in rows]
                for at, when in enumerate(came):
                    self.assertGreaterEqual(when, wrote[at] - 0.001)
                self.assertLess(came[-3], wrote[-1], "those before the end were seen before it")

    def test_state_file(self):
        self.db()
        self.trainer("(echo accuracy=1; sleep 2; echo accuracy=2)")
        collector = self.collector(metrics="accuracy")
        self.assertTrue(sleep_until_row(self, 1))
        state = support.until(lambda: json.loads(self.read("shared/.tacho-state")))
        self.assertEqual((state["version"], state["trial"], state["objective_seen"]), (1, self.trial, True))
        self.ends(collector, 0)
        self.assertEqual(json.loads(self.read("shared/.tacho-state"))["acknowledged"], {"accuracy": 2})
        self.ends(self.collector(metrics="accuracy"), 0)
        self.expect_each_once(2)

    def test_two_collectors_with_one_state(self):
        """The second waits for the first, also for one that is killed, and then goes on where that was: each row once."""
        self.db()
        self.trainer(f"(echo accuracy=1; until test -f {self.shared}/go; do sleep 0.1; done; echo accuracy=2)")
        first = self.collector(metrics="accuracy")
        self.assertTrue(sleep_until_row(self, 1))
        second = self.collector(metrics="accuracy")
        self.assertTrue(support.until(lambda: "another collector works with the state file" in self.errors(second)), self.errors(second))
        stopped = self.collector(metrics="accuracy")
        self.assertTrue(support.until(lambda: "another collector works with the state file" in self.errors(stopped)), self.errors(stopped))
        os.kill(self.host_pid(stopped), signal.SIGTERM)
        self.ends(stopped, 255)
        os.kill(self.host_pid(first), signal.SIGKILL)
        first.wait(60)
        self.write("shared/go", "")
        self.ends(second, 0)
        self.expect_each_once(2)

    def test_rotated_before_the_first_report(self):
        """Nothing of the log may be missing that was renamed, or even removed, before it is reported."""
        self.db()
        script = (f"import os, time\nfor part in range(5):\n with open({self.log!r}, 'w') as log:\n"
                  "  log.write(f'accuracy={part}\\n')\n  log.flush()\n  time.sleep(0.4)\n"
                  f" if part < 4:\n  for i in (2, 1): os.path.exists(f'{self.log}.{{i}}') and os.rename(f'{self.log}.{{i}}', f'{self.log}.{{i + 1}}')\n"
                  f"  os.rename({self.log!r}, '{self.log}.1')\n")
        self.write("rotate.py", script)
        self.trainer(f"python3 {self.path('rotate.py')}", redirect=False)
        self.ends(self.collector("--report", "end", metrics="accuracy"), 0)
        self.assertEqual([row[2] for row in self.rows()], list("01234"))

    def test_memory_stays_flat(self):
        if support.SANITIZED:
            self.skipTest("sanitized")
        self.db()
        block = "".join(f"line {i} of nothing that anybody wants to measure\n" for i in range(20_000)) + "accuracy=1\n"
        with open(self.log, "w", encoding="utf-8") as file:
            for _ in range(200):
                file.write(block)
            file.writelines(f"2026-11-15T09:30:00.{i:06}Z accuracy={i}\n" for i in range(30_000))
        self.trainer("sleep 3", redirect=False)
        collector = self.collector("--echo=false", metrics="accuracy")
        pid = self.host_pid(collector)
        peak = support.highest_kib(collector, pid)
        self.ends(collector, 0)
        self.assertEqual(len(self.rows()), 30_200)
        self.assertLess(peak, 16 * 1024)


if __name__ == "__main__":
    unittest.main()
