"""A task on a Google VM: a metadata server, a BigQuery, and tacho monitor beside it."""
import glob
import os
import signal
import subprocess
import time

from bigquery import Cloud
from support import BUILD, Case

METADATA = {"project/project-id": "project", "instance/id": "1234567890123456789", "instance/hostname": "vm-7.c.project.internal",
            "instance/zone": "projects/99/zones/europe-west4-a", "instance/scheduling/preemptible": "TRUE", "instance/cpu-platform": "AMD Rome",
            "instance/machine-type": "projects/99/machineTypes/n2d-custom-2-4096", "instance/preempted": "FALSE", "token": True}
TASK = {"WORKFLOW_ID": "11111111-2222-3333-4444-555555555555", "TASK_CALL_NAME": "align-reads.v2", "TASK_CALL_INDEX": "NA", "TASK_CALL_ATTEMPT": "1"}
DELIVER = os.path.join(BUILD, "bin", "tacho-deliver")
BUDGET_S = 8


class Monitored(Case):
    weight = 3

    def setUp(self):
        super().setUp()
        if not os.path.exists(DELIVER):
            self.fail(f"{DELIVER} is missing: build it first")
        self.use(auth=True, metadata=dict(METADATA))
        self.spool = self.path("spool")

    def use(self, **config):
        self.cloud = Cloud(config)
        self.addCleanup(self.cloud.close)

    def variables(self, **more):
        env = {"DATASET_ID": Cloud.dataset, "BIGQUERY_EMULATOR_HOST": self.cloud.host, "GCE_METADATA_HOST": self.cloud.host, "TACHO_NO_CLOUD": None,
               "TACHO_SPOOL_DIR": self.spool, "DISK_MOUNTS": "/", **TASK}
        return {**env, **more}

    def start(self, *args, env=None, **keywords):
        keywords.setdefault("stderr", open(self.path("stderr"), "w", encoding="utf-8"))
        self.addCleanup(keywords["stderr"].close)
        keywords.setdefault("stdout", subprocess.DEVNULL)
        return self.spawn("monitor", *args, env=self.variables(**(env or {})), **keywords)

    def end(self, process, number=signal.SIGTERM, rc=0):
        begun = time.monotonic()
        process.send_signal(number)
        process.wait(30)
        self.assertEqual(process.returncode, rc, self.read("stderr"))
        self.assertLess(time.monotonic() - begun, BUDGET_S)

    def metrics(self):
        return self.cloud.rows("metrics")

    def events(self):
        return [row["event"] for row in self.metrics() if "event" in row]

    def left(self):
        return glob.glob(self.path("spool", "2*"))

    def check(self, runtime=1):
        """Both tables have their rows, once and in order; nothing wrong was sent, nothing is left behind."""
        self.assertEqual(len(self.cloud.rows("runtime")), runtime)
        metrics = self.metrics()
        self.assertEqual(sorted(row["seq"] for row in metrics), list(range(len(metrics))))
        self.assertEqual(self.cloud.double.complaints, [])
        for table in self.cloud.double.tables.values():
            self.assertEqual(table.conflicts, [])
        self.assertEqual(self.left(), [])
        return metrics
