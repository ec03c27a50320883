"""packaging/slurm: the scripts of a whole site, called as Slurm calls them (the real one does in scripts/interop engines)."""
import os
import subprocess

from support import BUILD, TACHO, Case, until

SCRIPTS = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "packaging", "slurm")
SLURM = {"SLURM_JOB_ID": "4712", "SLURM_ARRAY_JOB_ID": "4711", "SLURM_ARRAY_TASK_ID": "3", "SLURM_CPUS_ON_NODE": "2", "SLURM_MEM_PER_NODE": "4096",
         "SLURMD_NODENAME": "n1"}


class SlurmScripts(Case):
    def script(self, name, settings=None, env=None, path=None):
        """Slurm gives its scripts hardly any environment."""
        if settings is not None:
            self.write("settings", settings)
        env = {"PATH": (os.path.join(BUILD, "bin") if path is None else path) + ":/usr/bin:/bin", "TACHO_SLURM_SETTINGS": self.path("settings"),
               "TACHO_TEST_MARK": self.mark, "HOME": self.dir, "XDG_STATE_HOME": self.path("state"), **SLURM, **(env or {})}
        done = subprocess.run([os.path.join(SCRIPTS, name)], env=env, capture_output=True, text=True, timeout=60, check=False, cwd="/")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return done.stdout

    def task(self):
        task = subprocess.Popen(["sleep", "60"], env={**self.environment(), **SLURM})
        self.addCleanup(task.wait)
        self.addCleanup(task.kill)
        return task

    def test_a_task_is_recorded(self):
        task = self.task()
        out = self.script("taskprolog", f"STORE={self.dir}/%u/runs\n", {"SLURM_TASK_PID": str(task.pid), "USER": "ada"})
        self.assertEqual(out, f"export TACHO_STORE={self.dir}/ada/runs\n")
        store = self.path("ada", "runs")
        self.assertEqual(len(self.run_folders(store)), 1)
        task.kill()
        task.wait()
        self.assertTrue(until(lambda: self.the_run(store)[0]["outcome"]["state"] == "finished"))
        run = self.the_run(store)[0]
        self.assertEqual((run["job"]["id"], run["mode"]), ("4711_3", "attach"))
        self.assertIsNone(run["outcome"]["exit_code"])

    def test_a_task_that_has_not_begun(self):
        """Its process is a copy of slurmstepd, without the job's environment, when TaskProlog runs."""
        task = subprocess.Popen(["sleep", "60"], env=self.environment())
        self.addCleanup(task.wait)
        self.addCleanup(task.kill)
        self.script("taskprolog", f"STORE={self.store}\n", {"SLURM_TASK_PID": str(task.pid)})
        task.kill()
        task.wait()
        self.assertTrue(until(lambda: self.the_run()[0]["outcome"]["state"] == "finished"))
        self.assertEqual(self.the_run()[0]["job"]["id"], "4711_3")

    def test_what_is_left_alone(self):
        task = self.task()
        pid = {"SLURM_TASK_PID": str(task.pid)}
        self.assertEqual(self.script("taskprolog", "# a remark\nRECORD=store   # only that\nSTORE=/shared", pid), "export TACHO_STORE=/shared\n")
        self.assertEqual(self.script("taskprolog", "  export RECORD='store'\n# TACHO=no  STORE=/no\nSTORE=\"/shared/a b\"  # as a shell has it\n# STORE=/no\n", pid), "export TACHO_STORE=/shared/a b\n")
        mine = {**pid, "TACHO_STORE": self.path("mine"), "TACHO_NO_RECORD": "1"}
        self.assertEqual(self.script("taskprolog", "STORE=/shared\n", mine), "")
        self.assertEqual(self.script("taskprolog", "", pid, path="/nonexistent"), "")
        self.assertEqual(self.script("taskprolog", "", {"SLURM_TASK_PID": "999999999"}), "")
        self.assertEqual(self.script("taskprolog", "nonsense (\nexit 3\n`touch /shared`\nTACHO=$(touch /shared)\n", pid), "")
        self.assertFalse(os.path.exists("/shared"))
        self.assertEqual(self.run_folders(), [])

    def test_the_job_s_summary_goes_to_its_record(self):
        store = self.path("runs")
        for _ in range(2):
            done = self.tacho("run", "-q", "--store", store, "--", "sleep", "1.1", env=SLURM)
            self.assertEqual(done.rc, 0, done)
        self.write("sacctmgr", '#!/bin/sh\nprintf "%s\\n" "$@" > ' + self.path("called") + "\n", 0o755)
        self.script("epilogslurmctld", f"STORE='{store}'\n", path=self.dir + ":" + os.path.dirname(TACHO))
        words = self.read("called").splitlines()
        self.assertEqual(words[:-1], ["-i", "update", "job", "where", "jobid=4711_3", "set"])
        expected = self.tacho("export", "slurm:4711_3", "-f", "jobstats", "--store", store).out.strip()
        self.assertEqual(words[-1], "AdminComment=" + expected)
        os.remove(self.path("called"))
        for env in ({"SLURM_ARRAY_TASK_ID": "4"}, {"SLURM_JOB_RESTART_COUNT": "1"}, {"SLURM_JOB_ID": ""}):
            self.script("epilogslurmctld", env=env, path=self.dir + ":" + os.path.dirname(TACHO))
            self.assertFalse(os.path.exists(self.path("called")), env)
