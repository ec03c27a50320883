"""Every engine and scheduler by its variables, line by line as docs/formats/engines.md has them: what run.json says of each."""
import json
import os
import subprocess
import sys
import tempfile

from support import TACHO, Case

# name: variables; then what is expected of metadata, job and requested (each whole, without the name of the engine itself).
ORCHESTRATORS = {
    "airflow": ({"AIRFLOW_CTX_DAG_ID": "dag", "AIRFLOW_CTX_TASK_ID": "task", "AIRFLOW_CTX_DAG_RUN_ID": "manual__1", "AIRFLOW_CTX_TRY_NUMBER": "3"},
                {"job_name": "dag", "task_name": "task", "external_run_id": "manual__1"}, {"restart": 2}, None),
    "metaflow": ({"METAFLOW_FLOW_NAME": "Flow", "METAFLOW_STEP_NAME": "train", "METAFLOW_TASK_ID": "7", "METAFLOW_RUN_ID": "12", "METAFLOW_RETRY_COUNT": "1"},
                 {"job_name": "Flow", "stage_name": "train", "task_name": "7", "external_run_id": "12"}, {"restart": 1}, None),
    "flyte": ({"FLYTE_INTERNAL_EXECUTION_ID": "ex1", "FLYTE_INTERNAL_TASK_NAME": "t", "FLYTE_INTERNAL_EXECUTION_PROJECT": "p",
               "FLYTE_INTERNAL_EXECUTION_DOMAIN": "dev", "FLYTE_INTERNAL_IMAGE": "img:2", "FLYTE_ATTEMPT_NUMBER": "2"},
              {"task_name": "t", "external_run_id": "ex1", "project_name": "p", "env": "dev", "container_image": "img:2"}, {"restart": 2}, None),
    "argo": ({"ARGO_TEMPLATE": '{"name": "step-a", "inputs": {}}', "ARGO_NODE_ID": "node-1", "ARGO_WORKFLOW_NAME": "wf", "ARGO_CONTAINER_NAME": "main"},
             {"stage_name": "main", "task_name": "step-a", "external_run_id": "wf"}, None, None),
    "github_actions": ({"GITHUB_ACTIONS": "true", "GITHUB_WORKFLOW": "ci", "GITHUB_JOB": "build", "GITHUB_ACTION": "__run", "GITHUB_RUN_ID": "99",
                        "GITHUB_REPOSITORY": "o/r", "GITHUB_RUN_ATTEMPT": "2", "RUNNER_ENVIRONMENT": "github-hosted"},
                       {"job_name": "ci", "stage_name": "build", "task_name": "__run", "external_run_id": "99", "project_name": "o/r",
                        "executor": "github-hosted"}, {"restart": 1}, None),
    "gitlab_ci": ({"GITLAB_CI": "true", "CI_JOB_NAME": "test", "CI_JOB_STAGE": "check", "CI_JOB_ID": "5", "CI_PROJECT_PATH": "g/p", "CI_JOB_IMAGE": "deb:12",
                   "CI_PIPELINE_ID": "8"},
                  {"job_name": "test", "stage_name": "check", "external_run_id": "5", "project_name": "g/p", "container_image": "deb:12",
                   "tags": ["pipeline=8"]}, None, None),
    "jenkins": ({"JENKINS_URL": "http://j", "BUILD_NUMBER": "4", "JOB_NAME": "nightly", "STAGE_NAME": "Test", "BUILD_TAG": "jenkins-nightly-4"},
                {"job_name": "nightly", "stage_name": "Test", "external_run_id": "jenkins-nightly-4"}, None, None),
}
EXECUTORS = {
    "pbs": ({"PBS_JOBID": "12[3].server.x", "PBS_JOBNAME": "j", "PBS_ARRAY_INDEX": "3", "PBS_QUEUE": "long", "NCPUS": "4", "PBS_NP": "9", "PBS_WALLTIME": "3600"},
            {"job_name": "j", "tags": ["queue=long"]}, {"id": "12[3]", "index": 3}, {"cpus": 4, "time_s": 3600}),
    "lsf": ({"LSB_JOBID": "77", "LSB_JOBNAME": "j", "LSB_JOBINDEX": "2", "LSB_QUEUE": "q", "LSB_DJOB_NUMPROC": "8"},
            {"job_name": "j", "tags": ["queue=q"]}, {"id": "77", "index": 2}, {"cpus": 8}),
    "sge": ({"JOB_ID": "31", "SGE_TASK_ID": "4", "JOB_NAME": "j", "QUEUE": "all.q", "RESTARTED": "1", "NSLOTS": "2"},
            {"job_name": "j", "tags": ["queue=all.q"]}, {"id": "31", "index": 4, "restart": 1}, {"cpus": 2}),
    "aws_batch": ({"AWS_BATCH_JOB_ID": "abc-1:5", "AWS_BATCH_JOB_ARRAY_INDEX": "5", "AWS_BATCH_JOB_ATTEMPT": "2", "AWS_BATCH_JOB_NODE_INDEX": "1",
                   "AWS_BATCH_JQ_NAME": "main"},
                  {"tags": ["queue=main"]}, {"id": "abc-1", "index": 5, "restart": 1, "node": "1"}, None),
    "gcp_batch": ({"BATCH_TASK_INDEX": "3", "BATCH_TASK_COUNT": "9", "BATCH_TASK_RETRY_ATTEMPT": "1"}, {}, {"index": 3, "restart": 1}, None),
    "azureml": ({"AZUREML_RUN_ID": "run_1", "AZUREML_ARM_PROJECT_NAME": "exp", "AZUREML_ARM_WORKSPACE_NAME": "ws"},
                {"job_name": "exp", "project_name": "ws"}, {"id": "run_1"}, None),
    "azure_batch": ({"AZ_BATCH_JOB_ID": "job-1", "AZ_BATCH_TASK_ID": "t-1", "AZ_BATCH_NODE_ID": "tvm-1"},
                    {"task_name": "t-1"}, {"id": "job-1", "node": "tvm-1"}, None),
    "kubernetes": ({"KUBERNETES_SERVICE_HOST": "10.0.0.1", "POD_NAME": "pod-1", "HOSTNAME": "other", "JOB_COMPLETION_INDEX": "2", "POD_NAMESPACE": "ns",
                    "NODE_NAME": "node-a"},
                   {}, {"id": "pod-1", "index": 2, "cluster": "ns", "node": "node-a"}, None),
}
SLURM = {"SLURM_JOB_ID": "4712", "SLURM_JOB_NAME": "align"}
NUMBERS = ("SLURM_RESTART_COUNT", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_JOB_NUM_NODES", "SLURM_CPUS_ON_NODE", "SLURM_MEM_PER_NODE",
           "SLURM_MEM_PER_CPU", "SLURM_MEM_PER_GPU", "SLURM_GPUS_ON_NODE", "SLURM_JOB_START_TIME", "SLURM_JOB_END_TIME", "SLURM_CPUS_PER_TASK", "SLURM_ARRAY_TASK_ID",
           "SLURM_ARRAY_JOB_ID", "SLURMD_NODENAME", "SLURM_CLUSTER_NAME", "SLURM_HET_SIZE", "SLURM_JOB_NODELIST_HET_GROUP_0")


