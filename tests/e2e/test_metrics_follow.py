"""Many short jobs and one follower; and whoever is killed at whatever moment, each sample arrives once."""
import json
import os
import random
import re
import signal
import time

from metrics import MetricsCase, rows_of
from support import SANITIZED, can, deliverers, until


class Follow(MetricsCase):
    def later(self, count, server=None, **more):
        for _ in range(count):
            self.go("true", options=("--deliver", "later"), server=server, **more)

    def check_all(self):
        for folder in self.run_folders():
            self.check(folder)

    def test_the_end_waits_for_the_disk_once(self):
        """All that must be on the disk is synced, and at once: one after the other each would wait for a flush."""
        if SANITIZED or not can("strace", "-V"):
            self.skipTest("no strace here")
        slow = ["strace", "-f", "-y", "-qq", "-o", self.path("trace"), "-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:delay_enter=300000"]
        done = self.tacho("run", "-q", "-o", self.place(), "--deliver", "later", "--", "true", wrap=slow)
        self.assertEqual(done.rc, 0, done)
        under_way = most = 0
        with open(self.path("trace"), encoding="utf-8") as file:
            text = file.read()
        for line in text.splitlines():
            begins, ends = "sync(" in line, ") = " in line or " resumed>" in line
            most = max(most, under_way + begins)
            under_way += begins - ends
        (folder,) = self.spools()
        for name in (folder, folder + "/000000.csv", folder + "/seals", folder + "/meta.json"):
            self.assertRegex(text, rf"sync\(\d+<{name}>", name)
        self.assertEqual((most, text.count("sync(")), (4, 4), text)

    def test_rows_of_many_runs_go_in_one_request(self):
        self.later(20)
        done = self.tacho("deliver", "--json")
        self.assertEqual(len(self.receiver.sizes), 20)
        self.assertEqual(json.loads(done.out.splitlines()[-1]), {"delivered": 20, "left": 0})
        for kind in ("prometheus", "otlp"):
            self.receiver.sizes.clear()
            self.receiver.log.clear()
            self.later(20, kind=kind)
            follower = self.spawn("deliver", "--follow", "--json")
            self.assertTrue(until(lambda: not self.spools()))
            follower.terminate()
            lines = [json.loads(line) for line in follower.communicate(timeout=20)[0].splitlines()]
            self.assertEqual([line["state"] for line in lines], ["delivered"] * 20)
            self.assertLessEqual(len(self.receiver.log), 3)
            self.assertEqual(len({entry["client_port"] for entry in self.receiver.log}), 1)

    def test_the_culprit_is_found_among_many(self):
        self.later(8)
        bad = os.path.basename(self.run_folders()[3])
        self.rules({"action": {"do": {"refuse": {"name": "tacho_job_exit_code", "run_id": bad}}}})
        follower = self.spawn("deliver", "--follow")
        self.assertTrue(until(lambda: not self.spools()))
        follower.terminate()
        follower.communicate(timeout=20)
        self.assertEqual([os.path.basename(path) for path in self.letters()], [bad + ".openmetrics"])
        self.check_all()
        self.assertEqual(self.receiver.twice, 0)

    def test_a_receiver_that_is_away_holds_nobody_up(self):
        _, away = self.another_receiver()
        away.close()
        self.later(70, away)
        self.later(1)
        follower = self.spawn("deliver", "--follow")
        self.assertTrue(until(lambda: len(self.spools()) == 70), "the run for the receiver that is there waits")
        begun = time.monotonic()
        follower.terminate()
        self.assertEqual(follower.wait(20), 0)
        self.assertLess(time.monotonic() - begun, 5)

    def test_slow_receivers_hold_nobody_up(self):
        slow = [self.another_receiver() for _ in range(3)]
        for receiver, server in slow:
            receiver.rules.replace([{"action": {"delay_s": 20}}])
            self.later(2, server)
        self.later(5)
        follower = self.spawn("deliver", "--follow")
        self.assertTrue(until(lambda: len(self.spools()) == 6, 15), "the others wait for those who are slow")
        self.assertEqual([receiver.rules.seen[0] for receiver, _ in slow], [1, 1, 1])
        self.later(1)
        self.assertTrue(until(lambda: len(self.spools()) == 6, 15), "and for a run that comes later")
        begun = time.monotonic()
        follower.terminate()
        self.assertEqual(follower.wait(20), 0)
        self.assertLess(time.monotonic() - begun, 5)

    def test_many_receivers_and_few_connections(self):
        others = [self.another_receiver() for _ in range(7)]
        for _, server in others:
            self.later(2, server)
        follower = self.spawn("deliver", "--follow")
        self.assertTrue(until(lambda: not self.spools()))
        few = until(lambda: sum(link.startswith("socket:") for link in self.links(follower.pid)) <= 4)
        follower.terminate()
        self.assertEqual(follower.wait(20), 0)
        self.assertTrue(few)
        for receiver, _ in others:
            self.assertEqual((receiver.twice, receiver.changed, sum(runs for _, runs in receiver.sizes)), (0, 0, 2))

    @staticmethod
    def links(pid):
        for name in os.listdir(f"/proc/{pid}/fd"):
            try:
                yield os.readlink(f"/proc/{pid}/fd/{name}")
            except OSError:  # closed meanwhile
                pass

    def test_it_ends_in_the_middle_of_a_request(self):
        self.later(1)
        self.rules({"action": {"delay_s": 8}})
        follower = self.spawn("deliver", "--follow")
        until(lambda: self.receiver.rules.seen[0])
        begun = time.monotonic()
        follower.terminate()
        self.assertEqual(follower.wait(20), 0)
        self.assertLess(time.monotonic() - begun, 5)
        self.rules()
        self.assertEqual(self.tacho("deliver").rc, 0)
        self.check_all()

    def test_two_followers(self):
        both = [self.spawn("deliver", "--follow") for _ in range(2)]
        self.later(12)
        self.assertTrue(until(lambda: not self.spools()))
        for one in both:
            one.terminate()
            self.assertEqual(one.wait(20), 0)
        self.assertEqual(self.receiver.twice, 0)
        self.check_all()

    def test_a_wrong_setting_frees_the_runs(self):
        self.later(3)
        self.rules({"action": {"status": 401}})
        follower = self.spawn("deliver", "--follow", "--json")
        self.assertTrue(until(lambda: self.receiver.log))
        lines = [json.loads(follower.stdout.readline()) for _ in range(3)]
        self.assertEqual({line["state"] for line in lines}, {"blocked"})
        self.assertTrue(all(line["waiting"] > 0 and line["sent"] == 0 for line in lines))
        self.rules()
        self.assertEqual(self.tacho("deliver").rc, 0, "another process may send them")
        follower.terminate()
        self.assertEqual(follower.wait(20), 0)
        self.assertEqual(sum(entry["status"] == 401 for entry in self.receiver.log), 1)
        self.check_all()

    def test_it_keeps_the_spool_within_its_bounds(self):
        _, away = self.another_receiver()
        away.close()
        self.later(5, away)
        follower = self.spawn("deliver", "--follow", env={"TACHO_SPOOL_MAX": "1"})
        self.assertTrue(until(lambda: not self.spools()))
        follower.terminate()
        self.assertEqual(follower.communicate(timeout=20)[1].count("TACHO_SPOOL_MAX"), 5)


