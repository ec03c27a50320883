"""Who started the job: engines and schedulers by the surroundings, what the user says, attached processes."""
import json
import os
import subprocess

from support import TACHO, Case, until

SLURM = {"SLURM_JOB_ID": "4711", "SLURM_JOB_NAME": "align", "SLURM_CPUS_ON_NODE": "4", "SLURM_MEM_PER_NODE": "8192",
         "SLURMD_NODENAME": "n1", "SLURM_CLUSTER_NAME": "test"}


class StartedBy(Case):
    def run_json(self, *options, env=None, name="store"):
        store = self.path(name)
        done = self.tacho("run", "-q", "--store", store, *options, "--", "true", env=env)
        self.assertEqual(done.rc, 0, done)
        self.assertEqual(done.err, "")
        return self.the_run(store)[0]

    def test_nothing_is_made_up(self):
        run = self.run_json()
        for key in ("detected", "job", "requested"):
            self.assertNotIn(key, run)
        self.assertNotIn("executor", run["metadata"])

    def test_slurm(self):
        run = self.run_json(env=SLURM)
        self.assertEqual(run["detected"], {"executor": "slurm", "fields": ["executor", "job_name", "external_run_id"]})
        self.assertEqual(run["job"], {"scheduler": "slurm", "cluster": "test", "id": "4711", "raw_id": "4711", "restart": 0, "node": "n1"})
        self.assertEqual(run["requested"], {"cpus": 4, "memory_bytes": 8 << 30, "gpus": 0, "source": "slurm"})

    def test_the_user_wins_and_hiding_hides(self):
        run = self.run_json("--job-name", "mine", "--request", "cpus=2", "--hide", "external_run_id,host_name", env=SLURM)
        self.assertEqual(run["metadata"]["job_name"], "mine")
        self.assertEqual(run["requested"]["cpus"], 2)
        self.assertEqual(run["requested"]["source"], "user")
        self.assertNotIn("4711", json.dumps(run))
        self.assertNotIn("node", run["job"])

    def test_no_detect(self):
        for number, (options, env) in enumerate(((["--no-detect"], SLURM), ([], {**SLURM, "TACHO_NO_DETECT": "1"}))):
            run = self.run_json(*options, env=env, name=f"store{number}")
            self.assertNotIn("detected", run)
            self.assertNotIn("job", run)
            self.assertNotIn("job_name", run["metadata"])

    def test_a_bad_request_is_refused(self):
        done = self.tacho("run", "--request", "disk=3", "--", "true")
        self.assertEqual(done.rc, 125)
        self.assertIn("cpus=4,memory=8GiB", done.err)

    def test_nextflow_in_slurm(self):
        folder = self.path("work", "3f", "9a1c2b")
        os.makedirs(folder)
        with open(os.path.join(folder, ".command.run"), "w", encoding="utf-8") as file:
            file.write("#!/bin/bash\n### ---\n### name: 'bwa (s \"1\")'\n### container: 'img:1'\n")
        run = self.run_json(env={**SLURM, "NXF_TASK_WORKDIR": folder})
        self.assertEqual(run["detected"]["orchestrator"], "nextflow")
        self.assertEqual(run["metadata"]["task_name"], 'bwa (s "1")')
        self.assertEqual(run["metadata"]["external_run_id"], "3f/9a1c2b")
        self.assertEqual(run["metadata"]["container_image"], "img:1")
        self.assertEqual(run["job"]["id"], "4711")

    def test_hostile_surroundings(self):
        large = {"SLURM_JOB_ID": "x" * 100_000, "SLURM_JOB_NAME": "\x1b[31m\n" + "y" * 100_000, "NXF_TASK_WORKDIR": "/dev",
                 "_CONDOR_JOB_AD": self.dir, "ARGO_TEMPLATE": "{" * 50_000, "GITHUB_ACTIONS": "true"}
        run = self.run_json(env=large)
        self.assertEqual(run["detected"]["orchestrator"], "nextflow")
        self.assertLessEqual(len(run["job"]["id"]), 256)
        self.assertNotIn("\x1b", run["metadata"]["job_name"])

    def test_attach_looks_at_its_target(self):
        job = subprocess.Popen(["sleep", "60"], env={**self.environment(), **SLURM})
        self.addCleanup(job.wait)
        self.addCleanup(job.kill)
        process = self.spawn("attach", "-q", "-i", "0.1", "--pid", str(job.pid), env={"PBS_JOBID": "77"})
        self.assertTrue(until(lambda: self.run_folders()))
        job.kill()
        process.wait()
        self.assertEqual(self.the_run()[0]["detected"]["executor"], "slurm")

    def test_the_older_tool_detects_nothing(self):
        out = self.path("rows.jsonl")
        done = self.tacho("--output", out, "--", "true", env=SLURM, program=TACHO.replace("bin/tacho", "bin/resource-tracker"))
        self.assertEqual(done.rc, 0, done)
        with open(out, encoding="utf-8") as file:
            self.assertNotIn("slurm", file.read())