class Tables(Case):
    def run_of(self, env, *options, err=""):
        with tempfile.TemporaryDirectory(dir=self.dir) as store:
            done = self.tacho("run", "-q", "--store", store, *options, "--", "true", env=env)
            self.assertEqual((done.rc, done.err), (0, err), done)
            return self.the_run(store)[0]

    def metadata(self, run, name):
        got = dict(run["metadata"])
        if not got["tags"]:
            del got["tags"]
        if got.get(name[0]) == name[1]:
            del got[name[0]]
        return got

    def test_orchestrators(self):
        for name, (env, metadata, job, requested) in ORCHESTRATORS.items():
            with self.subTest(name):
                run = self.run_of(env)
                self.assertEqual(run["detected"]["orchestrator"], name)
                self.assertEqual(self.metadata(run, ("orchestrator", name)), metadata)
                self.assertEqual(run.get("job"), job)
                self.assertEqual(run.get("requested"), requested)

    def test_executors(self):
        for name, (env, metadata, job, requested) in EXECUTORS.items():
            with self.subTest(name):
                run = self.run_of(env)
                self.assertEqual(run["detected"]["executor"], name)
                self.assertEqual(self.metadata(run, ("executor", name)), metadata)
                self.assertEqual({key: value for key, value in run["job"].items() if key not in ("scheduler", "raw_id")}, job)
                self.assertEqual(run["job"]["scheduler"], name)
                got = run.get("requested")
                self.assertEqual(got, requested and {**requested, "source": name})

    def test_htcondor(self):
        ad = self.write("ad", 'clusterid = 12\nProcId = 3\nJOBBATCHNAME = "my \\"batch\\""\nNumJobStarts = 2\nDockerImage = "img"\nRequestCpus = 4\n'
                              'RequestMemory = 2048\nRequestGpus = 1\nNonsense\n = \n')
        run = self.run_of({"_CONDOR_JOB_AD": ad})
        self.assertEqual(run["detected"]["executor"], "htcondor")
        self.assertEqual((run["job"]["id"], run["job"]["restart"]), ("12.3", 1))
        self.assertEqual(run["metadata"]["container_image"], "img")
        self.assertEqual(run["requested"], {"cpus": 4, "memory_bytes": 2 << 30, "gpus": 1, "source": "htcondor"})
        for bad in (self.dir, "/dev/zero", "/proc/self/mem", self.path("none"), self.write("binary", "\0\1\2" * 1000)):
            self.assertNotEqual(self.run_of({"_CONDOR_JOB_AD": bad}).get("job", {}).get("id"), "", bad)

    def test_the_user_wins_against_each(self):
        flags = {"job_name": "a", "project_name": "b", "stage_name": "c", "task_name": "d", "env": "e", "orchestrator": "f", "executor": "g", "external_run_id": "h",
                 "container_image": "i"}
        options = [word for key, value in flags.items() for word in ("--" + key.replace("_", "-"), value)]
        for name, (env, _, _, _) in {**ORCHESTRATORS, **EXECUTORS}.items():
            with self.subTest(name):
                run = self.run_of(env, *options)
                self.assertEqual({key: value for key, value in run["metadata"].items() if key != "tags"}, flags)
                self.assertIn(name, (run["detected"].get("orchestrator"), run["detected"].get("executor")))
                self.assertNotIn("job_name", run["detected"]["fields"])
                bare = self.run_of(env, "--no-detect")
                self.assertEqual([key for key in ("detected", "job", "requested") if key in bare], [])
                self.assertEqual(bare["metadata"], {"tags": []})

    def test_two_at_once(self):
        sge = {"JOB_ID": "31", "SGE_ROOT": "/sge", "JOB_NAME": "j", "SGE_TASK_ID": "undefined"}
        jenkins = ORCHESTRATORS["jenkins"][0]
        run = self.run_of({"JOB_ID": "31", "JOB_NAME": "j"})
        self.assertNotIn("detected", run)
        run = self.run_of({**sge, "JENKINS_URL": "", "BUILD_NUMBER": "1"})
        self.assertEqual(run["detected"]["executor"], "sge")
        self.assertNotIn("orchestrator", run["detected"])
        self.assertNotIn("index", run["job"])
        run = self.run_of({**sge, **jenkins})
        self.assertEqual((run["detected"]["orchestrator"], run["detected"]["executor"]), ("jenkins", "sge"))
        self.assertEqual((run["metadata"]["job_name"], run["job"]["id"]), ("nightly", "31"))
        run = self.run_of({"LSB_JOBID": "1", "LSB_JOBINDEX": "0", "PBS_JOBID": "2.x"})
        self.assertEqual(run["detected"]["executor"], "pbs")
        self.assertNotIn("index", self.run_of({"LSB_JOBID": "1", "LSB_JOBINDEX": "0"})["job"])
        nested = {**ORCHESTRATORS["github_actions"][0], **SLURM, "NXF_TASK_WORKDIR": "/w/3f/9a"}
        run = self.run_of(nested)
        self.assertEqual((run["detected"]["orchestrator"], run["detected"]["executor"]), ("nextflow", "slurm"))
        self.assertEqual((run["metadata"]["external_run_id"], run["metadata"]["job_name"]), ("3f/9a", "align"))

    def test_nextflow_s_wrapper(self):
        folder = self.path("w", "3f", "9a")
        os.makedirs(folder)
        wrapper = os.path.join(folder, ".command.run")

        def task(content):
            with open(wrapper, "wb") as file:
                file.write(content)
            return self.run_of({"NXF_TASK_WORKDIR": folder})["metadata"]
        self.assertEqual(task(b"# NEXTFLOW TASK: FOO:BAR (s1)\n")["job_name"], "FOO:BAR")
        self.assertEqual(task(b"### name: 'it'\\''s (1)'\n")["task_name"][:2], "it")
        self.assertNotIn("container_image", task(b"### name: 'x'\n### container: 'null'\n"))  # containers are on, and the process has none
        self.assertNotIn("task_name", task(b"x" * 70000 + b"\n### name: 'late'\n"))
        self.assertNotIn("task_name", task(os.urandom(5000).replace(b"#", b"")))
        os.truncate(wrapper, 1 << 30)
        self.assertNotIn("task_name", self.run_of({"NXF_TASK_WORKDIR": folder})["metadata"])
        os.remove(wrapper)
        self.assertEqual(self.run_of({"NXF_TASK_WORKDIR": folder})["metadata"]["external_run_id"], "3f/9a")
        os.mkfifo(wrapper)
        self.assertNotIn("task_name", self.run_of({"NXF_TASK_WORKDIR": folder})["metadata"])

    def test_snakemake_above(self):
        fake = self.write("snakemake", f"import subprocess, sys\nsys.exit(subprocess.call(['{TACHO}', 'run', '-q', '--', 'true']))\n")
        for words, task in (([fake], None), ([fake, "--target-jobs", "align:sample=1"], "align")):
            done = subprocess.run([sys.executable, *words], env={**self.environment(), "OMP_NUM_THREADS": "3"}, check=False, timeout=60)
            self.assertEqual(done.returncode, 0)
            newest = sorted(self.run_folders(), key=os.path.getmtime)[-1]
            with open(os.path.join(newest, "run.json"), encoding="utf-8") as file:
                run = json.load(file)
            self.assertEqual(run["detected"]["orchestrator"], "snakemake")
            self.assertEqual(run["metadata"].get("task_name"), task)
            self.assertEqual(run["requested"], {"cpus": 3, "source": "snakemake"})

    def test_slurm_s_identity(self):
        for env, job in (
                ({}, {"id": "4712"}),
                ({"SLURM_ARRAY_JOB_ID": "4711", "SLURM_ARRAY_TASK_ID": "3"}, {"id": "4711_3", "array": "4711", "index": 3}),
                ({"SLURM_ARRAY_JOB_ID": "4712", "SLURM_ARRAY_TASK_ID": "0"}, {"id": "4712_0", "array": "4712", "index": 0}),
                ({"SLURM_RESTART_COUNT": "1"}, {"id": "4712", "restart": 1}),
                ({"SLURM_STEP_ID": "0", "SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"}, {"id": "4712", "step": 0, "task": 1, "tasks": 2}),
                ({"SLURM_STEP_ID": "0", "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"}, {"id": "4712", "step": 0}),
                ({"SLURM_JOB_NUM_NODES": "2", "SLURM_CLUSTER_NAME": "c", "SLURMD_NODENAME": "n1"}, {"id": "4712", "nodes": 2, "cluster": "c", "node": "n1"})):
            with self.subTest(env=env):
                run = self.run_of({**SLURM, **env})
                self.assertEqual(run["job"], {"scheduler": "slurm", "raw_id": "4712", "restart": 0, **job})
                self.assertEqual(run["metadata"]["external_run_id"], job["id"])
                self.assertEqual(run["metadata"].get("stage_name"), "step 0" if "step" in job else None)
                self.assertEqual(run["metadata"].get("task_name"), "task 1" if "task" in job else None)

    def test_slurm_s_sizes(self):
        for env, size in (
                ({"SLURM_CPUS_ON_NODE": "4", "SLURM_MEM_PER_NODE": "8192"}, {"cpus": 4, "memory_bytes": 8 << 30}),
                ({"SLURM_CPUS_ON_NODE": "4", "SLURM_STEP_ID": "0"}, {"cpus": 1}),
                ({"SLURM_CPUS_ON_NODE": "4", "SLURM_STEP_ID": "0", "SLURM_CPUS_PER_TASK": "3"}, {"cpus": 3}),
                ({"SLURM_CPUS_ON_NODE": "4", "SLURM_CPUS_PER_TASK": "3"}, {"cpus": 4}),
                ({"SLURM_CPUS_ON_NODE": "4", "SLURM_MEM_PER_CPU": "100"}, {"cpus": 4, "memory_bytes": 400 << 20}),
                ({"SLURM_CPUS_ON_NODE": "4", "SLURM_MEM_PER_NODE": "0", "SLURM_MEM_PER_CPU": "100"}, {"cpus": 4}),
                ({"SLURM_GPUS_ON_NODE": "2", "SLURM_MEM_PER_GPU": "100"}, {"memory_bytes": 200 << 20, "gpus": 2}),
                ({"SLURM_STEP_GPUS": "0,3", "SLURM_JOB_GPUS": "0,1,2"}, {"gpus": 2}),
                ({"SLURM_JOB_GPUS": "0,1,2"}, {"gpus": 3}),
                ({"SLURM_JOB_START_TIME": "1000", "SLURM_JOB_END_TIME": "4600"}, {"time_s": 3600}),
                ({"SLURM_JOB_START_TIME": "4600", "SLURM_JOB_END_TIME": "1000"}, {}),
                ({"SLURM_JOB_END_TIME": "1000"}, {})):
            with self.subTest(env=env):
                self.assertEqual(self.run_of({**SLURM, **env})["requested"], {"gpus": 0, "source": "slurm", **size})

    def test_slurm_s_components(self):
        het = {**SLURM, "SLURM_HET_SIZE": "3", "SLURM_CPUS_ON_NODE": "2", "SLURM_MEM_PER_NODE": "100", "SLURM_JOB_NODELIST_HET_GROUP_0": "a1",
               "SLURM_JOB_NODELIST_HET_GROUP_1": "n[1-3,07],x", "SLURM_JOB_NODELIST_HET_GROUP_2": "gpu[008-011]", "SLURM_MEM_PER_NODE_HET_GROUP_0": "100",
               "SLURM_MEM_PER_NODE_HET_GROUP_1": "200", "SLURM_MEM_PER_NODE_HET_GROUP_2": "300"}
        for node, component, mib in (("a1", "", 100), ("n2", "+1", 200), ("n07", "+1", 200), ("x", "+1", 200), ("gpu010", "+2", 300), ("gpu10", "", 100)):
            with self.subTest(node):
                run = self.run_of({**het, "SLURMD_NODENAME": node})
                self.assertEqual(run["job"]["id"], "4712" + component)
                self.assertEqual(run["requested"]["memory_bytes"], mib << 20)

    def test_nonsense_is_unknown(self):
        for value in ("", "x", "-1", "99999999999999999999", "1e3", " ", "0x10", "\x1b[1m"):
            with self.subTest(value):
                run = self.run_of({**SLURM, **{name: value for name in NUMBERS}, "SLURM_JOB_NODELIST_HET_GROUP_0": "n[[1-"})
                self.assertEqual(run["job"]["restart"], 0)
                for key in ("step", "task", "tasks", "index", "nodes"):
                    self.assertNotIn(key, run["job"])
                self.assertEqual(run["requested"], {"gpus": 0, "source": "slurm"})
        self.assertNotIn("detected", self.run_of({"SLURM_JOB_ID": "", "PBS_JOBID": "", "GITHUB_ACTIONS": "false", "GITLAB_CI": "1"}))

    def test_values_are_made_harmless(self):
        run = self.run_of({**SLURM, "SLURM_JOB_NAME": "a\tb\n\x7f" + "é" * 200})
        name = run["metadata"]["job_name"]
        self.assertTrue(name.startswith("a b  é"))
        self.assertEqual(len(name.encode()), 255)
        env = {**{key.encode(): value.encode() for key, value in {**self.environment(), **SLURM}.items()}, b"SLURM_JOB_NAME": b"a\xff\xfeb"}
        self.assertEqual(subprocess.run([TACHO, "run", "-q", "--", "true"], env=env, check=False).returncode, 0)
        self.assertEqual(self.the_run()[0]["metadata"]["job_name"], "a��b")

    def test_no_secret_is_read(self):
        secrets = {"GITHUB_TOKEN": "s3cret", "CI_JOB_TOKEN": "s3cret", "AWS_SECRET_ACCESS_KEY": "s3cret", "AIRFLOW_PASSWORD": "s3cret"}
        run = self.run_of({**secrets, **ORCHESTRATORS["github_actions"][0], **ORCHESTRATORS["gitlab_ci"][0]})
        self.assertNotIn("s3cret", json.dumps(run))
