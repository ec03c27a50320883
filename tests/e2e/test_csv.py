"""metrics.csv: the 32 columns, their formats, and the rules between rows."""
import re
import subprocess
import time

from support import COLUMNS, Case, Table, burner

DECIMALS = {"timestamp": 3, "system_utime": 3, "system_stime": 3, "system_cpu_usage": 4, "process_utime": 4,
            "process_stime": 4, "process_cpu_usage": 4, "process_memory_mib": 3, "system_gpu_usage": 4,
            "system_gpu_vram_mib": 4, "system_disk_space_total_gb": 3, "system_disk_space_used_gb": 3,
            "system_disk_space_free_gb": 3}
DECIMALS.update({name: 1 for name in COLUMNS if name.startswith("system_memory_")})
WHOLE = ("system_processes", "system_disk_read_bytes", "system_disk_write_bytes", "system_net_recv_bytes",
         "system_net_sent_bytes", "system_gpu_utilized", "process_pid", "process_children", "process_disk_read_bytes",
         "process_disk_write_bytes")
NEVER_EMPTY = COLUMNS[:11]
NO_GPU = {"TACHO_NVML_LIBRARY": "/nonexistent/libnvidia-ml.so.1"}


class Csv(Case):
    def check_shape(self, table, extended=True):
        self.assertEqual(table.header[:32], COLUMNS)
        if not extended:
            self.assertEqual(len(table.header), 32)
        self.assertEqual(table.widths, {len(table.header)})
        self.assertTrue(table.text.endswith("\n"))
        self.assertNotIn('"', table.text)
        self.assertNotIn("\r", table.text)
        for row in table.rows:
            for name in NEVER_EMPTY:
                self.assertNotEqual(row[name], "", name)
            for name, decimals in DECIMALS.items():
                if row[name]:
                    self.assertRegex(row[name], rf"^\d+\.\d{{{decimals}}}$", name)
            for name in WHOLE:
                if row[name]:
                    self.assertRegex(row[name], r"^\d+$", name)
        self.assertIsNone(re.search(r"nan|inf|-\d", table.text))

    def check_rules(self, table):
        stamps = [float(value) for value in table.column("timestamp")]
        self.assertEqual(stamps, sorted(set(stamps)))
        for row in table.rows:
            if row["system_disk_space_total_gb"]:
                total, used, free = (float(row[f"system_disk_space_{word}_gb"]) for word in ("total", "used", "free"))
                self.assertAlmostEqual(total, used + free, delta=2e-6)

    def test_shape_of_a_run(self):
        _, run, table = self.tracked(burner("cpu"), "1", "500", options=["-i", "50ms"], env=NO_GPU)
        self.check_shape(table)
        self.check_rules(table)
        self.assertEqual(run["samples"], len(table.rows))
        self.assertEqual(run["columns"], table.header)
        self.assertGreater(len(table.rows), 2)
        for row in table.rows:
            self.assertEqual([row[name] for name in COLUMNS[18:21]], ["0.0000", "0.0000", "0"])
            self.assertEqual([row[name] for name in COLUMNS[29:32]], ["", "", ""])
            self.assertEqual(int(row["process_pid"]), run["pid"])
            self.assertNotEqual(row["process_utime"], "")
            self.assertNotEqual(row["process_children"], "")

    def test_one_row_for_a_short_run(self):
        for interval in ("1s", "1h"):
            store = self.path(interval)
            self.assertEqual(self.tacho("run", "--store", store, "-i", interval, "--", "true").rc, 0)
            _, table = self.the_run(store)
            self.check_shape(table)
            self.assertEqual(len(table.rows), 1)
            self.assertNotEqual(table.rows[0]["process_utime"], "")
            self.assertNotEqual(table.rows[0]["process_memory_mib"], "")

    def test_rows_cover_the_run(self):
        """First row one interval after the start, last row at the end; durations add up."""
        began = time.time()
        _, run, table = self.tracked("sleep", "0.75", options=["-i", "200ms"])
        ended = time.time()
        stamps = [float(value) for value in table.column("timestamp")]
        self.assertIn(len(stamps), (4, 5))  # under load sleep itself comes late
        self.assertGreaterEqual(stamps[0], began + 0.19)
        self.assertLessEqual(stamps[-1], ended + 0.01)
        self.assertAlmostEqual(run["statistics"]["timestamp"]["duration"], run["outcome"]["duration_s"], delta=0.05)
        self.assertGreaterEqual(run["statistics"]["timestamp"]["duration"], 0.74)

    def test_statistics_follow_from_rows(self):
        _, run, table = self.tracked(burner("cpu"), "1", "400", options=["-i", "50ms"])
        for name, stats in run["statistics"].items():
            if name == "timestamp":
                continue
            values = [float(value) for value in table.column(name) if value]
            if values:
                self.assertAlmostEqual(stats["min"], min(values), delta=2e-3 + 1e-6 * abs(min(values)), msg=name)
                if name != "process_memory_mib":  # raised by high-water marks
                    self.assertAlmostEqual(stats["max"], max(values), delta=2e-3 + 1e-6 * abs(max(values)), msg=name)
                if "sum" in stats:
                    self.assertAlmostEqual(stats["sum"], sum(values), delta=1e-3 * len(values) + 1e-6 * abs(sum(values)), msg=name)

    def test_output_equals_store(self):
        _, _, table = self.tracked("sleep", "0.2", options=["-i", "50ms", "-o", self.path("x.csv")])
        self.assertEqual(self.read("x.csv"), table.text)

    def test_watch(self):
        process = self.spawn("watch", "-i", "50ms", "-o", self.path("x.csv"), env=NO_GPU)
        time.sleep(0.5)
        process.terminate()
        self.assertEqual(process.wait(30), 0)
        table = Table(self.read("x.csv"))
        self.check_shape(table)
        self.check_rules(table)
        self.assertGreaterEqual(len(table.rows), 2)
        for row in table.rows:
            self.assertEqual([row[name] for name in COLUMNS[21:]], [""] * 11)

    def test_system_columns_are_plausible(self):
        _, _, table = self.tracked(burner("cpu"), "2", "800", options=["-i", "200ms"])
        with open("/proc/meminfo", encoding="ascii") as file:
            total = int(re.search(r"MemTotal:\s+(\d+)", file.read()).group(1)) / 1024
        for row in table.rows:
            self.assertLess(float(row["system_memory_used_mib"]), total)
            self.assertGreater(float(row["system_memory_used_mib"]), 1)
            self.assertGreater(int(row["system_processes"]), 2)
        # The machine did at least what the job did (clock ticks of /proc/stat: 10 ms a core and row).
        self.assertGreater(table.sum("system_utime") + table.sum("system_stime"),
                           0.8 * table.sum("process_utime") + table.sum("process_stime") - 0.1)

    def test_rows_are_visible_at_once(self):
        process = self.spawn("run", "-q", "-i", "50ms", "-o", "-", "-f", "csv", "--", "sleep", "30", stdout=subprocess.PIPE)
        self.assertTrue(process.stdout.readline().startswith("timestamp,"))
        self.assertRegex(process.stdout.readline(), r"^\d+\.\d{3},")
        process.terminate()
        process.wait(30)
