"""A Cromwell, a BigQuery and objects of Google's storage, and what uploads of workflows leave there."""
import json
import os

from bigquery import Cloud
from service import Running
from support import Case
import cromwell_double  # found through service.py

HERE = os.path.dirname(os.path.abspath(__file__))
FIXTURES = os.path.join(HERE, "..", "fixtures", "cromwell")
PAPI, BATCH, OUTER = ("5d96fd3c-1a89-40ae-8095-c364181cda46", "9d3a8a7e-2f27-4a5e-8f3d-7c2b64a1e001", "7a1c0000-0000-4000-8000-000000000001")
OBJECTS = {"data/a.bam": 1_500_000_000, "ref/hg38.fa": 3_272_116_950, "data/t.csv": 1234, "data/b.bam": 1}


def fixture(name):
    with open(os.path.join(FIXTURES, name), encoding="utf-8") as file:
        return json.load(file)


def event(workflow_id, generation="1", **more):
    return {"bucket": "logs", "name": f"wf/workflow.{workflow_id}.log", "generation": generation, "size": "10", **more}


class Cromwell(Case):
    def setUp(self):
        super().setUp()
        self.cloud = Cloud()
        self.addCleanup(self.cloud.close)
        self.double = cromwell_double.Cromwell({"objects": dict(OBJECTS), "workflows": {
            PAPI: fixture("papi.json"), BATCH: fixture("batch.json"), OUTER: fixture("sub_by_id.json")}})
        self.server = Running(cromwell_double.Handler, self.double)
        self.addCleanup(self.server.close)

    def use(self, **more):
        return self.cloud.environment(CROMWELL_BASEURL=self.server.url, STORAGE_EMULATOR_HOST=self.server.url.removeprefix("http://"),
                                      GCP_PROJECT=Cloud.project, DATASET_ID=Cloud.dataset, **more)

    def upload(self, *words, rc=0, env=None, **keywords):
        done = self.tacho("cromwell", "upload", *words, env={**self.use(), **(env or {})}, **keywords)
        self.assertEqual(done.rc, rc, done)
        return done

    def rows(self):
        return self.cloud.rows("metadata")

    def keys(self):
        return sorted((row["workflow_name"], row["task_call_name"], row["shard"], row["attempt"]) for row in self.rows())

    def fault(self, action, path, **match):
        self.double.rules.replace([{"match": {"path": path, **match}, "action": action}])

    def asked(self, part):
        with self.double.lock:
            return [entry for entry in self.double.log if part in entry["path"]]

    def clean(self):
        self.assertEqual(self.double.complaints, [])
        self.assertEqual(self.cloud.double.complaints, [])
        for table in self.cloud.double.tables.values():
            self.assertEqual(table.conflicts, [])


GENOTYPE = [("genotype", "align", 0, 1), ("genotype", "align", 0, 2), ("joint", "import", -1, 1)]
COUNTS = [("counts", "plot", -1, 1), ("counts", "sum", -1, 1)]
