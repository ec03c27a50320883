// Who started the job: every row of the two tables, precedence, and hostile surroundings.
#include "discover/started_by.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>

#include "discover/starter_values.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

using Map = std::map<std::string, std::string>;

JobSurroundings around(Map variables, Map files = {}, CommandLines ancestors = {}) {
  return {[variables](const std::string& name) {
            const auto found = variables.find(name);
            return found == variables.end() ? std::string() : found->second;
          },
          [files](const std::string& path, size_t limit) {
            const auto found = files.find(path);
            return found == files.end() ? std::string() : found->second.substr(0, limit);
          },
          [lines = std::move(ancestors)]() -> const CommandLines& { return lines; }};
}

Starter find(Map variables, Map files = {}, CommandLines ancestors = {}) {
  return find_starter(around(std::move(variables), std::move(files), std::move(ancestors)));
}

TEST(StartedBy, NothingThereIsNothingFound) {
  const Starter found = find({{"HOME", "/root"}, {"SLURM_JOB_NAME", "x"}, {"JOB_NAME", "y"}, {"BUILD_NUMBER", "3"}});
  EXPECT_FALSE(found.started_by.detected());
  EXPECT_FALSE(found.started_by.job.known());
  EXPECT_FALSE(found.started_by.requested.known());
  EXPECT_EQ(found.metadata.executor, "");
  EXPECT_EQ(found.metadata.job_name, "");
}

