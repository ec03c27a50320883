// What is injected for each kind of collector.
#include "kube/webhook/mutation_test_support.h"

namespace tacho {
namespace {

TEST_F(MutationTest, StdOutWithPlainWords) {
  const Json parts = load("random");
  const Outcome out = pod(parts["pod"]);
  EXPECT_STREQ(out.answer.result, "injected");
  EXPECT_TRUE(out.answer.warnings.empty()) << out.answer.warnings[0];
  const Json& sidecar = container(out.object, kLogger);
  EXPECT_EQ(args(sidecar),
            Words({"-t", "random-x1", "-m", "Validation-accuracy;Train-accuracy", "-o-type", "maximize", "-s-db",
                   "katib-db-manager.kubeflow:6789", "-path", "/var/log/katib/metrics.log", "-format", "TEXT", "--kind",
                   "StdOut", "--profile", "tacho", "--attempts", "replace"}));
  EXPECT_EQ(sidecar["image"], "example.test/tacho-katib:1");
  EXPECT_EQ(sidecar["imagePullPolicy"], "IfNotPresent");
  EXPECT_EQ(sidecar["resources"], Json::parse(R"({"requests":{"cpu":"50m","memory":"10Mi","ephemeral-storage":"500Mi"},
    "limits":{"cpu":"500m","memory":"100Mi","ephemeral-storage":"5Gi"}})"));
  EXPECT_FALSE(sidecar.contains("command"));
  EXPECT_FALSE(sidecar.contains("securityContext"));
  EXPECT_EQ(sidecar["volumeMounts"], Json::parse(R"([{"name":"metrics-volume","mountPath":"/var/log/katib"}])"));

  const Json& trainer = container(out.object, "training-container");
  Words expected = {"/tacho/exec",
                    "--dir",
                    "/var/log/katib",
                    "--file",
                    "/var/log/katib/metrics.log",
                    "--note",
                    "echo completed > /var/log/katib",
                    "--"};
  for (const Json& word : parts["pod"]["spec"]["containers"][0]["command"]) expected.push_back(word);
  EXPECT_EQ(command(trainer), expected);
  EXPECT_EQ(
      trainer["env"],
      Json::parse(
          R"([{"name":"KATIB_TRIAL_NAME","valueFrom":{"fieldRef":{"fieldPath":"metadata.labels['katib.kubeflow.org/trial']"}}}])"));
  EXPECT_EQ(trainer["futureField"], parts["pod"]["spec"]["containers"][0]["futureField"]) << "unknown fields survive";
  EXPECT_EQ(
      trainer["volumeMounts"],
      Json::parse(
          R"([{"name":"metrics-volume","mountPath":"/var/log/katib"},{"name":"tacho-bin","mountPath":"/tacho","readOnly":true}])"));
  EXPECT_EQ(out.object["spec"]["shareProcessNamespace"], true);
  EXPECT_EQ(out.object["spec"]["volumes"],
            Json::parse(R"([{"name":"metrics-volume","emptyDir":{}},{"name":"tacho-bin","emptyDir":{}}])"));
  const Json& installer = container(out.object, "tacho-launcher", "initContainers");
  EXPECT_EQ(command(installer), Words({"tacho-katib", "exec", "--install", "/tacho"}));
  const Json& labels = out.object["metadata"]["labels"];
  EXPECT_EQ(labels["katib.kubeflow.org/trial"], "random-x1");
  EXPECT_EQ(labels["katib.kubeflow.org/experiment"], "random");
  EXPECT_EQ(labels["team/a~b"], "x/y") << "keys are escaped in the patch";
  EXPECT_EQ(labels["job-name"], "random-x1");
  EXPECT_EQ(out.object["metadata"]["annotations"][kMark], "pod");
  for (const Json& operation : out.operations) {
    EXPECT_TRUE(operation["op"] == "add" || operation["op"] == "replace");
    EXPECT_NE(operation["path"], "/spec/containers/0") << "nothing but the change";
  }
}

TEST_F(MutationTest, FileWithFilter) {
  const Outcome out = pod(load("file_filter")["pod"]);
  const Json& sidecar = container(out.object, kLogger);
  EXPECT_EQ(args(sidecar), Words({"-t",         "file-filter-x1",
                                  "-m",         "Validation-accuracy;Train-accuracy",
                                  "-o-type",    "maximize",
                                  "-s-db",      "katib-db-manager.kubeflow:6789",
                                  "-path",      "/katib/mnist.log",
                                  "-f",         "{metricName: ([\\w|-]+), metricValue: ((-?\\d+)(\\.\\d+)?)}",
                                  "-format",    "TEXT",
                                  "-w",         "false",
                                  "--kind",     "File",
                                  "--profile",  "tacho",
                                  "--attempts", "replace"}));
  EXPECT_EQ(sidecar["imagePullPolicy"], "Always");
  EXPECT_EQ(sidecar["volumeMounts"][0]["mountPath"], "/katib");
  const Words words = command(container(out.object, "training-container"));
  EXPECT_EQ(std::count(words.begin(), words.end(), "--file"), 0) << "only StdOut is copied";
}

TEST_F(MutationTest, FileJsonKeepsCommandAndArguments) {
  const Outcome out = pod(load("file_json")["pod"]);
  EXPECT_EQ(args(container(out.object, kLogger))[11], "JSON");
  const Json& trainer = container(out.object, "training-container");
  const Words words = command(trainer);
  EXPECT_EQ(Words(words.end() - 3, words.end()), Words({"python3", "mnist.py", "--logger=hypertune"}));
  EXPECT_EQ(args(trainer), Words());
}

TEST_F(MutationTest, EarlyStopping) {
  struct Case {
    const char* name;
    const char* address;
    const char* before;
  };
  for (const Case& one : {Case{"median_stop", "median-stop-random.team:6788", "-format"},
                          Case{"median_stop_json", "median-stop-json-random.team:6788", "-w"}}) {
    const Outcome out = pod(load(one.name)["pod"]);
    const Words words = args(container(out.object, kLogger));
    const auto at = std::find(words.begin(), words.end(), "-stop-rule");
    ASSERT_GE(words.end() - at, 6) << one.name;
    EXPECT_EQ(Words(at, at + 6), Words({"-stop-rule", "Validation-accuracy;0.95;less;4", "-stop-rule",
                                        "epoch;5;equal;0", "-s-earlystop", one.address}));
    EXPECT_EQ(*(at - 2), one.before);
  }
}

TEST_F(MutationTest, EarlyStoppingWithoutSuggestion) {
  const Json parts = load("median_stop");
  cluster_.remove({kTrialVersion, "Suggestion", "team", "median-stop"});
  const Outcome out = pod(parts["pod"]);
  EXPECT_STREQ(out.answer.result, "injected");
  ASSERT_EQ(out.answer.warnings.size(), 1u);
  EXPECT_NE(out.answer.warnings[0].find("early-stopping rules"), std::string::npos);
  const Words words = args(container(out.object, kLogger));
  EXPECT_EQ(
      std::count(words.begin(), words.end(), "-stop-rule") + std::count(words.begin(), words.end(), "-s-earlystop"), 0);
}

TEST_F(MutationTest, SuggestionVolume) {
  const Outcome out = pod(load("simple_pbt")["pod"]);
  const Json& trainer = container(out.object, "training-container");
  EXPECT_EQ(
      trainer["volumeMounts"][0],
      Json::parse(
          R"({"name":"suggestion-volume","mountPath":"/var/log/katib/checkpoints/","subPath":"simple-pbt/simple-pbt-x1"})"));
  EXPECT_EQ(trainer["volumeMounts"][1]["mountPath"], "/var/log/katib");
  EXPECT_EQ(out.object["spec"]["volumes"][0],
            Json::parse(R"({"name":"suggestion-volume","persistentVolumeClaim":{"claimName":"simple-pbt-pbt"}})"));
}

TEST_F(MutationTest, CustomIsTheUsersContainer) {
  const Json parts = load("custom_collector");
  const Outcome out = pod(parts["pod"]);
  Json expected = parts["trial"]["spec"]["metricsCollector"]["collector"]["customCollector"];
  expected["volumeMounts"] = Json::parse(R"([{"name":"metrics-volume","mountPath":"/katib"}])");
  EXPECT_EQ(container(out.object, "custom-metrics-logger-and-collector"), expected);
  EXPECT_EQ(command(container(out.object, "training-container")),
            parts["pod"]["spec"]["containers"][0]["command"].get<Words>())
      << "not wrapped";
  EXPECT_FALSE(out.object["spec"].contains("initContainers"));
  EXPECT_EQ(out.object["spec"]["shareProcessNamespace"], true);
}

TEST_F(MutationTest, Prometheus) {
  const Outcome out = pod(load("prometheus")["pod"]);
  const Json& sidecar = container(out.object, "metrics-collector");
  EXPECT_EQ(args(sidecar), Words({"-t",
                                  "prometheus-x1",
                                  "-m",
                                  "Validation-accuracy;Train-accuracy",
                                  "-o-type",
                                  "maximize",
                                  "-s-db",
                                  "katib-db-manager.kubeflow:6789",
                                  "-path",
                                  "/var/log/katib",
                                  "--kind",
                                  "PrometheusMetric",
                                  "--profile",
                                  "tacho",
                                  "--attempts",
                                  "replace",
                                  "--http-path",
                                  "/prom",
                                  "--http-port",
                                  "9090",
                                  "--http-scheme",
                                  "HTTP",
                                  "--http-header",
                                  "X-Key: v"}));
  EXPECT_EQ(sidecar["volumeMounts"][0]["mountPath"], "/var/log/katib");
  EXPECT_EQ(command(container(out.object, "training-container"))[0], "/tacho/exec");
}

TEST_F(MutationTest, PushGetsItsNameOnly) {
  const Outcome out = pod(load("push")["pod"]);
  EXPECT_EQ(out.object["spec"]["containers"].size(), 1u);
  EXPECT_EQ(out.object["metadata"]["labels"]["katib.kubeflow.org/trial"], "push-x1");
  EXPECT_TRUE(out.object["spec"]["containers"][0].contains("env"));
  EXPECT_FALSE(out.object["metadata"].contains("annotations"));
}

TEST_F(MutationTest, NamesWithSemicolonsAreRepeated) {
  images_.command = ImageCommand{{"/opt/entry", "$(x)"}, {"unused"}};
  const Outcome out = pod(load("xgboostjob")["pods"]["master-0"]);
  const Words words = args(container(out.object, kLogger));
  EXPECT_EQ(Words(words.begin() + 2, words.begin() + 6), Words({"-m", "test error", "-m", "train; error"}));
  const auto filter = std::find(words.begin(), words.end(), "-f");
  EXPECT_EQ(Words(filter, filter + 4), Words({"-f", "(test error|train; error): ([0-9.]+)$", "-f", ""}));
  // No command in the pod: the image's entry point, but the pod's own arguments.
  const Words trainer = command(container(out.object, "xgboost"));
  EXPECT_EQ(Words(trainer.end() - 4, trainer.end()), Words({"--", "/opt/entry", "$$(x)", "--job_type=Train"}));
  EXPECT_EQ(images_.asked, Words({"docker.io/merlintang/xgboost-dist-iris:1.1"}));
}

TEST_F(MutationTest, UnknownCommandOfAnImage) {
  // StdOut without a wrapper: the log is read from the API server.
  Json parts = load("no_command");
  Outcome out = pod(parts["pod"]);
  EXPECT_TRUE(out.answer.allowed);
  ASSERT_EQ(out.answer.warnings.size(), 1u);
  EXPECT_LT(out.answer.warnings[0].size(), 120u);
  EXPECT_EQ(command(container(out.object, "tacho-log")),
            Words({"tacho-kube", "follow-log", "--namespace", "$(POD_NAMESPACE)", "--pod", "$(POD_NAME)", "--container",
                   "training-container", "--file", "/var/log/katib/metrics.log", "--restart", "Never"}));
  EXPECT_FALSE(container(out.object, "training-container").contains("command"));
  EXPECT_EQ(args(container(out.object, kLogger)).back(), "--no-marker=true");
  configure({{"strict", "true"}});
  EXPECT_FALSE(pod(parts["pod"]).answer.allowed);
  configure({});
  // File works without: the end of the process is the end.
  parts["trial"]["spec"]["metricsCollector"] = Json::parse(R"({"collector":{"kind":"File"}})");
  cluster_.put(parts["trial"]);
  out = pod(parts["pod"]);
  EXPECT_STREQ(out.answer.result, "injected");
  EXPECT_EQ(args(container(out.object, kLogger)).back(), "--no-marker=true");
  EXPECT_FALSE(container(out.object, "training-container").contains("command"));
  ASSERT_EQ(out.answer.warnings.size(), 1u);
  // Arguments of the image count only when the pod has none.
  images_.command = ImageCommand{{"/entry"}, {"default"}};
  parts["pod"]["spec"]["containers"][0].erase("args");
  const Words words = command(container(pod(parts["pod"]).object, "training-container"));
  EXPECT_EQ(Words(words.end() - 2, words.end()), Words({"/entry", "default"}));
}

TEST_F(MutationTest, WhatIsThereAlreadyIsShared) {
  Json object = load("random")["pod"];
  object["spec"]["containers"][0]["volumeMounts"] =
      Json::parse(R"([{"name":"mine","mountPath":"/var/log/katib/","subPath":"s"}])");
  object["spec"]["containers"][0]["env"] = Json::parse(R"([{"name":"KATIB_TRIAL_NAME","value":"own"}])");
  object["spec"]["volumes"] = Json::parse(R"([{"name":"mine","emptyDir":{}}])");
  const Outcome out = pod(object);
  EXPECT_EQ(container(out.object, kLogger)["volumeMounts"],
            Json::parse(R"([{"name":"mine","mountPath":"/var/log/katib","subPath":"s"}])"));
  EXPECT_EQ(out.object["spec"]["volumes"].size(), 2u) << "no second volume on the path, only the launcher's";
  EXPECT_EQ(container(out.object, "training-container")["env"].size(), 1u);
}

TEST_F(MutationTest, OddPodsAreAllowed) {
  const Json parts = load("random");
  Json host = parts["pod"];
  host["spec"]["hostPID"] = true;
  EXPECT_STREQ(pod(host).answer.result, "warned");
  Json trial = parts["trial"];
  trial["spec"]["metricsCollector"]["collector"]["kind"] = "Quantum";
  cluster_.put(trial);
  EXPECT_NE(pod(parts["pod"]).answer.warnings.at(0).find("Quantum"), std::string::npos);
  trial["spec"]["metricsCollector"] =
      Json::parse(R"({"collector":{"kind":"File"},"source":{"fileSystemPath":{"path":"relative.log"}}})");
  cluster_.put(trial);
  EXPECT_STREQ(pod(parts["pod"]).answer.result, "warned");
  configure({{"strict", "true"}});
  EXPECT_FALSE(pod(parts["pod"]).answer.allowed);
}

TEST_F(MutationTest, KindsInAnyCaseAndSpelling) {
  Json parts = load("random");
  parts["trial"]["spec"]["metricsCollector"]["collector"]["kind"] = "stdOutCollector";
  cluster_.put(parts["trial"]);
  EXPECT_FALSE(container(pod(parts["pod"]).object, kLogger).is_null());
  parts["trial"]["spec"]["metricsCollector"]["collector"]["kind"] = "None";
  cluster_.put(parts["trial"]);
  EXPECT_EQ(pod(parts["pod"]).object["spec"]["containers"].size(), 1u);
}

}  // namespace
}  // namespace tacho
