"""tacho cromwell analyze (docs/cromwell-metadata.md): exports of the three tables, and the tables through BigQuery's API, beside a
plain reference in Python. WDL is evaluated, not compared."""
import gzip
import json
import os
import random
import stat
import time
import zlib

from bigquery import column
from support import SANITIZED, highest_kib
from analyze_case import AnalyzeCase, attempt, joined, stamp, wdl_value


class Analyze(AnalyzeCase):
    def test_statistics_and_fit(self):
        """Everything beside the reference, at random; unordered rows, and rows that are there twice, change nothing."""
        for seed in range(3):
            attempts = self.linear(12, seed)
            tables = joined(attempts)
            tables["metrics"] += tables["metrics"][5:25]
            tables["runtime"].append(tables["runtime"][2])
            tables["metadata"].append(tables["metadata"][4])
            for rows in tables.values():
                random.Random(seed).shuffle(rows)
            report = self.report(*self.save(tables, pack=seed == 1))
            self.assertEqual(report["metrics_repeated"], 20)
            self.assertEqual(len(report["tasks"]), 1)
            self.check_task(report["tasks"][0], attempts)

    def test_no_formula(self):
        steady = lambda value: lambda share: value
        four = [attempt(i, "few", 1 + i, steady(50), steady(1 + i), steady(5)) for i in range(4)]
        same = [attempt(10 + i, "same", 1 + i % 4, steady(50), steady(1 + i), steady(5)) for i in range(6)]
        noise = [attempt(20 + i, "noise", 1 + i, steady(50), steady(9 if i % 2 else 1), steady(5)) for i in range(6)]
        small = [attempt(30 + i, "small", 0.0001 * i, steady(50), steady(2), steady(5)) for i in range(6)]
        unknown = [attempt(40, "unknown", None, steady(50), steady(0.3), steady(5))]
        bare = [{**attempt(50, "bare", 3, steady(1), steady(1), steady(1)), "metrics": []}]
        report = self.report(*self.save(joined(four + same + noise + small + unknown + bare)))
        tasks = {task["task"]: task for task in report["tasks"]}
        why = {name: task["fit"]["memory_gb"] and task["fit"]["memory_gb"]["why_no_formula"] for name, task in tasks.items()}
        self.assertIn("only 4 attempts", why["few"])
        self.assertIn("only 4 distinct input sizes", why["same"])
        self.assertIn("R² 0.0", why["noise"])
        self.assertIn("no attempts with inputs", why["small"])
        self.assertIn("no attempts with inputs", why["unknown"])
        self.assertIsNone(why["bare"])
        self.assertEqual(tasks["few"]["wdl"], ["cpu: 1", 'memory: "4 G"', 'disks: "local-disk 6 SSD"'])
        self.assertEqual(tasks["noise"]["wdl"][1], 'memory: "9 G"')
        self.assertEqual(tasks["unknown"]["wdl"][1], 'memory: "1 G"')
        self.assertEqual(tasks["few"]["advice"], ["CPUs can drop from 2 to 1", "memory can drop from 8 to 4 G", "disk can drop from 100 to 6 GB"])
        self.assertNotIn("money", report)

    def test_bad_lines_and_files(self):
        tables = joined(self.linear(6))
        tables["metrics"].insert(2, '{"timestamp": oops\n')
        tables["metrics"].insert(9, json.dumps({"timestamp": "soon", "instance_id": "1"}) + "\n")
        tables["metrics"].append({**tables["metrics"][0], "run_id": "stranger", "instance_id": "7"})
        words = self.save(tables)
        done = self.analyze(*words)
        self.assertIn("metrics.json: line 3: ", done.err)
        self.assertIn("metrics.json: line 10: it has no usable timestamp", done.err)
        self.assertIn("1 row of metrics belongs to no attempt", done.out)
        report = self.report(*words)
        self.assertEqual((report["tables"]["metrics"]["bad_lines"], report["metrics_unmatched"], report["tasks"][0]["measured"]), (2, 1, 6))
        for name, text, why in (("csv", "timestamp,instance_id\n1,2\n", "CSV, which cannot hold repeated columns"), ("avro", "Obj\x01", "Avro"),
                                ("array", '[{"timestamp":"x"}]', "one JSON array"), ("runtime", json.dumps(tables["runtime"][0]) + "\n", "no line of it is a row of the table")):
            self.write(name, text)
            self.assertIn(why, self.analyze(*words[:2], "--metadata", words[words.index("--metadata") + 1], "--metrics", self.path(name), rc=1).err)
        self.assertIn("no-such-file", self.analyze(*words, "--metrics", self.path("no-such-file"), rc=1).err)
        self.assertIn("--metadata is missing", self.analyze("--runtime", "x", "--metrics", "y", rc=2).err)
        self.assertIn("bq://PROJECT.DATASET", self.analyze("bq://nothing", rc=1).err)
        self.assertIn("--max-bytes", self.analyze("bq://p.d", "--max-bytes", "much", rc=2).err)

    def test_a_packed_export_that_is_cut_off(self):
        """At the end of a line, too, where nothing else would tell; and one whose last bytes were changed."""
        words = self.save(joined(self.linear(6)), pack=True)
        path = self.path("metrics.json.gz")
        with open(path, "rb") as file:
            packed = file.read()
        with gzip.open(path) as file:
            lines = file.read().splitlines(keepends=True)
        at_a_line = zlib.compressobj(wbits=31)
        flushed = at_a_line.compress(b"".join(lines[:50])) + at_a_line.flush(zlib.Z_FULL_FLUSH)
        for torn in (packed[:-1], packed[:-9], flushed, packed[:-8] + bytes(8)):
            with open(path, "wb") as file:
                file.write(torn)
            self.assertIn("metrics.json.gz", self.analyze(*words, rc=1).err)
        with open(path, "wb") as file:
            file.write(b"".join(gzip.compress(line) for line in lines))  # as several are put together
        self.assertEqual(self.report(*words)["tables"]["metrics"]["rows"], len(lines))

    def test_numbers_that_nothing_has(self):
        """They are no measurement: the others count, and the page is written."""
        attempts = self.linear(6)
        memory = max(row["mem_used_gb"] for one in attempts for row in one["metrics"])
        for at, wrong in enumerate(("1e308", "NaN", "Infinity", -1, 10 ** 40)):
            attempts[at]["metrics"][3].update(mem_used_gb=wrong, disk_used_gb=[wrong], cpu_used_percent=[wrong], seq=str(2 ** 63 - 1))
        attempts[5]["metadata"][0].update(mem_total_gb=1e308, disk_total_gb=[1e308])
        for one in attempts:  # sizes that differ by the last bit
            one["metadata"][0]["inputs"] = [{"key": "a", "type": "file", "value": repr(0.3 + 1e-16 * (one is attempts[2]))}]
        words = self.save(joined(attempts))
        task = self.report(*words)["tasks"][0]
        self.assertAlmostEqual(task["used"]["memory_gb"]["peak"], memory, 5)
        self.assertLess(task["rows_missing"], 100)
        self.assertNotRegex(" ".join(task["wdl"] + task["advice"]), "inf|nan|e\\+|to  ")
        self.analyze(*words, "-o", self.path("page.html"), timeout=20)

    def test_a_person_sees_how_far_it_is(self):
        words = self.save(joined(self.linear(6)))
        for more, seen in (([], True), (["-q"], False)):
            leader, follower = os.openpty()
            process = self.spawn("cromwell", "analyze", *words, *more, stderr=follower)
            self.assertIn("align", process.communicate(timeout=60)[0])
            os.set_blocking(leader, False)
            try:
                told = os.read(leader, 65536)
            except BlockingIOError:
                told = b""
            os.close(leader)
            os.close(follower)
            self.assertEqual(b"reading metadata: 0 rows" in told, seen, told)
            self.assertTrue(told.endswith(b"\x1b[K") or not seen, told)
        self.assertNotIn("reading", self.analyze(*words).err)

    def test_joins(self):
        """Tables of the original, without the columns that tacho adds: by instance and time, and by the instance's name."""
        attempts = self.linear(5)
        for number, one in enumerate(attempts):
            for row in one["metrics"]:
                del row["run_id"], row["seq"]
            for name in ("workflow_id", "task_call_name", "shard", "attempt", "run_id"):
                del one["runtime"][0][name]
            if number == 1:  # the same machine as the attempt before it
                for row in one["runtime"] + one["metrics"]:
                    row["instance_id"] = attempts[0]["runtime"][0]["instance_id"]
                shift = 100_000_000
                for row, key in [(one["runtime"][0], "start_time"), (one["metadata"][0], "start_time")] + [(row, "timestamp") for row in one["metrics"]]:
                    moment = row[key][:19]
                    row[key] = stamp((int(time.mktime(time.strptime(moment, "%Y-%m-%d %H:%M:%S"))) - time.timezone) * 1_000_000 + shift)
        report = self.report(*self.save(joined(attempts)))
        told = {entry["workflow_id"]: entry for entry in report["tasks"][0]["attempt_list"]}
        for one in attempts:
            self.assertAlmostEqual(told[one["metadata"][0]["workflow_id"]]["memory_peak_gb"], self.reference(one)["memory_gb"], 5)
        self.assertEqual(report["metrics_unmatched"], 0)

    def test_money(self):
        attempts = self.linear(8)
        self.write("prices.csv", "# 2026-11-18\nserver,vendor,vcpus,memory_gib,gpus,gpu_memory_gib,price_per_hour,currency\n"
                                 "small,g,1,8,0,0,0.05,USD\nmiddle,g,2,8,0,0,0.1,USD\nlarge,g,16,64,0,0,1,USD\nother,g,1,8,0,0,0.01,EUR\n")
        words = self.save(joined(attempts))
        report = self.report(*words, "--prices", self.path("prices.csv"))
        self.assertAlmostEqual(report["money"]["spent"], 8 * 0.1, 6)  # an hour each
        cpus = [wdl_value(report["tasks"][0]["wdl"][0], self.reference(one)["size"]) for one in attempts]
        self.assertAlmostEqual(report["money"]["saved"], sum(0.1 - {1: 0.05, 2: 0.1}[count] for count in cpus), 6)
        self.assertIn("1 prices in other currencies", " ".join(report["notes"]))
        for one in attempts:
            one["metadata"][0]["vm_cost_per_hour"] = 0.25
        report = self.report(*self.save(joined(attempts)))
        self.assertEqual((report["money"]["spent"], report["money"]["saved"], report["money"]["currency"]), (2.0, None, "USD"))
        self.assertIn("Spent 2.0000 USD", self.analyze(*words).out)
        self.write("prices.csv", "server\nx\n")
        self.assertIn("this price list lacks", self.analyze(*words, "--prices", self.path("prices.csv"), rc=2).err)

    def test_what_is_special_is_written_to_and_stays(self):
        self.need_root()
        device = self.path("null")
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        words = self.save(joined(self.linear(3)))
        self.analyze(*words, "-o", device)
        self.assertTrue(stat.S_ISCHR(os.lstat(device).st_mode))
        os.mkdir(self.path("open"))
        os.chmod(self.path("open"), 0o1777)
        os.symlink(self.write("precious", "mine\n"), self.path("open", "page.html"))
        os.lchown(self.path("open", "page.html"), 65534, 65534)
        self.assertIn("somebody else's link", self.analyze(*words, "-o", self.path("open", "page.html"), rc=1).err)
        self.assertEqual(self.read("precious"), "mine\n")

    def test_spot_prices(self):
        """By the optional column, where an attempt was on a machine that may be taken away; the list's own price, with a note, where it has none."""
        attempts = self.linear(8)
        for one in attempts[:5]:
            one["metadata"][0]["preemptible"] = True
        words = self.save(joined(attempts))
        header = "server,vcpus,memory_gib,price_per_hour,currency"
        self.write("prices.csv", header + ",spot_price_per_hour\nsteady,2,8,0.1,USD,0.08\nbargain,2,16,0.2,USD,0.03\n")
        report = self.report(*words, "--prices", self.path("prices.csv"))
        self.assertAlmostEqual(report["money"]["spent"], 5 * 0.03 + 3 * 0.1, 6)
        self.assertNotIn("preemptible", " ".join(report["notes"]))
        self.write("prices.csv", header + "\nsteady,2,8,0.1,USD\n")
        report = self.report(*words, "--prices", self.path("prices.csv"))
        self.assertAlmostEqual(report["money"]["spent"], 8 * 0.1, 6)
        self.assertIn("taken as it is for 5 attempts on preemptible machines", " ".join(report["notes"]))

    def test_how_samples_are_spread(self):
        attempts = self.linear(6)
        words = self.save(joined(attempts))
        task = self.report(*words)["tasks"][0]
        shares = {"cpu": [], "memory_gb": [], "disk_gb": []}
        for one in attempts:
            for row in one["metrics"]:
                shares["cpu"].append(sum(row["cpu_used_percent"]) / 2)
                shares["memory_gb"].append(100 * row["mem_used_gb"] / (8 * 2 ** 30 / 1e9))
                shares["disk_gb"].append(row["disk_used_gb"][0])
        self.assertEqual(task["distribution"]["bin_percent"], 2)
        for kind, percents in shares.items():
            counts = [0] * 61
            for percent in percents:
                counts[min(60, int(percent // 2))] += 1
            differences = sum(abs(a - b) for a, b in zip(task["distribution"][kind], counts))
            self.assertEqual((len(task["distribution"][kind]), sum(counts)), (61, len(percents)))
            self.assertLessEqual(differences, 2, kind)  # one may lie on an edge
        self.analyze(*words, "-o", self.path("page.html"))
        with open(self.path("page.html"), encoding="utf-8") as file:
            page = file.read()
        self.assertEqual(page.count("class=violin "), 3)
        self.assertNotRegex(page, 'd="[^"]*(?:nan|inf)')

    def test_one_workflow_over_its_time(self):
        """Two attempts that overlap for half of their time, one of a sub-workflow; a third one is of another workflow."""
        start = int(time.time() - 90_000) * 1_000_000
        attempts = [attempt(i, f"t{i}", 5, lambda s, i=i: 20 * (i + 1), lambda s, i=i: 1 + i, lambda s: 4, rows=100) for i in range(3)]
        for number, one in enumerate(attempts):
            begin = start + 50_000_000 * number
            one["runtime"][0]["start_time"] = one["metadata"][0]["start_time"] = stamp(begin)
            for i, row in enumerate(one["metrics"]):
                row["timestamp"] = stamp(begin + 1_000_000 * i)
        attempts[1]["metadata"][0]["root_workflow_id"] = "wf-0"
        words = self.save(joined(attempts))
        report = self.report(*words, "--workflow", "wf-0")
        self.assertEqual(sorted(task["task"] for task in report["tasks"]), ["t0", "t1"])
        self.assertEqual((report["notes"], report["metrics_unmatched"]), ([], 0))
        series = report["series"]
        self.assertEqual((series["step_s"], len(series["used"]["memory_gb"]), series["start"][:19]), (1, 150, stamp(start)[:19].replace(" ", "T")))
        self.assertEqual(series["used"]["memory_gb"], [1] * 50 + [3] * 50 + [2] * 50)
        for value, want in zip(series["used"]["cores"], [0.3] * 50 + [0.9] * 50 + [0.6] * 50):
            self.assertAlmostEqual(value, want, 3)
        self.assertEqual(series["requested"]["cores"], [2] * 50 + [4] * 50 + [2] * 50)
        first, second = sorted(series["attempts"], key=lambda line: line["task"])
        self.assertEqual((first["used"]["disk_gb"], second["used"]["disk_gb"]), ([4] * 100 + [None] * 50, [None] * 50 + [4] * 100))
        self.analyze(*words, "--workflow", "wf-0", "-o", self.path("page.html"))
        with open(self.path("page.html"), encoding="utf-8") as file:
            page = file.read()
        self.assertIn("<title>t1, attempt 1</title>", page)
        self.assertEqual(page.count("class=sum "), 3)
        self.assertNotIn("<bdi>t2</bdi>", page)
        self.assertNotIn("series", self.report(*words))
        self.assertIn("no call attempt of workflow wf-9", self.analyze(*words, "--workflow", "wf-9", rc=1).err)

    def test_page(self):
        attempts = self.linear(12)
        nasty = '<script>alert(1)</script>"\u202e&'
        attempts += [attempt(100 + i, nasty if i == 0 else f"task{i}", 1 + i % 9, lambda s: 10, lambda s: 1 + s, lambda s: 2) for i in range(300)]
        self.analyze(*self.save(joined(attempts)), "-o", self.path("page.html"))
        with open(self.path("page.html"), encoding="utf-8") as file:
            page = file.read()
        self.assertLess(len(page.encode()), 600_000)
        self.assertNotIn("<script", page)
        self.assertNotIn("\u202e", page)
        self.assertIn("&lt;script&gt;alert(1)", page)
        self.assertIn("script-src 'none'", page)
        self.assertNotRegex(page, r"(?:src|href)=|url\(|@import")
        self.assertIn("<svg class=scatter", page)
        self.assertIn("align", page)

    def test_little_memory(self):
        """More rows than are sorted in memory."""
        attempts = [attempt(i, "t", 1 + i, lambda s: round(40 * s, 2), lambda s: round(s, 4), lambda s: round(s, 4), rows=10_000 if i == 0 else 1) for i in range(16)]
        text = "".join(json.dumps(row) + "\n" for row in attempts[0]["metrics"])
        words = self.save({**joined(attempts), "metrics": [text.replace('"run0"', f'"run{i}"') for i in range(16)]})
        process = self.spawn("cromwell", "analyze", *words, "--json")
        high_kib = highest_kib(process)
        text = process.stdout.read()
        out = text if isinstance(text, str) else text.decode()
        self.assertEqual(json.loads(out)["tasks"][0]["attempt_list"][3]["rows"], 10_000)
        if not SANITIZED:
            self.assertTrue(0 < high_kib < 64 * 1024, high_kib)


class AnalyzeApi(AnalyzeCase):
    """The same rows through the API."""

    def fill(self, attempts):
        def kind(name):
            kinds = {"INTEGER": ("instance_id", "cpu_count", "shard", "attempt", "seq"), "FLOAT": ("mem_total_gb", "mem_used_gb"), "TIMESTAMP": ("timestamp", "start_time", "end_time"),
                     "BOOLEAN": ("preemptible",)}
            return next((kind for kind, names in kinds.items() if name in names), "STRING")
        repeated = {"cpu_used_percent": "FLOAT", "disk_used_gb": "FLOAT", "disk_read_iops": "FLOAT", "disk_write_iops": "FLOAT", "disk_mounts": "STRING", "disk_total_gb": "FLOAT", "disk_types": "STRING"}
        for table, rows in joined(attempts).items():
            names = list(dict.fromkeys(name for row in rows for name in row))
            fields = [column(name, "RECORD", "REPEATED", fields=[column("key", "STRING"), column("type", "STRING"), column("value", "STRING")]) if name == "inputs" else
                      column(name, repeated[name], "REPEATED") if name in repeated else column(name, kind(name)) for name in names]
            self.cloud.make_tables({table: fields})
            self.cloud.table(table).rows = [(str(i), row) for i, row in enumerate(rows)]

    def test_the_same_as_of_exports(self):
        self.use(page_rows=70)
        attempts = self.linear(12)
        self.fill(attempts)
        place = f"bq://{self.cloud.project}.{self.cloud.dataset}"
        report = self.report(place, env=self.cloud.environment())
        self.check_task(report["tasks"][0], attempts)
        exported = self.report(*self.save(joined(attempts)))
        self.assertEqual(report["tasks"], exported["tasks"])
        self.assertEqual(self.cloud.double.complaints, [])
        queries = [entry for entry in self.cloud.calls("/queries", "POST")]
        self.assertEqual(len(queries), 6)  # a dry run and a query a table
        self.cloud.double.config["query_bytes"] = 400_000_000
        done = self.analyze(place, env=self.cloud.environment(), rc=1)
        self.assertIn("more than", done.err)
        self.assertIn("--max-bytes", done.err)
        self.report(place, "--max-bytes", "2GB", env=self.cloud.environment())

    def test_weather(self):
        self.use(page_rows=70)
        attempts = self.linear(6)
        self.fill(attempts)
        place = f"bq://{self.cloud.project}.{self.cloud.dataset}"
        self.cloud.faults({"match": {"path": ".*/queries", "nth": 3}, "action": {"status": 503}}, {"match": {"path": ".*/queries/job.*", "nth": 2}, "action": {"status": 500}})
        self.assertEqual(self.report(place, env=self.cloud.environment())["tables"]["metrics"]["rows"], 120)
        self.cloud.faults()
        del self.cloud.double.tables[self.cloud.name("runtime")]
        self.assertIn("runtime", self.analyze(place, env=self.cloud.environment(), rc=1).err)