TEST(StartedBy, NextflowReadsTheWrapperScript) {
  const std::string script = "#!/bin/bash\n### ---\n### name: 'bwa (s \"1\")'\n### container: 'quay.io/bwa:1'\n";
  const Starter found = find({{"NXF_TASK_WORKDIR", "/w/3f/9a1c2b/"}}, {{"/w/3f/9a1c2b//.command.run", script}});
  EXPECT_EQ(found.started_by.orchestrator, "nextflow");
  EXPECT_EQ(found.metadata.task_name, "bwa (s \"1\")");
  EXPECT_EQ(found.metadata.job_name, "bwa");
  EXPECT_EQ(found.metadata.container_image, "quay.io/bwa:1");
  EXPECT_EQ(found.metadata.external_run_id, "3f/9a1c2b");
  const Starter older =
      find({{"NXF_TASK_WORKDIR", "/w/3f/9a"}}, {{"/w/3f/9a/.command.run", "# NEXTFLOW TASK: sort (2)\n"}});
  EXPECT_EQ(older.metadata.task_name, "sort (2)");
  EXPECT_EQ(older.metadata.job_name, "sort");
  EXPECT_EQ(find({{"NXF_TASK_WORKDIR", "/w/3f/9a"}}).metadata.external_run_id, "3f/9a");  // no script: the rest
  EXPECT_EQ(find({{"NXF_TASK_WORKDIR", "x"}}).metadata.external_run_id, "x");
  const std::string late = std::string(70'000, '#') + "\n### name: 'late'\n";  // behind what is read
  EXPECT_EQ(find({{"NXF_TASK_WORKDIR", "/w"}}, {{"/w/.command.run", late}}).metadata.task_name, "");
}

// A task with `scratch`: NXF_TASK_WORKDIR is a temporary folder then.
TEST(StartedBy, NextflowsTaskIsNotItsScratchFolder) {
  const Map files{{"/w/3f/9a/.command.run", "### name: 'bwa'\n"}, {"/w/11/22/.command.run", "### name: 'other'\n"}};
  JobSurroundings scratch = around({{"NXF_TASK_WORKDIR", "/tmp/nxf.Xy"}}, files);
  EXPECT_EQ(find_starter(scratch).metadata.external_run_id, "tmp/nxf.Xy");
  scratch.command = {"/bin/bash", "-ue", "/w/3f/9a/.command.run", "nxf_trace"};
  EXPECT_EQ(find_starter(scratch).metadata.external_run_id, "3f/9a");
  EXPECT_EQ(find_starter(scratch).metadata.task_name, "bwa");
  scratch.command = {"bash", "/w/3f/9a/.command.sh"};
  EXPECT_EQ(find_starter(scratch).metadata.task_name, "bwa");
  JobSurroundings hooked = around({{"NXF_TASK_WORKDIR", "/w/11/22"}, {"TACHO_NXF_TASK_WORKDIR", "/w/3f/9a"}}, files);
  EXPECT_EQ(find_starter(hooked).metadata.task_name, "bwa");
  JobSurroundings plain = around({{"NXF_TASK_WORKDIR", "/w/11/22"}}, files);
  plain.command = {"bash", "/w/3f/9a/.command.sh"};
  EXPECT_EQ(find_starter(plain).metadata.task_name, "other");
}

TEST(StartedBy, SnakemakeIsAnAncestor) {
  using Words = std::vector<std::string>;
  const auto task = [](Words words) { return find({{"OMP_NUM_THREADS", "3"}}, {}, {{"bash"}, std::move(words)}); };
  EXPECT_EQ(task({"/usr/bin/snakemake", "-c1"}).started_by.orchestrator, "snakemake");
  EXPECT_EQ(task({"/usr/bin/python3", "/usr/bin/snakemake"}).started_by.orchestrator, "snakemake");
  const Starter target = task({"python3", "-m", "snakemake", "--target-jobs", "align:sample=1", "--cores", "2"});
  EXPECT_EQ(target.metadata.task_name, "align");
  EXPECT_EQ(target.started_by.requested.cpus, 3);
  EXPECT_EQ(target.started_by.requested.source, "snakemake");
  EXPECT_EQ(task({"vi", "x", "snakemake"}).started_by.orchestrator, "");
  EXPECT_EQ(task({}).started_by.orchestrator, "");
}

TEST(StartedBy, OtherOrchestrators) {
  const Starter airflow = find({{"AIRFLOW_CTX_DAG_ID", "d"},
                                {"AIRFLOW_CTX_TASK_ID", "t"},
                                {"AIRFLOW_CTX_DAG_RUN_ID", "r"},
                                {"AIRFLOW_CTX_TRY_NUMBER", "3"}});
  EXPECT_EQ(airflow.metadata.job_name + airflow.metadata.task_name + airflow.metadata.external_run_id, "dtr");
  EXPECT_EQ(airflow.started_by.job.restart, 2);
  const Starter metaflow = find({{"METAFLOW_FLOW_NAME", "f"},
                                 {"METAFLOW_STEP_NAME", "s"},
                                 {"METAFLOW_TASK_ID", "7"},
                                 {"METAFLOW_RUN_ID", "9"},
                                 {"METAFLOW_RETRY_COUNT", "1"}});
  EXPECT_EQ(metaflow.metadata.stage_name, "s");
  EXPECT_EQ(metaflow.started_by.job.restart, 1);
  const Starter flyte = find({{"FLYTE_INTERNAL_EXECUTION_ID", "e"},
                              {"FLYTE_INTERNAL_EXECUTION_PROJECT", "p"},
                              {"FLYTE_INTERNAL_EXECUTION_DOMAIN", "dev"},
                              {"FLYTE_INTERNAL_IMAGE", "i"},
                              {"FLYTE_INTERNAL_TASK_NAME", "t"},
                              {"FLYTE_ATTEMPT_NUMBER", "2"}});
  EXPECT_EQ(flyte.metadata.env, "dev");
  EXPECT_EQ(flyte.metadata.project_name + flyte.metadata.container_image + flyte.metadata.task_name, "pit");
  const Starter argo = find({{"ARGO_TEMPLATE", R"({"inputs":{"name":"no"},"name":"main\"x","outputs":{}})"},
                             {"ARGO_NODE_ID", "n-1"},
                             {"ARGO_CONTAINER_NAME", "c"}});
  EXPECT_EQ(argo.metadata.task_name, "main\"x");
  EXPECT_EQ(argo.metadata.external_run_id, "n-1");
  EXPECT_EQ(argo.metadata.stage_name, "c");
  EXPECT_EQ(find({{"ARGO_TEMPLATE", R"({"name":"a\u003cb\u00e9\n"})"}}).metadata.task_name, "a<b\xC3\xA9 ");
  EXPECT_EQ(find({{"ARGO_TEMPLATE", R"({"name":["no"]})"}}).metadata.task_name, "");
  for (const char* broken : {"{", "{\"name\":", "[\"name\",\"x\"]", "{\"name\" 3}", "nonsense", "{\"a\":\"\\"})
    EXPECT_EQ(find({{"ARGO_TEMPLATE", broken}}).metadata.task_name, "") << broken;
  const Starter github = find({{"GITHUB_ACTIONS", "true"},
                               {"GITHUB_WORKFLOW", "CI"},
                               {"GITHUB_JOB", "test"},
                               {"GITHUB_ACTION", "__run"},
                               {"GITHUB_RUN_ID", "5"},
                               {"GITHUB_REPOSITORY", "o/r"},
                               {"GITHUB_RUN_ATTEMPT", "1"},
                               {"RUNNER_ENVIRONMENT", "github-hosted"}});
  EXPECT_EQ(github.metadata.executor, "github-hosted");
  EXPECT_EQ(github.metadata.project_name, "o/r");
  EXPECT_EQ(github.started_by.job.restart, 0);
  EXPECT_FALSE(find({{"GITHUB_ACTIONS", "false"}}).started_by.detected());
  const Starter gitlab = find({{"GITLAB_CI", "true"}, {"CI_JOB_NAME", "j"}, {"CI_PIPELINE_ID", "11"}});
  EXPECT_EQ(gitlab.metadata.tags, std::vector<std::string>{"pipeline=11"});
}