class Killed(MetricsCase):
    """A few rounds with a seed; TACHO_SEED repeats one."""

    def kill_at_random(self, chance, what):
        time.sleep(chance.uniform(0, 1.2))
        pids = deliverers(self.mark) if what == "deliverer" else [self.run.pid]
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def round(self, chance, number):
        what = chance.choice(["tacho", "deliverer", "both"])
        rules = [{"match": {"nth": chance.randint(1, 4)}, "action": chance.choice([{"reset": "answer"}, {"reset": "body"}, {"status": 503}])}]
        self.rules(*rules)
        self.run = self.spawn("run", "-i", "0.05", "--upload-interval", "0.2s", "-o", self.place(), "--", "sleep", "1", stderr=None,
                              env={"TACHO_FINISH_TIMEOUT": "20"})
        for one in ["deliverer", "tacho"] if what == "both" else [what]:
            self.kill_at_random(chance, one)
        self.run.wait(30)
        self.rules()
        until(lambda: not deliverers(self.mark), 40)
        self.assertEqual(self.tacho("deliver").rc, 0)
        folder = self.run_folders()[number]
        if len(rows_of(folder)) == 0:  # killed before the first row
            return
        with open(os.path.join(folder, "run.json"), encoding="utf-8") as file:
            known_end = json.load(file)["state"] != "running"
        with self.subTest(round=number, what=what):
            self.check(folder, killed=not known_end)

    def test_at_any_moment(self):
        seed = int(os.environ.get("TACHO_SEED", random.randrange(10 ** 6)))
        chance = random.Random(seed)
        with self.subTest(seed=seed):
            for number in range(8):
                self.round(chance, number)
        self.assertEqual(self.letters(), [])

    def test_a_receiver_that_takes_nothing_twice(self):
        """The answer was lost with the process that waited for it; the next one repeats what is there already."""
        self.go(options=("--deliver", "later"))
        self.rules({"match": {"nth": 1}, "action": {"reset": "answer"}}, {"action": {"status": 503}})
        sender = self.spawn("deliver", "--follow")
        until(lambda: len(self.receiver.log) > 1)
        sender.kill()
        sender.wait()
        self.rules({"action": {"do": {"in_order": True}}})
        done = self.tacho("deliver", "--all", "--json")
        self.assertEqual((done.rc, self.letters()), (0, []), done)
        self.assertIn('"refused":0', done.out)
        self.check()

    def test_letters_are_written_once(self):
        seed = int(os.environ.get("TACHO_SEED", random.randrange(10 ** 6)))
        chance = random.Random(seed)
        self.go("sleep", "1.5", options=("--deliver", "later"))
        self.rules({"action": {"do": {"refuse": {"name": "tacho_job_memory_bytes"}}}})
        for _ in range(6):
            sender = self.spawn("deliver", "--follow")
            until(lambda: len(self.receiver.log) > 3)
            time.sleep(chance.uniform(0, 0.25))
            sender.kill()
            sender.wait()
        self.assertEqual(self.tacho("deliver").rc, 0)
        with self.subTest(seed=seed):
            lines = open(self.letters()[0], encoding="utf-8").read().splitlines()
            times = [int(float(re.search(r"} \S+ (\S+)$", line)[1]) * 1000 + 0.5) for line in lines[:-1]]
            self.assertEqual(times, [round(float(row["timestamp"]) * 1000) for row in self.rows() if row["process_memory_mib"]])
            self.assertEqual(self.receiver.changed, 0)
