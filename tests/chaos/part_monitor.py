"""The task monitor beside a BigQuery that fails, loses answers and goes away, its deliverer killed, itself stopped or killed.
When all is sent, every sequence number is there exactly once from 0 on, and a monitor that ended by itself lost none."""
import collections
import json
import os
import signal
import time

from bigquery import Cloud
from part_delivery import kill
from support import Case, deliverers, marked_pids, until
from monitored import METADATA, TASK

ACTIONS = [{"status": 500}, {"status": 503}, {"status": 429}, {"reset": "start"}, {"reset": "body"}, {"reset": "answer"}, {"half_close": True},
           {"delay_s": 0.5}, {"status": 200, "body": "<html>"}, {"status": 403, "code": "rateLimitExceeded"}]


class Step(Case):
    def runTest(self):
        dice = self.dice
        cloud = Cloud({"auth": True, "metadata": dict(METADATA)})
        self.addCleanup(cloud.close)
        rules = []
        for _ in range(dice.randint(0, 3)):
            match = {"path": dice.choice([".*/insertAll", ".*/tables.*", ".*token.*", ".*/instance/.*", ".*"]), "from": dice.randint(1, 5)}
            match["to"] = match["from"] + dice.randint(0, 4)
            rules.append({"match": match, "action": dice.choice(ACTIONS)})
        cloud.faults(*rules)
        env = {"DATASET_ID": Cloud.dataset, "BIGQUERY_EMULATOR_HOST": cloud.host, "GCE_METADATA_HOST": cloud.host, "TACHO_NO_CLOUD": None,
               "TACHO_SPOOL_DIR": self.path("spool"), "DISK_MOUNTS": "/", "TACHO_FINISH_TIMEOUT": "3", **TASK}
        with open(self.path("stderr"), "w", encoding="utf-8") as errors:
            monitor = self.spawn("monitor", env=env, stdout=errors, stderr=errors)
            begun, end_s = time.monotonic(), dice.uniform(0.1, 4)
            for _ in range(dice.choice([0, 0, 1, 2])):
                time.sleep(dice.uniform(0, end_s / 2))
                dice.choice([lambda: kill(deliverers(self.mark)), lambda: self.pause(monitor.pid)])()
            time.sleep(max(0, begun + end_s - time.monotonic()))
            cut = dice.choice([False, False, True])
            if cut:
                kill([monitor.pid] if dice.random() < 0.5 else marked_pids(self.mark))
            else:
                for number in dice.choice([[signal.SIGTERM], [signal.SIGTERM, signal.SIGHUP], [signal.SIGHUP]]):
                    monitor.send_signal(number)
            monitor.wait(60)
        cloud.faults()
        until(lambda: not marked_pids(self.mark), 20)  # a deliverer that is still ending
        done = self.tacho("deliver", "--all", env=env, timeout=180)
        what = f"{rules}, killed {cut}; {done}\n{self.read('stderr')[-3000:]}"
        left = [name for name in os.listdir(self.path("spool")) if name[0] == "2"] if os.path.exists(self.path("spool")) else []
        self.assertEqual((done.rc, left), (0, []), f"not delivered; {what}")
        counts = collections.Counter(row["seq"] for row in cloud.rows("metrics")) if cloud.name("metrics") in cloud.double.tables else {}
        doubled = [seq for seq, count in counts.items() if count > 1]
        missing = sorted(set(range(max(counts, default=-1) + 1)) - set(counts))
        self.assertEqual(doubled, [], f"doubled: {what}")
        self.assertEqual(missing, [], f"lost: {what}")
        if not cut:
            self.assertEqual(monitor.returncode, 0, f"hurt: {what}")
            self.assertGreaterEqual(len(counts), 1, f"lost: no row at all; {what}")
        self.assertEqual(cloud.double.complaints, [], json.dumps(cloud.double.complaints)[:2000])

    def pause(self, pid):
        try:
            os.kill(pid, signal.SIGSTOP)
            time.sleep(self.dice.uniform(0, 1))
            os.kill(pid, signal.SIGCONT)
        except OSError:
            pass