TEST(StartedBy, JenkinsAndGridEngineAreNotMixedUp) {
  const Map jenkins{{"JENKINS_URL", "http://j"}, {"BUILD_NUMBER", "4"}, {"JOB_NAME", "nightly"}, {"BUILD_TAG", "b-4"}};
  EXPECT_EQ(find(jenkins).started_by.orchestrator, "jenkins");
  EXPECT_EQ(find(jenkins).started_by.executor, "");
  Map both = jenkins;
  both.insert(
      {{"JOB_ID", "77"}, {"SGE_TASK_ID", "undefined"}, {"NSLOTS", "4"}, {"QUEUE", "all.q"}, {"RESTARTED", "1"}});
  const Starter found = find(both);
  EXPECT_EQ(found.started_by.executor, "sge");
  EXPECT_EQ(found.metadata.job_name, "nightly");
  EXPECT_EQ(found.started_by.job.id, "77");
  EXPECT_FALSE(found.started_by.job.index.has_value());
  EXPECT_EQ(found.started_by.job.restart, 1);
  EXPECT_EQ(found.metadata.tags, std::vector<std::string>{"queue=all.q"});
  EXPECT_EQ(found.started_by.requested.cpus, 4);
  EXPECT_EQ(find({{"JOB_ID", "77"}}).started_by.executor, "");
}

