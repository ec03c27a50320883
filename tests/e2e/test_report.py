"""The page of a real run: what it holds, and what it says of odd files. In a browser it is opened by tests/web."""
import base64
import gzip
import json
import os
import re

from support import Case


class Report(Case):
    def page(self, *words):
        done = self.tacho("report", *words, "-o", self.path("r.html"))
        self.assertEqual(done.rc, 0, done)
        return self.read("r.html")

    def data(self, page):
        return json.loads(re.search(r"id=data>(.*?)</script>", page, re.S)[1])["runs"]

    def rows(self, page, run=0):
        return gzip.decompress(base64.b64decode(re.search(rf"id=rows{run}>(.*?)</script>", page)[1])).decode()

    def record(self, *options):
        done = self.tacho("run", "-q", "-i", "50ms", *options, "--", "sh", "-c", "sleep 0.3; exit 3")
        self.assertEqual(done.rc, 3, done)

    def test_of_a_run(self):
        self.record("-n", "job", "-o", self.path("made.html"))
        folder = self.run_folders()[0]
        with open(folder + "/metrics.csv", encoding="utf-8") as file:
            rows = file.read()
        for page in (self.page("last"), self.read("made.html")):
            self.assertEqual(self.rows(page), rows)
            self.assertEqual(self.data(page)[0]["name"], "job")
            self.assertIn("exit 3", page)
            self.assertNotIn("http", re.sub(r'(?s)id=rows0>.*?<', "", page).replace("http-equiv", ""))

    def test_without_a_store(self):
        self.record("--no-store", "-n", "job", "-o", self.path("made.html"))
        page = self.read("made.html")
        self.assertIn("exit 3", page)
        self.assertGreater(len(self.data(page)[0]["point_ms"]), 2)

    def test_options(self):
        self.record()
        page = self.page("last", "--title", "A <b> & c", "--max-points", "2")
        self.assertIn("<title>A &lt;b&gt; &amp; c</title>", page)
        self.assertLessEqual(len(self.data(page)[0]["point_ms"]), 2)
        for points in ("1", "0", "-5", "x", "20001", "1e3", ""):
            done = self.tacho("report", "last", "--max-points", points, "-o", self.path("no.html"))
            self.assertEqual(done.rc, 125, points)
            self.assertFalse(os.path.exists(self.path("no.html")))

    def test_columns_that_differ(self):
        self.write("a.csv", "timestamp,process_cpu_usage\n100,1\n101,2\n")
        self.write("b.csv", "timestamp,process_memory_mib,extra\r\n200,5,x\r\n201,nan,y\r\n")
        runs = self.data(self.page(self.path("a.csv"), self.path("b.csv")))
        self.assertEqual([[chart["id"] for chart in run["charts"]] for run in runs], [["cpu"], ["memory"]])

    def test_odd_files(self):
        for name, text, points in (("none", "timestamp,process_cpu_usage\n", 0), ("one", "timestamp,process_cpu_usage\n100,1\n", 1),
                                   ("back", "timestamp,process_cpu_usage\n100,1\n50,1\n51,1\n", 3), ("gap", "timestamp,process_cpu_usage\n100,1\n101,1\n90000,1\n", 3),
                                   ("broken", "timestamp,process_cpu_usage\nx,y\n100,1\n\n,,,\n101", 1)):
            with self.subTest(name):
                self.write(name + ".csv", text)
                page = self.page(self.path(name + ".csv"))
                self.assertEqual(len(self.data(page)[0]["point_ms"]), points)
        self.write("no.csv", "a,b\n1,2\n")
        self.assertEqual(self.tacho("report", self.path("no.csv")).rc, 125)
