// Shapes of Katib's own examples that differ in their words only, and pods in whose way something stands.
#include "kube/webhook/mutation_test_support.h"

namespace tacho {
namespace {

// Behind the launcher's own words: what the trainer is started with.
std::vector<std::string> behind_launcher(const std::vector<std::string>& command) {
  const auto end = std::find(command.begin(), command.end(), "--");
  return end == command.end() ? std::vector<std::string>() : std::vector<std::string>(end + 1, command.end());
}

TEST_F(MutationTest, WordsOfEveryShapeStayAsTheyAre) {
  for (const char* name : {"nas_darts", "fpga", "config_map_template", "median_stop_json"}) {
    const Json parts = load(name);
    const Json& before = parts["pod"]["spec"]["containers"][0];
    Words expected = command(before);
    for (const std::string& word : args(before)) expected.push_back(word);
    for (const bool pod_level : {true, false}) {
      label(pod_level ? "enabled" : "");
      const Outcome out = run(pod_level ? parts["pod"] : parts["job"], pod_level);
      const Json& now = pod_level ? out.object : out.object["spec"]["template"];
      const Json& trainer = container(now, "training-container");
      EXPECT_EQ(behind_launcher(command(trainer)), expected) << name;
      EXPECT_TRUE(args(trainer).empty()) << name;
      EXPECT_EQ(now["spec"]["containers"].size(), 2u) << name;
      EXPECT_EQ(trainer.value("resources", Json()), before.value("resources", Json())) << name;
    }
  }
}

TEST_F(MutationTest, ValuesThatAreTextsAreFiltered) {
  const Words words = args(container(pod(load("nas_darts")["pod"]).object, "metrics-logger-and-collector"));
  const auto filter = std::find(words.begin(), words.end(), "-f");
  ASSERT_NE(filter, words.end());
  EXPECT_EQ(*(filter + 1), "([\\w-]+)=(Genotype.*)");
}

TEST_F(MutationTest, WhatStandsInTheWayIsNotBroken) {
  const Json good = load("random")["pod"];
  Json volume = good, tools = good, init = good, folder = good, below = good, named = good;
  volume["spec"]["volumes"] = Json::parse(R"([{"name":"metrics-volume","configMap":{"name":"c"}}])");
  tools["spec"]["volumes"] = Json::parse(R"([{"name":"tacho-bin","secret":{"secretName":"s"}}])");
  init["spec"]["initContainers"] = Json::parse(R"([{"name":"tacho-launcher","image":"x"}])");
  folder["spec"]["volumes"] = Json::parse(R"([{"name":"own","emptyDir":{}}])");
  folder["spec"]["containers"][0]["volumeMounts"] = Json::parse(R"([{"name":"own","mountPath":"/tacho/"}])");
  below["spec"]["containers"][0]["volumeMounts"] = Json::parse(R"([{"name":"own","mountPath":"/tacho/data"}])");
  named["spec"]["containers"][0]["volumeMounts"] =
      Json::parse(R"x([{"name":"own","mountPath":"/var/log/katib","subPathExpr":"$(POD)"}])x");
  for (const Json& odd : {volume, tools, init, folder, below, named}) {
    const Outcome out = pod(odd);
    EXPECT_TRUE(out.answer.allowed);
    EXPECT_EQ(out.answer.patch, "");
    EXPECT_EQ(out.answer.warnings.size(), 1u);
  }
  volume["spec"]["volumes"] = Json::parse(R"([{"name":"metrics-volume","emptyDir":{}}])");
  EXPECT_EQ(pod(volume).object["spec"]["volumes"].size(), 2u) << "one of the same kind serves";
}

TEST_F(MutationTest, APathWhereTheLauncherIs) {
  Json parts = load("file_filter");
  for (const char* path : {"/tacho/m.log", "/tacho/deep/m.log"}) {
    parts["trial"]["spec"]["metricsCollector"]["source"]["fileSystemPath"]["path"] = path;
    cluster_.put(parts["trial"]);
    const Outcome out = pod(parts["pod"]);
    EXPECT_EQ(out.answer.patch, "") << path;
    EXPECT_EQ(out.answer.warnings.size(), 1u) << path;
  }
  parts["trial"]["spec"]["metricsCollector"]["source"]["fileSystemPath"]["path"] = "/tachograph/m.log";
  cluster_.put(parts["trial"]);
  EXPECT_NE(pod(parts["pod"]).answer.patch, "");
}

TEST_F(MutationTest, WarningsConcernTheTrial) {
  Json parts = load("random");
  cluster_.remove({kTrialVersion, "Suggestion", "team", "random"});
  Outcome out = pod(parts["pod"]);
  EXPECT_EQ(out.answer.about.kind, "Trial");
  EXPECT_EQ(out.answer.about.uid, "uid-trial-random-x1");
  EXPECT_EQ(out.answer.about.ns, "team");
  cluster_.remove({kTrialVersion, "Trial", "team", "random-x1"});
  out = pod(parts["pod"]);
  EXPECT_EQ(out.answer.about.kind, "Job");
  EXPECT_EQ(out.answer.about.uid, "uid-job-random-x1") << "the Trial is gone: its job";
}

}  // namespace
}  // namespace tacho
