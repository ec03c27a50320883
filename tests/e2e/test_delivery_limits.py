"""Delivery under what a job's shell may have set up: limits, no descriptors, a start that is refused, a spool that is removed."""
import glob
import os
import shutil

from support import until
from test_delivery import Delivery


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
        process = self.spawn("run", "-i", "0.1", "--upload-interval", "1", "--", "sleep", "3", env=self.env())
        self.assertTrue(until(lambda: self.service.s3.objects))
        self.service.s3_faults({"action": {"status": 503}})  # the next batch is sealed and not sent when the spool goes
        self.assertTrue(until(lambda: glob.glob(os.path.join(self.spools()[0], "000001.csv"))))
        shutil.rmtree(self.path("state", "tacho", "spool"))
        self.service.s3_faults()
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(err.count("was removed by somebody"), 1, err)
        self.check()
