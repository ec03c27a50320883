"""Delivery under what a job's shell may have set up: limits, no descriptors, a start that is refused, a spool that is removed."""
import glob
import os
import random
import shutil
import time

from support import SANITIZED, until
from delivery_case import Delivery


class Limits(Delivery):
    def limited(self, limit, *args, **more):
        return self.tacho(*args, env=self.env(**more), wrap=["sh", "-c", limit + '; exec "$@"', "sh"])

    def test_file_size_limit_is_told_and_costs_nothing(self):
        done = self.tacho("run", "-i", "0.1", "--", "sleep", "0.3", env=self.env(TACHO_FINISH_TIMEOUT="0"))
        self.assertEqual((done.rc, len(self.spools())), (0, 1), done)
        done = self.limited("ulimit -f 0", "deliver", "--all")
        self.assertEqual((done.rc, done.out), (0, "1 delivered, 0 left\n"), done)
        self.assertEqual(done.err.count("File too large"), 1, done)
        self.check("inline")

    def test_refused_start_leaves_nothing_in_the_spool(self):
        done = self.tacho("attach", "--pid", "4194305", env=self.env())
        self.assertEqual(done.rc, 125, done)
        self.assertEqual(self.spools(), [])

    def test_spool_removed_in_mid_run(self):
        process = self.spawn("run", "-i", "0.1", "--upload-interval", "1", "--", "sleep", "2.4", env=self.env())
        self.assertTrue(until(lambda: self.service.s3.objects))
        self.service.s3_faults({"action": {"status": 503}})  # the next batch is sealed and not sent when the spool goes
        self.assertTrue(until(lambda: glob.glob(os.path.join(self.spools()[0], "000001.csv"))))
        shutil.rmtree(self.path("state", "tacho", "spool"))
        self.service.s3_faults()
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(err.count("was removed by somebody"), 1, err)
        self.check()

    def test_large_run_is_never_held_as_a_whole(self):
        """4 MiB of rows in a segment that nobody sealed, sent in one piece, as for a service without a bucket."""
        self.use({"prefix": None})
        self.large_run(4 << 20, lambda number, row: f"{1.7e9 + number:.3f},{row.partition(',')[2]}")

    def test_large_run_is_never_held_compressed(self):
        """Five such segments, and compressed, which their rows hardly can be: 20 MiB are still 9."""
        self.use({"prefix": None, "gzip": True})
        some = random.Random(1)
        self.large_run(20 << 20, lambda number, row: ",".join([f"{1.7e9 + number:.3f}"] + [str(some.getrandbits(60)) for _ in row.split(",")[1:]]),
                       TACHO_SENTINEL_GZIP="1")

    def large_run(self, size, row_of, **env):
        done = self.tacho("run", "-i", "0.1", "--", "sleep", "0.2", env=self.env(TACHO_FINISH_TIMEOUT="0"))
        self.assertEqual((done.rc, len(self.spools())), (0, 1), done)
        folder = self.spools()[0]
        with open(os.path.join(folder, "000000.csv"), encoding="utf-8") as file:
            header, row = file.read().splitlines()[:2]
        rows = [row_of(number, row) for number in range(size // len(row_of(0, row)))]
        for name in ("000000.csv", "seals"):
            os.unlink(os.path.join(folder, name))
        per_segment = (4 << 20) // len(rows[0])
        for number, first in enumerate(range(0, len(rows), per_segment)):
            with open(os.path.join(folder, f"{number:06}.open"), "w", encoding="utf-8") as file:
                file.write("\n".join([header, *rows[first:first + per_segment], ""]))
        self.service.api_faults({"match": {"path": ".*/finish"}, "action": {"delay_s": 0.5}})
        process, peak = self.spawn("deliver", "--all", env=self.env(**env)), 0
        while process.poll() is None:
            peak = max(peak, self.peak_kib(process.pid))
            time.sleep(0.02)
        self.assertEqual(self.service.rows(self.the_finished()), rows)
        if not SANITIZED:
            self.assertLess(peak, 16 * 1024)
            self.assertGreater(peak, 0)

    @staticmethod
    def peak_kib(pid):
        """VmHWM of tacho-deliver; 0 before tacho has become it."""
        try:
            with open(f"/proc/{pid}/status", encoding="utf-8") as file:
                status = dict(line.split(":", 1) for line in file.read().splitlines())
            return int(status["VmHWM"].split()[0]) if status["Name"].strip() == "tacho-deliver" else 0
        except (OSError, KeyError):
            return 0
