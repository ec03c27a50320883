"""The machine's clock is set in a real run: an hour back, and forth as after a suspend. Rows, sums, processes, what is read back and what is sent stay right."""
import csv
import gzip
import json
import os
import struct

from delivery_case import Delivery
from metrics import MetricsCase
from support import BUILD, SANITIZED, Case

LIBRARY = os.path.join(BUILD, "lib", "libfake_clock.so")
HOUR = 3600


class Clock(Case):
    """{SET} SECONDS in a shell's command sets the clock that tacho, its helpers and the job see."""

    def setUp(self):
        super().setUp()
        if SANITIZED or not os.path.exists(LIBRARY):
            self.skipTest("a sanitizer wants to be loaded first" if SANITIZED else "the stand-in is not built")
        self.set_clock(0)

    def set_clock(self, seconds):
        for name, value in (("clock", seconds), ("back", -HOUR), ("forth", HOUR), ("right", 0)):
            if name != "clock" and os.path.exists(self.path(name)):
                continue
            with open(self.path(name), "wb") as file:
                file.write(struct.pack("q", value * 10 ** 9))

    def job(self, *steps):
        """A shell that sets the clock between its sleeps: numbers are seconds, words are back, forth and right."""
        return " ; ".join(f"sleep {step}" if isinstance(step, float) else f"dd if={self.path(step)} of={self.path('clock')} conv=notrunc 2>/dev/null"
                          for step in steps)

    def clocked(self, **more):
        return {"LD_PRELOAD": LIBRARY, "FAKE_CLOCK": self.path("clock"), **more}

    def check_times(self, times, jumps):
        """Strictly increasing in milliseconds, but for `jumps` (about so many seconds each)."""
        found = [b - a for a, b in zip(times, times[1:]) if not 0 < b - a < 60]
        self.assertEqual([round(step / HOUR) for step in found], [jump / HOUR for jump in jumps], times)


