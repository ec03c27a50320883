"""What limited a job on GPUs, through the fake driver: any GPU of the job decides, never a mean or a sum over all of them."""
import csv
import json
import os

import fake_gpus
from fake_gpus import MIB
from support import Case, until


class GpuVerdict(Case):
    machine = fake_gpus.machine

    def judged(self, *devices, more=(), seconds=4):
        """why --json of a job that holds a context on the second of two GPUs, and the rows of devices.csv."""
        pid = self.path("pid")
        env = self.machine(*(f"device util=100 total={1000 * MIB} used={100 * MIB} temp=40 {device}" for device in devices),
                           f"process 1 compute @{pid} {10 * MIB}", *more)
        done = self.tacho("run", "-i", "100ms", "--", "sh", "-c", f"echo $$ > {pid}; exec sleep {seconds}", env=env)
        self.assertEqual(done.rc, 0, done)
        why = json.loads(self.tacho("why", "last", "--json").out)
        newest = max(self.run_folders(), key=os.path.getmtime)
        with open(os.path.join(newest, "devices.csv"), encoding="utf-8") as file:
            return done, why, list(csv.DictReader(file))

    def test_the_busier_gpu_decides(self):
        """Not the mean (0.45), and not in every so manieth row only: the interval is shorter than the pace of GPM."""
        done, why, devices = self.judged("sm=5 occupancy=3 tensor=1 dram=2", "sm=85 occupancy=40 tensor=20 dram=30 clock=1500 throttle=4")
        self.assertEqual((why["verdict"], why["detail"]), ("gpu_compute", None), why)
        self.assertIn(why["confidence"], ("high", "medium"))
        self.assertIn("· limited by gpu compute", done.err)
        self.assertEqual(why["evidence"][0]["metric"], "process_gpu_sm_active")
        self.assertAlmostEqual(why["evidence"][0]["value"], 0.85, delta=0.01)
        last = devices[-2]
        for name, value in (("gpu_0_sm_active", 0.05), ("gpu_1_sm_active", 0.85), ("gpu_1_sm_occupancy", 0.4), ("gpu_1_tensor_active", 0.2),
                            ("gpu_1_dram_active", 0.3), ("gpu_1_clock_mhz", 1500), ("gpu_1_throttle", 4)):
            self.assertEqual(float(last[name]), value, name)
        self.assertEqual(last["gpu_0_clock_mhz"], "")

    def test_a_strangers_gpu_does_not(self):
        _, why, _ = self.judged("sm=99 occupancy=50 tensor=90 dram=90", "sm=1 occupancy=1 tensor=0 dram=1", seconds=2)
        self.assertEqual((why["verdict"], why["detail"]), ("waiting", "sleep"), why)

    def test_memory_and_link(self):
        _, why, _ = self.judged("sm=0 dram=0", "sm=30 tensor=0 dram=85")
        self.assertEqual(why["verdict"], "gpu_memory_bandwidth", why)
        # A link of 500 MB/s at 0.8 beside one of 16 GB/s that is idle.
        _, why, _ = self.judged("sm=0 dram=0 gen=3 width=16 rx=0 tx=0", "sm=0 dram=0 gen=2 width=1 rx=400000000 tx=0")
        self.assertEqual(why["verdict"], "pcie", why)
        self.assertEqual(why["evidence"][0]["metric"], "process_gpu_pcie_busiest")

    def test_without_gpm_nothing_is_high(self):
        for more in ((), ("error GpmSampleGet 3",)):
            _, why, _ = self.judged("sm=nan dram=nan" if more else "", "sm=nan dram=nan" if more else "", more=more, seconds=2)
            self.assertNotEqual(why["confidence"], "high", why)
            self.assertTrue(any("GPM" in one for one in why["missing"]), why)

    def test_a_slice_of_a_gpu(self):
        _, why, devices = self.judged("sm=90 dram=1", "sm=90 dram=1 mig=1", seconds=2)
        self.assertNotEqual(why["verdict"], "gpu_compute", why)
        self.assertNotEqual(why["confidence"], "high", why)
        self.assertTrue(any("GPM" in one for one in why["missing"]), why)

    def test_a_gpu_that_is_lost(self):
        pid = self.path("pid")
        device = f"device util=100 total={1000 * MIB} used={100 * MIB} sm=90 occupancy=9 tensor=9 dram=9"
        lines = [device, f"process 0 compute @{pid} {10 * MIB}"]
        env = self.machine(*lines)
        job = self.spawn("run", "-q", "-i", "100ms", "--", "sh", "-c", f"echo $$ > {pid}; until test -e {self.path('end')}; do sleep 0.1; done", env=env)
        self.addCleanup(lambda: self.write("end", ""))

        def column(name):
            return [row[name] for row in self.the_run()[1].rows] if self.run_folders() else []
        self.assertTrue(until(lambda: any(column("process_gpu_sm_active"))))
        self.machine(*lines, "error all 15")
        self.assertTrue(until(lambda: column("process_gpu_utilized")[-20:] == [""] * 20))
        self.write("end", "")
        self.assertEqual(job.wait(30), 0)
        why = json.loads(self.tacho("why", "last", "--json").out)
        self.assertNotEqual(why["confidence"], "high", why)
        self.assertTrue(any("did not tell any more" in one for one in why["missing"]), why)