TEST(StartedBy, OtherExecutors) {
  const Starter pbs = find({{"PBS_JOBID", "12.server"},
                            {"PBS_JOBNAME", "n"},
                            {"PBS_ARRAY_INDEX", "2"},
                            {"PBS_NP", "8"},
                            {"PBS_WALLTIME", "3600"},
                            {"PBS_QUEUE", "q"}});
  EXPECT_EQ(pbs.started_by.job.id, "12");
  EXPECT_EQ(pbs.started_by.job.index, 2);
  EXPECT_EQ(pbs.started_by.requested.cpus, 8);
  EXPECT_EQ(pbs.started_by.requested.time_s, 3600);
  const Starter lsf = find({{"LSB_JOBID", "5"}, {"LSB_JOBINDEX", "0"}, {"LSB_DJOB_NUMPROC", "3"}});
  EXPECT_FALSE(lsf.started_by.job.index.has_value());
  EXPECT_EQ(lsf.started_by.requested.cpus, 3);
  const std::string ad =
      "ClusterId = 12\nprocid = 3\nJobBatchName = \"b\"\nRequestCpus = 2\nRequestMemory = 100\n"
      "NumJobStarts = 1\nDockerImage = \"img\"\n";
  const Starter condor = find({{"_CONDOR_JOB_AD", "/ad"}}, {{"/ad", ad}});
  EXPECT_EQ(condor.started_by.job.id, "12.3");
  EXPECT_EQ(condor.started_by.job.restart, 0);
  EXPECT_EQ(condor.started_by.requested.memory_bytes, 100 << 20);
  EXPECT_EQ(condor.metadata.container_image, "img");
  const std::string odd =
      std::string(500'000, '\n') + "JOBBATCHNAME = \"a \\\"b\\\" \\\\c\"\nProcId=7\nRequestCpus = a + b\nclusterid =12";
  const Starter quoted = find({{"_CONDOR_JOB_AD", "/ad"}}, {{"/ad", odd}});
  EXPECT_EQ(quoted.metadata.job_name, "a \"b\" \\c");
  EXPECT_EQ(quoted.started_by.job.id, "12.7");
  EXPECT_FALSE(quoted.started_by.requested.known());
  EXPECT_FALSE(find({{"_CONDOR_JOB_AD", "/none"}}).started_by.detected());
  EXPECT_FALSE(find({{"_CONDOR_JOB_AD", "/ad"}}, {{"/ad", std::string((1 << 20) + 1, 'x')}}).started_by.detected());
  const Starter aws = find({{"AWS_BATCH_JOB_ID", "ab-1:3"},
                            {"AWS_BATCH_JOB_ATTEMPT", "2"},
                            {"AWS_BATCH_JOB_ARRAY_INDEX", "3"},
                            {"AWS_BATCH_JOB_NODE_INDEX", "1"}});
  EXPECT_EQ(aws.started_by.job.id, "ab-1");
  EXPECT_EQ(aws.started_by.job.restart, 1);
  EXPECT_EQ(aws.started_by.job.node, "1");
  const Starter gcp = find({{"BATCH_TASK_INDEX", "4"}, {"BATCH_TASK_COUNT", "9"}, {"BATCH_TASK_RETRY_ATTEMPT", "0"}});
  EXPECT_EQ(gcp.started_by.job.scheduler, "gcp_batch");
  EXPECT_EQ(gcp.started_by.job.id, "");
  EXPECT_EQ(gcp.started_by.job.index, 4);
  EXPECT_EQ(group_name(gcp.started_by.job), "");
  EXPECT_EQ(find({{"AZUREML_RUN_ID", "r"}, {"AZUREML_ARM_PROJECT_NAME", "exp"}}).metadata.job_name, "exp");
  EXPECT_EQ(find({{"AZ_BATCH_JOB_ID", "j"}, {"AZ_BATCH_TASK_ID", "t"}}).metadata.task_name, "t");
  const Starter pod = find({{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}, {"HOSTNAME", "pod-1"}, {"NODE_NAME", "n"}},
                           {{"/var/run/secrets/kubernetes.io/serviceaccount/namespace", "team-a\n"}});
  EXPECT_EQ(pod.started_by.job.id, "pod-1");
  EXPECT_EQ(pod.started_by.job.cluster, "team-a");
}

TEST(StartedBy, OrchestratorWinsWhereBothTell) {
  const Starter found = find({{"NXF_TASK_WORKDIR", "/w/3f/9a"},
                              {"SLURM_JOB_ID", "4711"},
                              {"SLURM_JOB_NAME", "nf-x"},
                              {"GITHUB_ACTIONS", "true"},
                              {"SLURM_CPUS_ON_NODE", "4"}});
  EXPECT_EQ(found.started_by.orchestrator, "nextflow");
  EXPECT_EQ(found.started_by.executor, "slurm");
  EXPECT_EQ(found.metadata.external_run_id, "3f/9a");
  EXPECT_EQ(found.metadata.job_name, "nf-x");  // the wrapper told no name
  EXPECT_EQ(found.started_by.job.id, "4711");
}

TEST(Slurm, ArraysRequeuesAndSteps) {
  Map task{{"SLURM_JOB_ID", "4711"}, {"SLURM_ARRAY_JOB_ID", "4711"}, {"SLURM_ARRAY_TASK_ID", "3"}};
  EXPECT_EQ(find(task).started_by.job.id, "4711_3");
  EXPECT_EQ(find(task).metadata.external_run_id, "4711_3");
  EXPECT_EQ(group_name(find(task).started_by.job), "slurm:4711_3");
  task["SLURM_RESTART_COUNT"] = "1";
  EXPECT_EQ(group_name(find(task).started_by.job), "slurm:4711_3.r1");
  const Starter batch = find({{"SLURM_JOB_ID", "5"}, {"SLURM_CPUS_ON_NODE", "8"}, {"SLURM_MEM_PER_CPU", "100"}});
  EXPECT_EQ(batch.started_by.job.restart, 0);
  EXPECT_FALSE(batch.started_by.job.step.has_value());
  EXPECT_EQ(batch.started_by.requested.cpus, 8);
  EXPECT_EQ(batch.started_by.requested.memory_bytes, 800 << 20);
  EXPECT_EQ(batch.started_by.requested.gpus, 0);
  const Starter step = find({{"SLURM_JOB_ID", "5"},
                             {"SLURM_STEP_ID", "0"},
                             {"SLURM_PROCID", "1"},
                             {"SLURM_STEP_NUM_TASKS", "2"},
                             {"SLURM_CPUS_ON_NODE", "8"},
                             {"SLURM_MEM_PER_NODE", "0"},
                             {"SLURM_JOB_START_TIME", "100"},
                             {"SLURM_JOB_END_TIME", "160"}});
  EXPECT_EQ(step.metadata.stage_name, "step 0");
  EXPECT_EQ(step.metadata.task_name, "task 1");
  EXPECT_EQ(step.started_by.requested.cpus, 1);
  EXPECT_FALSE(step.started_by.requested.memory_bytes.has_value());  // the whole node: unknown
  EXPECT_EQ(step.started_by.requested.time_s, 60);
  const Starter gpus = find({{"SLURM_JOB_ID", "5"}, {"SLURM_JOB_GPUS", "0,2-3"}, {"SLURM_MEM_PER_GPU", "10"}});
  EXPECT_EQ(gpus.started_by.requested.gpus, 3);
  EXPECT_EQ(gpus.started_by.requested.memory_bytes, 30 << 20);
}

TEST(Slurm, HeterogeneousComponentsHaveTheirOwnSizes) {
  const Map job{{"SLURM_JOB_ID", "9"},
                {"SLURMD_NODENAME", "n2"},
                {"SLURM_JOB_NODELIST_HET_GROUP_0", "n1"},
                {"SLURM_JOB_NODELIST_HET_GROUP_1", "n[2-3]"},
                {"SLURM_MEM_PER_NODE", "1000"},
                {"SLURM_MEM_PER_NODE_HET_GROUP_1", "50"}};
  EXPECT_EQ(find(job).started_by.job.id, "9+1");
  EXPECT_EQ(find(job).started_by.requested.memory_bytes, 50 << 20);
  Map leader = job;
  leader["SLURMD_NODENAME"] = "n1";
  EXPECT_EQ(find(leader).started_by.job.id, "9");
  EXPECT_EQ(find(leader).started_by.requested.memory_bytes, 1000 << 20);
}

TEST(Slurm, HostLists) {
  EXPECT_TRUE(is_in_host_list("n[1-2,05],login", "n2"));
  EXPECT_TRUE(is_in_host_list("n[1-2,05],login", "n05"));
  EXPECT_FALSE(is_in_host_list("n[1-2,05],login", "n5"));
  EXPECT_TRUE(is_in_host_list("n[1-2,05],login", "login"));
  EXPECT_FALSE(is_in_host_list("n[01-10]", "n2"));
  EXPECT_TRUE(is_in_host_list("n[08-12]-ib", "n09-ib"));
  for (const char* odd : {"", "n[", "n]1[", "n[1-", "n[a-b]", ",,", "[[1]]"}) EXPECT_FALSE(is_in_host_list(odd, "n1"));
}

TEST(Slurm, NonsenseIsUnset) {
  const Starter found = find({{"SLURM_JOB_ID", "abc"},
                              {"SLURM_CPUS_ON_NODE", "-4"},
                              {"SLURM_ARRAY_TASK_ID", ""},
                              {"SLURM_ARRAY_JOB_ID", "9"},
                              {"SLURM_RESTART_COUNT", "many"},
                              {"SLURM_MEM_PER_CPU", "9223372036854775807"}});
  EXPECT_EQ(found.started_by.job.id, "abc");
  EXPECT_FALSE(found.started_by.requested.cpus.has_value());
  EXPECT_FALSE(found.started_by.requested.memory_bytes.has_value());
  EXPECT_EQ(found.started_by.job.restart, 0);
}

TEST(StartedBy, HostileValuesAreCleanedAndCut) {
  const Starter found = find({{"SLURM_JOB_ID", "1"}, {"SLURM_JOB_NAME", "a\nb\x1b[31m\xff"}});
  EXPECT_EQ(found.metadata.job_name, "a b [31m\xEF\xBF\xBD");
  const std::string euro = "\xE2\x82\xAC";
  std::string longest;
  for (int i = 0; i < 400'000; ++i) longest += euro;
  const std::string cut = find({{"SLURM_JOB_ID", "1"}, {"SLURM_JOB_NAME", longest}}).metadata.job_name;
  EXPECT_EQ(cut.size(), 255u);  // at a character
}

TEST(StartedBy, TheUserWinsFieldByField) {
  Metadata metadata;
  metadata.job_name = "mine";
  metadata.tags = {"queue=other"};
  StartedBy by;
  by.requested = *parse_request("cpus=1500m");
  apply_starter(find({{"SGE_ROOT", "/s"}, {"JOB_ID", "7"}, {"JOB_NAME", "theirs"}, {"NSLOTS", "4"}, {"QUEUE", "q"}}),
                metadata, by);
  EXPECT_EQ(metadata.job_name, "mine");
  EXPECT_EQ(metadata.executor, "sge");
  EXPECT_EQ(metadata.tags, std::vector<std::string>{"queue=other"});
  EXPECT_EQ(by.fields, std::vector<std::string>{"executor"});
  EXPECT_EQ(by.requested.cpus, 1.5);
  EXPECT_EQ(by.requested.source, "user");
}

TEST(StartedBy, RequestsAreChecked) {
  const auto all = parse_request("cpus=4, memory=8GiB,gpus=1,time=2h");
  ASSERT_TRUE(all);
  EXPECT_EQ(all->memory_bytes, int64_t{8} << 30);
  EXPECT_EQ(all->time_s, 7200);
  EXPECT_EQ(parse_request("memory=1048576")->memory_bytes, 1 << 20);
  // A container that asks for nothing, by Kubernetes' downward API.
  ASSERT_TRUE(parse_request("cpus=0m,memory=0"));
  EXPECT_FALSE(parse_request("cpus=0m,memory=0")->known());
  for (const char* bad :
       {"", "cpus", "cpus=", "cpus=-1", "cpus=nan", "memory=x", "gpus=-1", "time=0", "disk=3", "cpus=1,,"})
    EXPECT_FALSE(parse_request(bad)) << bad;
}

TEST(StartedBy, AncestorsAreReadOnlyWhereTheyAreNeeded) {
  int asked = 0;
  const CommandLines above{{"snakemake"}};
  const auto orchestrator = [&](Map variables) {
    JobSurroundings all = around(std::move(variables));
    all.ancestors = [&]() -> const CommandLines& { return ++asked, above; };
    return find_starter(all).metadata.orchestrator;
  };
  EXPECT_EQ(orchestrator({{"NXF_TASK_WORKDIR", "/w/3f/9a"}}), "nextflow");
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(orchestrator({{"AIRFLOW_CTX_DAG_ID", "d"}}), "snakemake");
  EXPECT_GT(asked, 0);
}

TEST(StartedBy, RealFilesAreReadOnlyWhenPlain) {
  const TempDir dir;
  ASSERT_EQ(::mkfifo((dir / "pipe").c_str(), 0600), 0);
  const JobSurroundings real = own_surroundings(Roots{});
  EXPECT_EQ(real.file_start((dir / "pipe"), 100), "");  // is not waited for
  EXPECT_EQ(real.file_start(dir.path(), 100), "");
  EXPECT_FALSE(real.ancestors().empty());
  const JobSurroundings init = surroundings_of(Roots{}, 1 << 30);
  EXPECT_EQ(init.variable("PATH"), "");
}

}  // namespace
}  // namespace tacho
