"""Spools of the test's own making, and what a folder looks like."""
import json
import os
import stat

from bigquery import crc32c
from service import Service
from support import Case

ROWS = ["1.000,1", "2.000,2", "3.000,3"]
OTHER = 65534


def tree(folder):
    """All that is below: name, kind, owner and content, for a comparison before and after."""
    found = {}
    for top, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(top, name)
            info = os.lstat(path)
            text = os.readlink(path) if stat.S_ISLNK(info.st_mode) else None
            if stat.S_ISREG(info.st_mode):
                with open(path, "rb") as file:
                    text = file.read()
            found[os.path.relpath(path, folder)] = (stat.S_IFMT(info.st_mode), info.st_uid, text)
    return found


class Ownership(Case):
    weight = 2

    def setUp(self):
        super().setUp()
        self.service = Service()
        self.addCleanup(self.service.close)
        self.root = self.path("spools")
        os.mkdir(self.root, 0o700)
        os.mkdir(self.path("victim"), 0o700)
        for name in ("thesis.txt", "000000.csv", "meta.json", "lock"):
            self.write("victim/" + name, f"precious {name}\n", 0o600)
        self.victim = tree(self.path("victim"))

    def env(self, **more):
        return self.service.environment(**more)

    def spool(self, number=0, root=None, name=None, **meta):
        """A killed run for the service: three rows in two sealed segments."""
        folder = os.path.join(root or self.root, name or f"20261115T14000{number}Z-{number + 1}-0a1b2c3d")
        os.makedirs(folder, 0o700)
        self.put(folder, "meta.json", json.dumps({"version": 1, "run": f"20261115-{number:04}", "api_url": self.env()["SENTINEL_API_URL"], "bucket_uri": "",
                                                  "no_cloud": True, "header": "timestamp,a", "start": {"job_name": f"job{number}"},
                                                  "outcome": {"run_status": "finished", "exit_code": 0, "finished_at": "2026-11-15T14:00:03Z"}, **meta}))
        seals = ""
        for segment, rows in enumerate((ROWS[:2], ROWS[2:])):
            text = "\n".join(["timestamp,a", *rows]) + "\n"
            self.put(folder, f"{segment:06}.csv", text)
            seals += f"{segment:06} {len(text)} {len(rows)} {crc32c(text.encode()):08x}\n"
        self.put(folder, "seals", seals)
        self.put(folder, "lock", "999999\n")
        return folder

    @staticmethod
    def put(folder, name, text):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(os.path.join(folder, name), 0o600)

    def deliver(self, *args, rc=0, env=None, **keywords):
        done = self.tacho("deliver", *args, env=self.env(**(env or {})), **keywords)
        self.assertEqual(done.rc, rc, done)
        self.assertEqual(tree(self.path("victim")), self.victim, done)
        return done

    def arrived(self, count):
        done = self.service.finished()
        self.assertEqual(len(done), count, self.service.runs())
        for run in done:
            self.assertEqual(self.service.rows(run), ROWS)
