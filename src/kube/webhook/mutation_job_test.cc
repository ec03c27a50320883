#include "kube/webhook/mutation_test_support.h"

namespace tacho {
namespace {

TEST_F(MutationTest, JobLevelTemplates) {
  struct Case {
    const char* name;
    const char* chosen;
    size_t labelled;
  };
  images_.command = ImageCommand{{"/entry"}, {}};
  for (const Case& one :
       {Case{"random", "/spec/template", 1}, Case{"pytorchjob", "/spec/pytorchReplicaSpecs/Master/template", 2},
        Case{"pytorchjob_elastic", "/spec/pytorchReplicaSpecs/Worker/template", 1},
        Case{"tfjob", "/spec/tfReplicaSpecs/Worker/template", 1},
        Case{"tfjob_chief", "/spec/tfReplicaSpecs/chief/template", 3},
        Case{"mpijob", "/spec/mpiReplicaSpecs/Launcher/template", 1},
        Case{"xgboostjob", "/spec/xgbReplicaSpecs/Master/template", 2}}) {
    const Json parts = load(one.name);
    const Outcome out = job(parts["job"]);
    EXPECT_STREQ(out.answer.result, "injected")
        << one.name << (out.answer.warnings.empty() ? "" : out.answer.warnings[0]);
    size_t labelled = 0, injected = 0;
    for (const Json& operation : out.operations) {
      const std::string path = operation["path"];
      labelled += path.ends_with("/katib.kubeflow.org~1trial");
      injected += path.ends_with("/spec/containers/-");
      if (path.ends_with("/spec/containers/-")) { EXPECT_EQ(path, std::string(one.chosen) + "/spec/containers/-"); }
    }
    EXPECT_EQ(injected, 1u) << one.name;
    EXPECT_EQ(labelled, one.labelled) << one.name;
    const Json& chosen = out.object[Json::json_pointer(one.chosen)];
    EXPECT_EQ(chosen["metadata"]["annotations"][kMark], "job") << one.name;
    const Words words = args(chosen["spec"]["containers"].back());
    const bool worker = std::string(one.chosen).find("Worker") != std::string::npos;
    EXPECT_EQ(std::count(words.begin(), words.end(), "TACHO_REPLICA_INDEX=0"), worker ? 1 : 0) << one.name;
    // The pod that is made of the template later, also where the namespace got its label meanwhile.
    label("enabled");
    if (parts.contains("pods")) {
      Json later = parts["pods"].front();
      later["spec"] = chosen["spec"];
      later["metadata"]["annotations"] = chosen["metadata"]["annotations"];
      for (const auto& [key, value] : chosen["metadata"]["labels"].items()) later["metadata"]["labels"][key] = value;
      EXPECT_EQ(pod(later).answer.patch, "") << one.name << ": one collector only";
    }
  }
}

TEST_F(MutationTest, JobLevelTrainJob) {
  const Json parts = load("trainjob");
  const Outcome out = job(parts["job_set"]);
  const Json& node = out.object["spec"]["replicatedJobs"][1]["template"]["spec"]["template"];
  const Words words = args(node["spec"]["containers"].back());
  EXPECT_EQ(Words(words.end() - 2, words.end()), Words({"--active-when", "JOB_COMPLETION_INDEX=0"}));
  EXPECT_EQ(out.object["spec"]["replicatedJobs"][0], parts["job_set"]["spec"]["replicatedJobs"][0]);
  EXPECT_STREQ(job(parts["train_job"]).answer.result, "unchanged");
}

TEST_F(MutationTest, JobLevelIndexedAndParallel) {
  Json parts = load("random");
  parts["job"]["spec"]["parallelism"] = 3;
  Outcome out = job(parts["job"]);
  Words words = args(out.object["spec"]["template"]["spec"]["containers"].back());
  EXPECT_EQ(std::count(words.begin(), words.end(), "--attempts"), 0);
  EXPECT_EQ(out.answer.warnings.size(), 1u);
  parts["job"]["spec"]["completions"] = 3;
  parts["job"]["spec"]["completionMode"] = "Indexed";
  out = job(parts["job"]);
  words = args(out.object["spec"]["template"]["spec"]["containers"].back());
  EXPECT_EQ(words.back(), "JOB_COMPLETION_INDEX=0");
  EXPECT_TRUE(out.answer.warnings.empty());
}

TEST_F(MutationTest, OneModeForANamespace) {
  const Json parts = load("random");
  label("enabled");
  EXPECT_STREQ(run(parts["job"], false).answer.result, "unchanged") << "the pod hook's";
  label("disabled");
  EXPECT_STREQ(run(parts["pod"], true).answer.result, "unchanged") << "the job hook's";
  label("enabled");
  configure({{"twoStage", "true"}});
  const Outcome out = run(parts["job"], false);
  EXPECT_EQ(out.object["spec"]["template"]["metadata"]["labels"]["katib.kubeflow.org/trial"], "random-x1");
  EXPECT_EQ(out.object["spec"]["template"]["spec"]["containers"].size(), 1u);
}

TEST_F(MutationTest, JobLevelOddities) {
  const Json argo = load("argo");
  Outcome out = job(argo["job"]);
  EXPECT_NE(out.answer.warnings.at(0).find("pod level"), std::string::npos);
  Json parts = load("random");
  parts["trial"]["spec"]["primaryContainerName"] = "missing";
  cluster_.put(parts["trial"]);
  out = job(parts["job"]);
  EXPECT_EQ(out.answer.patch, "");
  EXPECT_EQ(out.answer.warnings.size(), 1u);
  parts = load("random");
  parts["job"]["apiVersion"] = "batch.volcano.sh/v1alpha1";
  out = job(parts["job"]);
  EXPECT_EQ(out.answer.patch, "");
  EXPECT_NE(out.answer.warnings.at(0).find("pod level"), std::string::npos) << "a Job, but not of batch";
  const Json push = load("push");
  out = job(push["job"]);
  EXPECT_EQ(out.object["spec"]["template"]["spec"]["containers"].size(), 1u);
  EXPECT_EQ(out.object["spec"]["template"]["metadata"]["labels"]["katib.kubeflow.org/trial"], "push-x1");
}

}  // namespace
}  // namespace tacho
