"""NVIDIA GPUs through the fake driver library: devices, the job's share, errors, a driver that goes away."""
import base64
import gzip
import json
import os
import shutil
import signal
import socket
import subprocess
import time

import fake_gpus
from fake_gpus import MIB
from support import BUILD, COLUMNS, SANITIZED, Case, children_of, process_state, until


class Gpu(Case):
    machine = fake_gpus.machine

    def rows(self, env, *job, options=("-i", "100ms")):
        done, run, table = self.tracked(*(job or ("sleep", "0.8")), options=options, env=env)
        self.assertEqual(table.header[:32], COLUMNS)
        return run, table

    def test_two_devices(self):
        env = self.machine(f"device name=H200 util=50 total={1000 * MIB} used={100 * MIB}",
                           f"device name=H200 util=25 total={1000 * MIB} used={60 * MIB}",
                           f"device name=H200 util=0 total={1000 * MIB} used=0")
        run, table = self.rows(env)
        last = table.rows[-1]
        self.assertAlmostEqual(float(last["system_gpu_usage"]), 0.75, delta=0.001)
        self.assertAlmostEqual(float(last["system_gpu_vram_mib"]), 160, delta=0.1)
        self.assertEqual(last["system_gpu_utilized"], "2")
        # Present and unused by the job: measured zeros, not empty.
        self.assertEqual(float(last["process_gpu_usage"]), 0)
        self.assertEqual(float(last["process_gpu_vram_mib"]), 0)
        self.assertEqual(last["process_gpu_utilized"], "0")
        self.assertEqual(run["method"]["gpu"], "nvml")
        self.assertEqual(run["host"]["host_gpu_count"], 3)

    def test_jobstats_has_each_device(self):
        env = self.machine(f"device name=H200 util=50 total={1000 * MIB} used={100 * MIB}", f"device name=A40 util=25 total={600 * MIB} used={60 * MIB}")
        run, _ = self.rows(env, "sleep", "1.2", options=("-i", "100ms", "-o", "jobstats:" + self.path("x")))
        self.assertEqual((run["host"]["host_gpu_memory_mib"], run["host"]["gpu_memory_mib"]), (1600, [1000, 600]))
        with open(self.path("x"), encoding="utf-8") as file:
            text = file.read()
        data = json.loads(gzip.decompress(base64.b64decode(text[4:])))
        (node,) = data["nodes"].values()
        self.assertEqual(node["gpu_total_memory"], {"0": 1000 * MIB, "1": 600 * MIB})
        self.assertEqual(node["gpu_used_memory"], {"0": 100 * MIB, "1": 60 * MIB})
        self.assertEqual((node["gpu_utilization"], data["gpus"]), ({"0": 50, "1": 25}, 2))
        self.assertEqual(self.tacho("export", "last", "-f", "jobstats", env=env).out, text)

    def test_a_helper_program(self):
        """tacho-gpu as a program of its own, as a static tacho starts it."""
        helper = os.path.join(BUILD, "bin", "tacho-gpu")
        env = self.machine(f"device name=H200 util=50 total={1000 * MIB} used={100 * MIB}")
        run, table = self.rows({**env, "TACHO_GPU_HELPER": helper})
        self.assertAlmostEqual(float(table.rows[-1]["system_gpu_usage"]), 0.5, delta=0.001)
        self.assertEqual((run["method"]["gpu"], run["host"]["host_gpu_count"]), ("nvml", 1))
        self.assertEqual(run["notes"], [])

    def test_a_helper_that_cannot_be_started(self):
        """Columns are empty and the doctor says why; the job's outcome is its own."""
        env = self.machine(f"device util=50 total={1000 * MIB} used={100 * MIB}")
        script = self.write("other-version", '#!/bin/sh\nexec 5<&0\nexit 1\n')
        os.chmod(script, 0o755)
        with open(os.path.join(BUILD, "bin", "tacho-gpu"), "rb") as file:
            program = bytearray(file.read())
        program[18] = 183 if program[18] == 62 else 62
        with open(self.path("other-machine"), "wb") as file:
            file.write(program)
        os.chmod(self.path("other-machine"), 0o755)
        program[18] = 62 if program[18] == 183 else 183
        with open(self.path("no-loader"), "wb") as file:
            file.write(program.replace(b"/ld-linux-", b"/ld-absent-"))
        os.chmod(self.path("no-loader"), 0o755)
        for helper, words in (("/nonexistent/tacho-gpu", "tacho-gpu"), ("relative", "whole path"), (self.path("machine"), "cannot be executed"),
                              (self.path("other-machine"), "another kind of machine"), (self.path("no-loader"), "glibc's loader"),
                              (script, "ends when it is started")):
            env["TACHO_GPU_HELPER"] = helper
            shutil.rmtree(self.path("state"), ignore_errors=True)
            run, table = self.rows(env, "true")
            self.assertEqual(set(table.column("system_gpu_usage")), {""}, helper)
            if helper != script:  # that one ends too late for so short a job
                self.assertIn("GPU", " ".join(run["notes"]), helper)
            doctor = self.tacho("doctor", "--json", env=env)
            self.assertIn(words, doctor.out, helper)

    def test_helper_by_hand(self):
        helper = os.path.join(BUILD, "bin", "tacho-gpu")
        version = subprocess.run([helper, "--version"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(version, self.tacho("--version").out.replace("tacho", "tacho-gpu"))
        done = subprocess.run([helper], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("tacho doctor", done.stderr)
        # One that speaks of other messages says so and ends.
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours, theirs:
            command = f'exec 3<&{theirs.fileno()} 4<&{theirs.fileno()}; exec -a tacho-gpu {helper} nvml /proc 1000000000 0.0.1-other'
            done = subprocess.run(["bash", "-c", command], pass_fds=[theirs.fileno()], timeout=30, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(b"another version", ours.recv(4096))

    def test_the_jobs_share(self):
        """A pid in several lists counts once a device; a stranger's memory never counts."""
        pid = "@" + self.path("pid")
        env = self.machine(f"device util=80 total={1000 * MIB} used={300 * MIB}", f"device util=10 total={1000 * MIB} used={50 * MIB}",
                           f"process 0 compute {pid} {100 * MIB}", f"process 0 graphics {pid} {100 * MIB}",
                           f"process 0 compute 1 {200 * MIB}", f"process 1 compute {pid} na",
                           f"sample 0 {pid} 40 20", f"sample 0 1 40 20")
        _, table = self.rows(env, "sh", "-c", f"echo $$ > {self.path('pid')}; exec sleep 1.2")
        seen = table.rows[len(table.rows) // 2:-1]
        self.assertTrue(seen)
        self.assertAlmostEqual(float(seen[-1]["process_gpu_vram_mib"]), 100, delta=0.1)
        self.assertEqual(seen[-1]["process_gpu_utilized"], "2")
        usage = [float(row["process_gpu_usage"]) for row in seen if row["process_gpu_usage"]]
        self.assertAlmostEqual(max(usage), 0.4, delta=0.05)

    def test_watch_has_no_process_share(self):
        env = self.machine(f"device util=80 total={1000 * MIB} used={300 * MIB}", f"process 0 compute self {100 * MIB}")
        process = self.spawn("watch", "-q", "-i", "50ms", env=env)
        time.sleep(0.6)
        process.terminate()
        self.assertEqual(process.wait(30), 0)
        _, table = self.the_run()
        for name in COLUMNS[29:32]:
            self.assertEqual(set(table.column(name)), {""})

    def test_one_call_fails(self):
        """Utilisation of one device is unsupported: its memory and the other device stay."""
        env = self.machine(f"device util=50 total={1000 * MIB} used={100 * MIB}", f"device util=30 total={1000 * MIB} used={60 * MIB}",
                           "error nvmlDeviceGetUtilizationRates 3 0")
        _, table = self.rows(env)
        self.assertAlmostEqual(float(table.rows[-1]["system_gpu_vram_mib"]), 160, delta=0.1)

    def test_one_of_two_fails(self):
        """A sum of fewer GPUs would look like less use: it is empty and noted, and JSON lines keep the other one."""
        devices = [f"device util=50 total={1000 * MIB} used={100 * MIB}", f"device util=30 total={1000 * MIB} used={60 * MIB}"]
        env = self.machine(*devices)
        process = self.spawn("run", "-i", "50ms", "-o", self.path("x.jsonl"), "--", "sh", "-c", f"until test -e {self.path('end')}; do sleep 0.1; done", env=env)
        self.addCleanup(lambda: self.write("end", ""))
        self.assertTrue(until(lambda: self.run_folders() and self.the_run()[1].rows[-1]["system_gpu_usage"] == "0.8000"))
        self.machine(*devices, "error all 15 1")
        self.assertTrue(until(lambda: self.run_folders() and self.the_run()[1].rows[-1]["system_gpu_usage"] == ""))
        self.write("end", "")
        self.assertEqual(process.wait(30), 0)
        run, table = self.the_run()
        self.assertLessEqual(set(table.column("system_gpu_usage")), {"", "0.8000"})
        self.assertLessEqual(set(table.column("system_gpu_vram_mib")), {"", "160.0000"})
        self.assertTrue(any("a GPU that was in the sums" in note for note in run["notes"]), run["notes"])
        last = json.loads(self.read("x.jsonl").splitlines()[-1])["gpu"]
        self.assertEqual([gpu["utilization_pct"] for gpu in last], [50, None])

    def test_driver_that_cannot_start(self):
        env = self.machine("device util=50 total=1000 used=100", "error nvmlInit_v2 9", "error nvmlInit 9")
        done, run, table = self.tracked("sh", "-c", "exit 3", env=env, rc=3)
        self.assertEqual(table.header[:32], COLUMNS)

    def test_driver_disappears(self):
        env = self.machine(f"device util=50 total={1000 * MIB} used={100 * MIB}")
        process = self.spawn("run", "-i", "50ms", "--", "sh", "-c", "sleep 1.5; exit 6", env=env)
        self.assertTrue(until(lambda: self.run_folders() and any(
            row["system_gpu_vram_mib"] not in ("", "0.0000") for row in self.the_run()[1].rows)))
        self.machine(f"device util=50 total={1000 * MIB} used={100 * MIB}", "error all 999")
        self.assertEqual(process.wait(30), 6)
        _, table = self.the_run()
        self.assertNotEqual(table.rows[0]["system_processes"], "")
        self.assertEqual(table.rows[-2]["system_gpu_vram_mib"], "", "a lost driver is unknown, not the last value or 0")

    def test_slow_driver_delays_no_row(self):
        """Calls that block for two seconds: rows keep coming, and the end of the job is noticed at once."""
        env = self.machine(f"device util=50 total={1000 * MIB} used={100 * MIB}", "delay nvmlDeviceGetUtilizationRates 2000")
        run, table = self.rows(env, "sleep", "1", options=["-i", "50ms"])
        self.assertGreater(len(table.rows), 5)
        self.assertLess(run["outcome"]["duration_s"], 10)

    def reader_of(self, pid):
        """The process beside the agent that talks to the driver."""
        for child, _ in children_of(pid):
            with open(f"/proc/{child}/comm", encoding="utf-8") as file:
                if file.read().strip() == "tacho-gpu":
                    return child
        return None

    def test_the_driver_is_asked_by_a_process_of_its_own(self):
        """The agent never maps the library; the reader belongs to nobody, comes back when killed, and goes with the agent."""
        env = self.machine(f"device util=50 total={1000 * MIB} used={100 * MIB}")
        process = self.spawn("run", "-i", "50ms", "--", "sleep", "60", env=env)

        def vram():
            return [row["system_gpu_vram_mib"] for row in self.the_run()[1].rows] if self.run_folders() else []
        self.assertTrue(until(lambda: vram()[-1] == "100.0000"))
        reader = self.reader_of(process.pid)
        with open(f"/proc/{process.pid}/maps", encoding="utf-8") as file:
            self.assertNotIn("nvml", file.read())
        with open(f"/proc/{reader}/maps", encoding="utf-8") as file:
            self.assertIn("nvml", file.read())
        if not SANITIZED:
            with open(f"/proc/{process.pid}/statm", encoding="utf-8") as file:
                # What users run (-O2, without unused sections) stays below 6 MiB; the program of the tests is larger.
                self.assertLess(int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE"), 7 * MIB)
        held = [os.readlink(f"/proc/{reader}/fd/{fd}") for fd in range(5)]
        self.assertEqual(held[:3], ["/dev/null"] * 3)
        self.assertEqual([os.path.basename(path).split(":")[0] for path in held[3:]], ["socket"] * 2)

        os.kill(reader, signal.SIGKILL)
        self.assertTrue(until(lambda: vram()[-1] == ""), "unknown while there is no reader")
        self.assertTrue(until(lambda: vram()[-1] == "100.0000"), "and known again")
        second = self.reader_of(process.pid)
        self.assertNotIn(second, (None, reader))
        self.assertEqual(set(self.the_run()[1].column("process_children")), {"0"})

        process.kill()
        self.assertTrue(until(lambda: process_state(second) in (None, "Z")), "the reader outlives the agent")
        self.end_marked()
        _, err = process.communicate(timeout=30)
        self.assertEqual(err.count("GPU columns were empty at times"), 1, err)

    def test_no_library(self):
        _, table = self.rows({"TACHO_NVML_LIBRARY": "/nonexistent.so"}, "true")
        self.assertEqual([table.rows[0][name] for name in COLUMNS[18:21]], ["0.0000", "0.0000", "0"])
        self.assertEqual([table.rows[0][name] for name in COLUMNS[29:32]], ["", "", ""])
