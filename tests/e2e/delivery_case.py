"""A run beside a service and a store that do as they are told."""
import glob
import os

from service import Service
from support import Case, deliverers


class Delivery(Case):
    weight = 3

    def setUp(self):
        super().setUp()
        self.service = Service()
        self.addCleanup(self.service.close)

    def use(self, config=None, s3_config=None):
        self.service.close()
        self.service = Service(config, s3_config)
        self.addCleanup(self.service.close)

    def env(self, **more):
        return self.service.environment(**more)

    def spools(self):
        return sorted(glob.glob(self.path("state", "tacho", "spool", "2*")))

    def deliverer(self):
        """The pid of tacho-deliver beside the run."""
        return next(iter(deliverers(self.mark)), None)

    def local_rows(self, folder=None):
        folders = [folder] if folder else self.run_folders()
        self.assertEqual(len(folders), 1, folders)
        with open(os.path.join(folders[0], "metrics.csv"), encoding="utf-8") as file:
            return file.read().splitlines()[1:]

    def the_finished(self):
        done = self.service.finished()
        self.assertEqual(len(done), 1, self.service.runs())
        return done[0]

    def check(self, source=None):
        """One run is finished and holds exactly the rows of the local CSV; nothing is left in the spool."""
        run = self.the_finished()
        if source:
            self.assertEqual(run["finish"]["data_source"], source)
        self.assertEqual(self.service.rows(run), self.local_rows())
        self.assertEqual(self.spools(), [])
        for name, entry in self.service.s3.listing().items():
            self.assertEqual(entry["bodies"], 1, f"{name} was put with different contents")
            self.assertEqual(entry["content_type"], "application/gzip")
        return run

    def go(self, *job, rc=0, options=(), source=None, **more):
        """A run to its end, delivered, its rows compared."""
        done = self.tacho("run", "-i", "0.1", *options, "--", *(job or ("true",)), env=self.env(**more))
        self.assertEqual(done.rc, rc, done)
        return done, self.check(source)

    def batches(self, seconds=2.5, **keywords):
        """A run of several batches."""
        keywords.setdefault("source", "s3")
        return self.go("sleep", str(seconds), options=("--upload-interval", "1"), **keywords)

    def deliver(self, *args, rc=0, **more):
        done = self.tacho("deliver", *args, env=self.env(**more))
        self.assertEqual(done.rc, rc, done)
        return done
