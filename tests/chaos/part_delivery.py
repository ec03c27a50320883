"""tacho killed at a random moment in bad weather, with or without its deliverer, which may have been killed before and been
started again. Afterwards `tacho deliver --all` sends what is left: every row of the local CSV must stand exactly once behind
the run's finish call."""
import collections
import glob
import os
import signal
import time

from service import Service
from support import Case, deliverers, marked_pids

ACTIONS = [{"status": 500}, {"status": 503, "code": "SlowDown"}, {"status": 429, "headers": {"Retry-After": "1"}}, {"reset": "start"},
           {"reset": "body"}, {"reset": "answer"}, {"half_close": True}, {"slow_s": 0.002}, {"delay_s": 0.5},
           {"status": 200, "body": "<html>a portal</html>"}, {"status": 200, "body": "[" * 5000}, {"status": 204, "body": ""}]
S3_ACTIONS = [action for action in ACTIONS if action.get("status", 500) >= 400] + [
    {"status": 403, "code": "ExpiredToken"}, {"status": 403, "code": "AccessDenied"}, {"status": 400, "code": "RequestTimeout"}]


def weather(dice, actions, paths):
    rules = []
    for _ in range(dice.randint(0, 4)):
        match = {"path": dice.choice(paths), "from": dice.randint(1, 4)}
        match["to"] = match["from"] + dice.randint(0, 3)
        rules.append({"match": match, "action": dice.choice(actions)})
    return rules


def kill(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass


class Step(Case):
    def runTest(self):
        dice = self.dice
        service = Service({"life_s": dice.choice([5, 60, 3600])})
        self.addCleanup(service.close)
        api = weather(dice, ACTIONS, ["/runs", "/runs/.*/finish", "/runs/.*/refresh-credentials", ".*"])
        s3 = weather(dice, S3_ACTIONS, [".*"])
        service.api_faults(*api)
        service.s3_faults(*s3)
        env = {"TACHO_FINISH_TIMEOUT": "3", **service.environment()}
        job = self.spawn("run", "-q", "-i", "0.05", "--upload-interval", "1", "--", "sleep", dice.uniform(0.1, 4), env=env)
        begun, end_s = time.monotonic(), dice.uniform(0.02, 4.5)
        for moment_s in sorted(dice.uniform(0.02, 4.5) for _ in range(dice.choice([0, 0, 1, 2, 3]))):
            if moment_s < end_s:
                time.sleep(max(0, begun + moment_s - time.monotonic()))
                kill(deliverers(self.mark))
        time.sleep(max(0, begun + end_s - time.monotonic()))
        victims = [job.pid]
        if dice.random() < 0.5:
            victims = marked_pids(self.mark)
            dice.shuffle(victims)
        kill(victims)
        job.communicate()
        service.api_faults()
        service.s3_faults()
        done = self.tacho("deliver", "--all", env=env, timeout=180)
        self.end_marked()  # the job, where tacho alone was killed
        self.count(service, f"weather {api} {s3}; {done}", done.rc)

    def count(self, service, what, rc):
        left = glob.glob(self.path("state/tacho/spool/2*"))
        self.assertEqual((rc, left), (0, []), f"not delivered; {what}")
        local = []
        for path in glob.glob(self.path("state/tacho/runs/*/metrics.csv")):
            text = self.read(path)
            local += text[:text.rfind("\n") + 1].splitlines()[1:]
        finished = service.finished()
        self.assertLess(len(finished), 2, f"doubled: the run is finished {len(finished)} times; {what}")
        self.assertTrue(finished or not local, f"lost: nothing of {len(local)} rows; {what}")
        remote = collections.Counter(service.rows(finished[0])) if finished else collections.Counter()
        lost = [row for row in local if remote[row] == 0]
        doubled = [row for row, count in remote.items() if count > 1]
        self.assertEqual(len(lost), 0, f"lost: {len(lost)} of {len(local)}; {what}")
        self.assertEqual(len(doubled), 0, f"doubled: {len(doubled)}; {what}")
        self.assertLessEqual(len(remote), len(local) + 1, f"{len(remote)} remote, {len(local)} local; {what}")
        changed = [name for name, entry in service.s3.listing().items() if entry["bodies"] > 1]
        self.assertEqual(changed, [], f"an object was put with different contents; {what}")