class Rows(Clock):
    def run_stepped(self, *steps, options=()):
        _, run, table = self.tracked("sh", "-c", self.job(*steps), options=["-q", "-i", "0.1", *options], env=self.clocked())
        with open(os.path.join(self.run_folders()[0], "processes.csv"), encoding="utf-8") as file:
            processes = [row for row in csv.DictReader(file) if row["pid"]]
        return run, table, processes

    def lived(self, processes, word):
        return [float(row["ended"]) - float(row["started"]) for row in processes if row["command"].startswith(word)]

    def test_an_hour_back(self):
        outputs = [self.path(name) for name in ("rows.csv", "rows.csv.gz", "rows.jsonl")]
        run, table, processes = self.run_stepped(1.0, "back", 1.0, options=[word for path in outputs for word in ("-o", path)])
        times = [float(value) for value in table.column("timestamp")]
        self.check_times(times, [-HOUR])
        back = next(i for i, (a, b) in enumerate(zip(times, times[1:])) if b < a)
        self.assertAlmostEqual(times[back] - times[back - 1], 0.001, 3)  # the row that saw it comes after the one before it
        self.assertLess(times[back + 1] - (times[back - 1] - HOUR), 0.5)  # and the next goes on from the new time
        self.assertEqual([note for note in run["notes"] if "set back by 3600 s" in note], run["notes"])
        self.assertEqual(len(run["notes"]), 1, run["notes"])
        outcome = run["outcome"]
        self.assertLess(abs(outcome["duration_s"] - 2), 1)
        self.assertGreater(outcome["finished_at"], outcome["started_at"])
        for text in (self.read("rows.csv"), gzip.open(outputs[1], "rt", encoding="utf-8").read()):
            self.assertEqual(text, table.text)
        lines = [json.loads(line) for line in self.read("rows.jsonl").splitlines()]
        self.assertEqual([line["timestamp"] for line in lines], times)
        self.assertEqual([line["timestamp_secs"] for line in lines], [int(time) for time in times])
        self.assertLess(max(line.get("actual_interval_ms", 0) for line in lines), 900)
        for seconds in self.lived(processes, "sleep"):
            self.assertLess(abs(seconds - 1), 0.6, processes)
        for seconds in self.lived(processes, "sh"):
            self.assertLess(abs(seconds - 2), 0.9, processes)
        # Who was started afterwards was so by the new time.
        self.assertLess(min(float(row["started"]) for row in processes if row["command"].startswith("sleep")), times[-1])

    def test_back_and_forth(self):
        run, table, processes = self.run_stepped(0.5, "back", 0.5, "right", 0.5, "back", 0.5, "forth", 0.5)
        self.check_times([float(value) for value in table.column("timestamp")], [-HOUR, HOUR, -HOUR, 2 * HOUR])
        self.assertEqual(len([note for note in run["notes"] if "set back by 3600 s" in note]), 2, run["notes"])
        self.assertLess(abs(run["outcome"]["duration_s"] - 2.5), 1.5)
        self.assertTrue(all(row["ended"] >= row["started"] for row in processes), processes)
        for words in (("show", "last"), ("show", "--json", "last"), ("runs", "--json"), ("why", "last"), ("compare", "last", "last"), ("advise", "last"),
                      ("report", "last", "-o", "page.html"), ("show", os.path.join(self.run_folders()[0], "metrics.csv"))):
            done = self.tacho(*words)
            self.assertIn(done.rc, (0, 4), (words, done))
            self.assertNotIn("nan", done.out.lower())

    def test_a_suspended_machine(self):
        """As after a lid was closed: what is weighed by time is so by the time that passed, not by the hour in which nothing ran."""
        spin = "python3 -S -c 'import time; end = time.process_time() + 1.2\nwhile time.process_time() < end: pass'"
        self.tracked("sh", "-c", " ; ".join((spin, self.job(0.15, "forth", 0.1))), options=["-q", "-i", "0.1"], env=self.clocked())
        why = json.loads(self.tacho("why", "--json", "last").out)
        self.assertLess(why["classes"].get("waiting", 0), 0.5, why)  # all but 0.35 s of it computed

    def test_killed(self):
        """Nobody wrote its end: the rows tell, and what run.json knew of how long they took."""
        for step in ("back", "forth"):
            with self.subTest(step):
                store = self.path("store-" + step)
                done = self.tacho("run", "-q", "-i", "0.1", "--store", store, "--", "sh", "-c", self.job(0.5, step, 0.7) + "; kill -9 $PPID", env=self.clocked())
                self.assertEqual(done.rc, -9, done)
                shown = json.loads(self.tacho("show", "--json", "--store", store, "last").out)
                self.assertEqual(shown["outcome"]["state"], "interrupted")
                self.assertLess(abs(shown["outcome"]["duration_s"] - 1.2), 0.9)
                self.assertEqual(shown["statistics"]["timestamp"]["duration"], shown["outcome"]["duration_s"])
                self.set_clock(0)

    def test_as_resource_tracker(self):
        os.symlink(os.path.join(BUILD, "bin", "tacho"), self.path("resource-tracker"))
        done = self.tacho("-i", "1", "-f", "csv", "-o", self.path("rows.csv"), "--", "sh", "-c", self.job(1.2, "back", 2.0),
                          program=self.path("resource-tracker"), env=self.clocked())
        self.assertEqual(done.rc, 0, done)
        times = [int(line.split(",")[0]) for line in self.read("rows.csv").splitlines()[1:]]
        self.assertEqual(sum(b < a for a, b in zip(times, times[1:])), 1, times)
        self.assertGreaterEqual(len(times), 4)


class Sent(Clock, Delivery):
    def test_batches(self):
        """Every row once, in their order, whatever their times; the end of the run comes behind its start."""
        for steps in ((1.2, "back", 1.2), (1.2, "forth", 1.2)):
            with self.subTest(steps=steps):
                self.use()
                _, run = self.go("sh", "-c", self.job(*steps), options=("--upload-interval", "1"), source="s3", **self.clocked())
                self.assertGreaterEqual(len(run["finish"]["data_uris"]), 2)
                self.assertEqual(run["finish"]["data_uris"], sorted(run["finish"]["data_uris"]))
                self.set_clock(0)
                for folder in self.run_folders():
                    os.rename(folder, self.path(f"old-{steps[1]}"))


class Metrics(Clock, MetricsCase):
    def test_remote_write(self):
        """Each row is a sample at its own time, once, and what ends a series comes behind all of it."""
        self.go("sh", "-c", self.job(0.5, "back", 0.5), **self.clocked())
        samples, total = [], 0
        for row in self.rows():
            total += round(float(row["process_utime"]) * 1e6)
            samples.append((round(float(row["timestamp"]) * 1000), total / 1e6))
        user = self.receiver.values("tacho_job_cpu_seconds_total", mode="user")
        self.assertEqual(sorted(user)[-1], (max(samples)[0] + 1, None))
        self.assertEqual([sample for sample in sorted(user)[:-1] if sample[1] != 0 or sample in samples], sorted(samples))
        self.assertEqual((self.receiver.changed, self.spools(), self.letters()), (0, [], []))
