"""Hardware counters of the job: through a stand-in for perf_event_open, and none where the machine has none."""
import os

from support import BUILD, SANITIZED, Case

LIBRARY = os.path.join(BUILD, "lib", "libfake_perf.so")
# Requests and misses of the second-level cache: PERF_TYPE_RAW of AMD, Intel and Arm.
L2 = {"4 f864": "4 864", "4 e124": "4 2124", "4 16": "4 17"}


class Perf(Case):
    def setUp(self):
        super().setUp()
        if not os.path.exists(LIBRARY):
            self.skipTest("the stand-in is not built")
        if SANITIZED:
            self.skipTest("a sanitizer wants to be loaded first")

    def test_rates_of_what_was_counted(self):
        env = {"LD_PRELOAD": LIBRARY, "FAKE_PERF_LOG": self.path("events"),
               "FAKE_PERF": "0:0=2000,0:1=3000,3:0=1000,3:10000=100,3:3=1000,3:10003=10,"
                            "4:f864=1000,4:864=250,4:e124=1000,4:2124=250,4:16=1000,4:17=250"}
        _, _, table = self.tracked("sleep", "0.6", options=["-i", "100ms", "--probe", "perf"], env=env)
        row = table.rows[2]
        self.assertEqual(float(row["process_ipc"]), 1.5)
        self.assertEqual(float(row["process_l1_hit_rate"]), 0.9)
        self.assertEqual(float(row["process_tlb_miss_rate"]), 0.01)
        asked = self.read("events").split("\n")
        known = [event for event in L2 if event in asked]
        if known:
            self.assertIn(L2[known[0]], asked)
            self.assertEqual(float(row["process_l2_hit_rate"]), 0.75)
        else:
            self.assertEqual(row["process_l2_hit_rate"], "")

    def test_a_machine_without_counters(self):
        _, _, table = self.tracked("true", options=["--probe", "perf"])
        for row in table.rows:
            for name in ("process_ipc", "process_l1_hit_rate", "process_l2_hit_rate", "process_l3_hit_rate", "process_tlb_miss_rate"):
                self.assertTrue(row[name] == "" or float(row[name]) >= 0)
