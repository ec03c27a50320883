"""Exports of the three tables as the test makes them, and the statistics done slowly."""
import gzip
import json
import math
import random
import re
import time

from bigquery import BigQuery

KINDS = ("cpu", "memory_gb", "disk_gb")


def stamp(us, form="export"):
    text = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(us // 1_000_000)) + f".{us % 1_000_000:06}"
    return text + " UTC" if form == "export" else text.replace(" ", "T") + "Z"


def attempt(number, task, size_gb, cpu, memory, disk, rows=20, status="Done", **more):
    """One attempt and its rows: what each sample says is in `cpu` (percent of two CPUs), `memory` and `disk`, by the share of its time."""
    start = int(time.time() - 86_400) * 1_000_000 + number * 1_000_003
    key = {"workflow_id": f"wf-{number}", "task_call_name": task, "shard": "-1", "attempt": "1"}
    runtime = {**key, "project_id": "p", "zone": "z", "instance_id": str(10 ** 15 + number), "instance_name": f"vm{number}", "preemptible": False,
               "cpu_count": "2", "cpu_platform": "Zen", "mem_total_gb": 8.2, "disk_mounts": ["/cromwell_root"], "disk_total_gb": [105.0],
               "start_time": stamp(start), "run_id": f"run{number}"}
    metadata = {**key, "project_id": "p", "zone": "z", "instance_name": f"vm{number}", "preemptible": False, "workflow_name": "w",
                "start_time": stamp(start), "end_time": stamp(start + 3_600_000_000), "execution_status": status, "cpu_count": "2", "mem_total_gb": 8.0,
                "disk_mounts": ["/cromwell_root"], "disk_total_gb": [100.0], "disk_types": ["SSD"], "docker_image": "i",
                "inputs": [{"key": "reads[0]", "type": "file", "value": str(size_gb / 2)}, {"key": "reads[1]", "type": "file", "value": str(size_gb / 2)},
                           {"key": "depth", "type": "number", "value": "30"}] if size_gb is not None else [{"key": "reads", "type": "file", "value": None}], **more}
    metrics = [{"timestamp": stamp(start + 1_000_000 * i), "instance_id": runtime["instance_id"], "cpu_used_percent": [cpu(i / rows), cpu(i / rows) / 2],
                "mem_used_gb": memory(i / rows), "disk_used_gb": [disk(i / rows)], "disk_read_iops": [10.0], "disk_write_iops": [float(i)],
                "run_id": runtime["run_id"], "seq": str(i)} for i in range(rows)]
    return {"runtime": [runtime], "metadata": [metadata], "metrics": metrics}


def joined(attempts):
    return {table: [row for one in attempts for row in one[table]] for table in ("runtime", "metadata", "metrics")}


def p95(values):
    return sorted(values)[math.ceil(0.95 * len(values)) - 1]


def wdl_value(line, size_gb):
    """What a line of WDL asks for."""
    text = line.partition(": ")[2].replace("size(inputs,'G')", repr(size_gb))
    text = text.replace('"local-disk " + ', "").replace(' + " G"', "").replace(' + " SSD"', "").replace(' + " HDD"', "")
    text = re.sub(r'^"(?:local-disk )?([\d.]+) \w+"$', r"\1", text)
    text = re.sub(r"if (.*?) then (.*?) else (.*?)(?=$|\)$)", r"(\2) if (\1) else (\3)", text)
    return eval(text, {"ceil": math.ceil})  # pylint: disable=eval-used


def least_squares_r2(points):
    count = len(points)
    x, y = sum(p[0] for p in points) / count, sum(p[1] for p in points) / count
    xy, xx, yy = (sum(f(a - x, b - y) for a, b in points) for f in (lambda a, b: a * b, lambda a, b: a * a, lambda a, b: b * b))
    return xy * xy / (xx * yy)


def least_height(points):
    """The least height in the middle of the range of a line through two points that is above all."""
    middle = (min(points)[0] + max(points)[0]) / 2
    best = math.inf
    for a in points:
        for b in points:
            if a[0] < b[0]:
                slope = (b[1] - a[1]) / (b[0] - a[0])
                if all(p[1] <= a[1] + slope * (p[0] - a[0]) + 1e-9 for p in points):
                    best = min(best, a[1] + slope * (middle - a[0]))
    return middle, best


class AnalyzeCase(BigQuery):
    def save(self, tables, pack=False):
        words = []
        for table, rows in tables.items():
            text = "".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in rows).encode()
            path = self.path(table + (".json.gz" if pack else ".json"))
            with open(path, "wb") as file:
                file.write(gzip.compress(text) if pack else text)
            words += ["--" + table, path]
        return words

    def analyze(self, *words, rc=0, **more):
        done = self.tacho("cromwell", "analyze", *words, **more)
        self.assertEqual(done.rc, rc, done)
        return done

    def report(self, *words, **more):
        return json.loads(self.analyze(*words, "--json", **more).out)

    def linear(self, count=12, seed=1):
        rng = random.Random(seed)
        attempts = []
        for number in range(count):
            size = round(rng.uniform(2, 60), 3)
            load, memory, disk = 20 + size * rng.uniform(0.9, 1), 0.5 + 0.09 * size * rng.uniform(0.8, 1), 3 + size * rng.uniform(1, 1.3)
            attempts.append(attempt(number, "align", size, lambda s, v=load: round(v * (0.5 + s), 3), lambda s, v=memory: round(v * (0.2 + 0.8 * s), 6),
                                    lambda s, v=disk: round(v * s, 6), status="Failed" if number == 3 else "Done"))
        return attempts

    def reference(self, one):
        rows = one["metrics"]
        cores = [sum(row["cpu_used_percent"]) / 100 for row in rows]
        return {"size": sum(float(entry["value"]) for entry in one["metadata"][0]["inputs"] if entry["type"] == "file"), "cores": cores,
                "cpu": sum(cores) / len(cores), "memory_gb": max(row["mem_used_gb"] for row in rows), "disk_gb": max(row["disk_used_gb"][0] for row in rows)}

    def check_task(self, task, attempts):
        told = {entry["workflow_id"]: entry for entry in task["attempt_list"]}
        expected = [self.reference(one) for one in attempts]
        self.assertEqual((task["attempts"], task["measured"], task["failed"], len(told)), (len(attempts), len(attempts), 1, len(attempts)))
        for one, want in zip(attempts, expected):
            entry = told[one["metadata"][0]["workflow_id"]]
            for key, value in {"input_gb": want["size"], "cores_mean": want["cpu"], "cores_max": max(want["cores"]), "cores_p95": p95(want["cores"]),
                               "memory_peak_gb": want["memory_gb"], "disk_peak_gb": want["disk_gb"], "duration_s": len(one["metrics"]) - 1,
                               "metadata_duration_s": 3600, "rows": len(one["metrics"]), "rows_missing": 0,
                               "memory_p95_gb": p95([row["mem_used_gb"] for row in one["metrics"]])}.items():
                self.assertAlmostEqual(entry[key], value, 5, key)
            self.assertAlmostEqual(entry["disks"][0]["write_iops"], sum(range(len(one["metrics"]))) / len(one["metrics"]), 3)
        every = [row for one in attempts for row in one["metrics"]]
        self.assertAlmostEqual(task["used"]["memory_gb"]["p95"], p95([row["mem_used_gb"] for row in every]), 5)
        self.assertAlmostEqual(task["used"]["cpu"]["p95"], p95([sum(row["cpu_used_percent"]) / 100 for row in every]), 5)
        self.assertAlmostEqual(task["used"]["disk_gb"]["peak"], max(row["disk_used_gb"][0] for row in every), 5)
        self.assertEqual(task["requested"]["cpu"], {"min": 2, "max": 2})
        self.assertAlmostEqual(task["requested"]["memory_gb"]["max"], 8 * 2 ** 30 / 1e9, 5)
        for kind, line in zip(KINDS, task["wdl"]):
            points = [(want["size"], want[kind]) for want in expected]
            fit, (middle, height) = task["fit"][kind], least_height(points)
            self.assertEqual(fit["kind"], "line", fit)
            self.assertAlmostEqual(fit["r2"], least_squares_r2(points), 5)
            self.assertAlmostEqual(fit["intercept"] + fit["slope"] * middle, height + (0.1 if kind == "disk_gb" else 0), 5)
            for size, used in points:
                asked = wdl_value(line, size)
                if kind == "cpu":
                    self.assertTrue(asked == 1 and used < 1.5 or asked % 2 == 0 and asked >= used, (line, size, used, asked))
                else:
                    self.assertGreaterEqual(asked, used, (line, size))
                    self.assertEqual(asked % (0.25 if kind == "memory_gb" else 1), 0)
        self.assertTrue(task["wdl"][2].endswith(' SSD"'), task["wdl"])
