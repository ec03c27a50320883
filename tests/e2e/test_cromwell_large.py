"""tacho cromwell upload (cromwell-bigquery.md §3.10): many rows and large ones in bounded memory, and a BigQuery that fails on the way."""
import json
import os
import subprocess
import sys

from support import SANITIZED, highest_kib
from cromwell_case import GENOTYPE, HERE, PAPI, Cromwell


class Large(Cromwell):
    weight = 5

    def test_many_batches_in_little_memory(self):
        calls = 5_000
        subprocess.run([sys.executable, os.path.join(HERE, "..", "..", "bench", "cromwell_document.py"), str(calls), self.path("large.json")],
                       check=True, stdout=subprocess.DEVNULL)
        self.upload_in_little_memory("large.json")
        rows = self.cloud.rows("metadata")
        self.assertEqual(len({(row["workflow_id"], row["shard"]) for row in rows}), len(rows))
        self.assertEqual(self.cloud.table("metadata").repeated, 0)
        cached = [index for part in (calls - calls // 10, calls // 10) for index in range(part) if index % 997 % 50 == 7]
        self.assertEqual(len(rows), calls - len(cached))
        self.assertGreater(len(self.cloud.calls("/insertAll")), 9)
        self.clean()

    def upload_in_little_memory(self, name):
        process = self.spawn("cromwell", "upload", "--metadata", self.path(name), "--no-sizes", env=self.use())
        process.stdout.close()
        high_kib = highest_kib(process)
        self.assertEqual(process.returncode, 0, process.stderr.read())
        if not SANITIZED:
            self.assertTrue(0 < high_kib < 64 * 1024, high_kib)

    def test_lists_of_commas_in_little_memory(self):
        """Attributes that are lists are joined: of nothing, and nested, they must not be held as they come."""
        start = '{"id":"w","status":"Succeeded","calls":{"w.t":[{"jes":{},"executionStatus":"Done","start":"2026-10-01T00:00:00Z","attempt":1,"shardIndex":0,'
        text = '"' + "x" * 60_000 + '"'
        inputs = ",".join(f'"{i}":null' for i in range(19_000))
        nested = start
        for level in range(60):  # each call holds inputs, and a sub-workflow with such a call
            nested += f'"inputs":{{{inputs}}},"subWorkflowMetadata":' + start.replace('"id":"w"', f'"id":"w{level}"')
        cases = {"commas": start + '"runtimeAttributes":{"disks":[' + '"",' * 5_000_000 + '""]}}]}}',
                 "deep": start + '"dockerImageUsed":' + "[" * 1000 + text + "]" * 1000 + "}]}}",
                 "sub": nested + '"attempt":1}]}}' + "}]}}" * 60}
        for name, document in cases.items():
            with self.subTest(name):
                self.write(name + ".json", document)
                self.upload_in_little_memory(name + ".json")
        self.assertEqual(sorted(row["workflow_id"] for row in self.rows()), ["w", "w59"])

    def test_rows_of_megabytes_in_little_memory(self):
        inputs = {f"w.input_{i:05}": "x" * 450 for i in range(30_000)}
        call = {"jes": {}, "executionStatus": "Done", "start": "2026-10-01T00:00:00Z", "attempt": 1, "inputs": inputs}
        with open(self.path("wide.json"), "w", encoding="utf-8") as file:
            json.dump({"id": PAPI, "status": "Succeeded", "calls": {"w.t": [{**call, "shardIndex": i} for i in range(4)]}}, file)
        self.upload_in_little_memory("wide.json")
        rows = self.rows()
        self.assertEqual(sorted(row["shard"] for row in rows), [0, 1, 2, 3])
        for row in rows:
            self.assertTrue(row["inputs_truncated"])
            self.assertTrue(3_900_000 < len(json.dumps(row, separators=(",", ":"))) <= 4_000_000)
            self.assertEqual(row["inputs"][0]["key"], "w.input_00000")

    def test_bigquery_that_fails_now_and_then(self):
        self.cloud.faults({"match": {"path": ".*/insertAll", "nth": [1, 3]}, "action": {"status": 503}},
                          {"match": {"path": ".*/insertAll", "nth": 2}, "action": {"reset": "answer"}})
        self.upload(PAPI)
        self.assertEqual(self.keys(), GENOTYPE)
        self.clean()

    def test_bigquery_that_refuses(self):
        self.cloud.fault({"status": 403, "code": "accessDenied", "message": "Permission bigquery.tables.updateData denied"})
        done = self.upload(PAPI, rc=1)
        self.assertIn("denied", done.err)
