#include "kube/mutation_test_support.h"

namespace tacho {
namespace {

constexpr const char* kLogger = "metrics-logger-and-collector";

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

TEST_F(MutationTest, ShellForm) {
  configure({{"wrap", "shell"}});
  const Outcome out = pod(load("shell_script")["pod"]);
  const Json& trainer = container(out.object, "training-container");
  EXPECT_EQ(command(trainer), Words({"/bin/bash", "-euo", "pipefail", "-c"}));
  ASSERT_EQ(args(trainer).size(), 1u);
  EXPECT_NE(args(trainer)[0].find("echo \"a $$HOME $(LR)\"\npython3 train.py # go\n"), std::string::npos);
  EXPECT_FALSE(out.object["spec"].contains("initContainers"));
}

TEST_F(MutationTest, OnlyPrimaryPodsOfAJob) {
  const Json parts = load("pytorchjob");
  const Outcome master = pod(parts["pods"]["master-0"]);
  EXPECT_FALSE(container(master.object, kLogger).is_null());
  const Words words = args(container(master.object, kLogger));
  EXPECT_EQ(words.back(), "replace");
  const Outcome worker = pod(parts["pods"]["worker-0"]);
  EXPECT_EQ(worker.object["spec"]["containers"].size(), 1u);
  EXPECT_EQ(worker.object["metadata"]["labels"]["katib.kubeflow.org/trial"], "pytorchjob-x1")
      << "labels and name go to every pod of the job";
  EXPECT_TRUE(worker.object["spec"]["containers"][0].contains("env"));
}

TEST_F(MutationTest, SeveralPrimaryPods) {
  const Json parts = load("tfjob");
  Outcome out = pod(parts["pods"]["worker-1"]);
  Words words = args(container(out.object, "metrics-collector"));
  EXPECT_EQ(std::count(words.begin(), words.end(), "--attempts"), 0) << "another pod's rows would be deleted";
  ASSERT_EQ(out.answer.warnings.size(), 1u);
  EXPECT_NE(out.answer.warnings[0].find("2 pods"), std::string::npos);
  EXPECT_EQ(words[9], "/train");
  configure({{"multiple", "first"}});
  out = pod(parts["pods"]["worker-1"]);
  words = args(container(out.object, "metrics-collector"));
  EXPECT_EQ(Words(words.end() - 2, words.end()), Words({"--active-when", "TACHO_REPLICA_INDEX=0"}));
  EXPECT_EQ(
      container(out.object, "metrics-collector")["env"][0],
      Json::parse(
          R"({"name":"TACHO_REPLICA_INDEX","valueFrom":{"fieldRef":{"fieldPath":"metadata.labels['training.kubeflow.org/replica-index']"}}})"));
}

TEST_F(MutationTest, WorkersWithoutThePrimaryContainerAreLeftAlone) {
  const Json parts = load("mpijob");
  EXPECT_EQ(pod(parts["pods"]["worker-0"]).answer.patch, "");
  EXPECT_TRUE(pod(parts["pods"]["worker-0"]).answer.warnings.empty());
  const Words words = command(container(pod(parts["pods"]["launcher"]).object, "mpi-launcher"));
  EXPECT_EQ(Words(words.end() - 7, words.end()),
            Words({"mpirun", "-np", "2", "--allow-run-as-root", "python", "-u", "train.py"}));
}

TEST_F(MutationTest, LongChains) {
  const Json parts = load("trainjob");
  const Outcome first = pod(parts["pods"]["node-0"]);
  EXPECT_EQ(args(container(first.object, kLogger))[1], "trainjob-x1") << "four owners deep";
  EXPECT_EQ(args(container(first.object, kLogger)).back(), "replace");
  EXPECT_TRUE(container(pod(parts["pods"]["node-1"]).object, kLogger).is_null());
  const Json argo = load("argo");
  EXPECT_FALSE(container(pod(argo["pods"]["train"]).object, kLogger).is_null());
  EXPECT_TRUE(container(pod(argo["pods"]["data"]).object, kLogger).is_null());
  EXPECT_FALSE(container(pod(load("tekton")["pods"]["train"]).object, kLogger).is_null());
  const Outcome bare = pod(load("bare_pod")["pod"]);
  EXPECT_EQ(args(container(bare.object, kLogger))[1], "pod-x1");
}

TEST_F(MutationTest, NotOurs) {
  const Json parts = load("random");
  Json stranger = parts["pod"];
  stranger["metadata"].erase("ownerReferences");
  EXPECT_STREQ(pod(stranger).answer.result, "unchanged");
  // Owners in a circle.
  Json a = parts["job"], b = parts["job"];
  a["metadata"] = Json::parse(
      R"({"name":"a","namespace":"team","uid":"ua","ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"b","uid":"ub"}]})");
  b["metadata"] = Json::parse(
      R"({"name":"b","namespace":"team","uid":"ub","ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"a","uid":"ua"}]})");
  cluster_.put(a), cluster_.put(b);
  Json ring = parts["pod"];
  ring["metadata"]["ownerReferences"] =
      Json::parse(R"([{"apiVersion":"batch/v1","kind":"Job","name":"a","uid":"ua"}])");
  cluster_.lookups = 0;
  EXPECT_EQ(pod(ring).answer.patch, "");
  EXPECT_LT(cluster_.lookups, 10);
  // An owner that is gone, and another of the same name.
  Json orphan = parts["pod"];
  orphan["metadata"]["ownerReferences"][0]["name"] = "gone";
  EXPECT_STREQ(pod(orphan).answer.result, "unchanged");
  Json other = parts["pod"];
  other["metadata"]["ownerReferences"][0]["uid"] = "another";
  EXPECT_STREQ(pod(other).answer.result, "unchanged");
}

TEST_F(MutationTest, APodMayOptOut) {
  Json parts = load("random");
  parts["pod"]["metadata"]["labels"][kNamespaceLabel] = "disabled";
  EXPECT_STREQ(pod(parts["pod"]).answer.result, "unchanged");
  parts["job"]["spec"]["template"]["metadata"]["labels"][kNamespaceLabel] = "disabled";
  EXPECT_EQ(job(parts["job"]).object["spec"]["template"]["spec"]["containers"].size(), 1u);
}

TEST_F(MutationTest, DeepChainsEnd) {
  Json pod_object = load("random")["pod"];
  for (int i = 0; i < 40; i++) {
    Json job = Json::parse(R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"namespace":"team"}})");
    job["metadata"]["name"] = std::string("j") + std::to_string(i);
    job["metadata"]["uid"] = std::string("u") + std::to_string(i);
    job["metadata"]["ownerReferences"] = Json::array({{{"apiVersion", "batch/v1"},
                                                       {"kind", "Job"},
                                                       {"name", std::string("j") + std::to_string(i + 1)},
                                                       {"uid", std::string("u") + std::to_string(i + 1)}}});
    cluster_.put(job);
  }
  pod_object["metadata"]["ownerReferences"][0] = {
      {"apiVersion", "batch/v1"}, {"kind", "Job"}, {"name", "j0"}, {"uid", "u0"}};
  cluster_.lookups = 0;
  EXPECT_EQ(pod(pod_object).answer.patch, "");
  EXPECT_LT(cluster_.lookups, 14);
}

TEST_F(MutationTest, TrialGoneOrUnreadable) {
  const Json parts = load("random");
  cluster_.remove({kTrialVersion, "Trial", "team", "random-x1"});
  Outcome out = pod(parts["pod"]);
  EXPECT_TRUE(out.answer.allowed);
  EXPECT_EQ(out.answer.patch, "");
  EXPECT_STREQ(out.answer.result, "warned");
  EXPECT_NE(out.answer.warnings.at(0).find("is gone"), std::string::npos);
  cluster_.failing_kinds = {"Trial"};
  out = pod(parts["pod"]);
  EXPECT_TRUE(out.answer.allowed);
  EXPECT_NE(out.answer.warnings.at(0).find("503"), std::string::npos);
  cluster_.failing_kinds = {"Job"};
  EXPECT_STREQ(pod(parts["pod"]).answer.result, "warned");
  configure({{"deadlinePolicy", "refuse"}});
  out = pod(parts["pod"]);
  EXPECT_FALSE(out.answer.allowed);
  EXPECT_STREQ(out.answer.result, "refused");
  // Kinds that no Trial makes are none of ours, readable or not.
  cluster_.failing_kinds = {"CronJob"};
  Json foreign = parts["pod"];
  foreign["metadata"]["ownerReferences"][0]["kind"] = "CronJob";
  EXPECT_STREQ(pod(foreign).answer.result, "unchanged");
}

// The labels as they came decide; those that the first pass added must not make the second one inject.
TEST_F(MutationTest, LabelsOfTheTrialMakeNoPodPrimary) {
  Json parts = load("random");
  parts["trial"]["spec"]["primaryPodLabels"] = {{"katib.kubeflow.org/trial", parts["trial"]["metadata"]["name"]}};
  cluster_.put(parts["trial"]);
  const Outcome first = pod(parts["pod"]);
  EXPECT_EQ(first.object["spec"]["containers"].size(), parts["pod"]["spec"]["containers"].size());
  EXPECT_NE(first.answer.patch, "");
  EXPECT_EQ(pod(first.object).answer.patch, "");
}

TEST_F(MutationTest, AJobOfAnotherNameIsKnownByItsReference) {
  const Json parts = load("bare_pod");
  Json object = parts["pod"];
  object["metadata"]["name"] = "quite-different";
  const Outcome out = pod(object);
  EXPECT_STREQ(out.answer.result, "injected");
  EXPECT_EQ(out.object["metadata"]["labels"]["katib.kubeflow.org/trial"], parts["trial"]["metadata"]["name"]);
}

TEST_F(MutationTest, AnythingButTheCreationOfAPodIsAllowed) {
  const Json parts = load("random");
  for (const char* operation : {"UPDATE", "DELETE", "CONNECT", ""}) {
    Review review = review_of(parts["pod"], "pods");
    review.operation = operation;
    EXPECT_STREQ(mutation_.pod(review, 0).result, "unchanged");
  }
  Review review = review_of(parts["pod"], "pods");
  review.sub_resource = "status";
  EXPECT_EQ(mutation_.pod(review, 0).patch, "");
  review = review_of(parts["pod"], "pods");
  review.resource_group = "metrics.k8s.io";
  EXPECT_EQ(mutation_.pod(review, 0).patch, "");
  review = review_of(Json(), "pods");
  EXPECT_EQ(mutation_.pod(review, 0).patch, "");
  EXPECT_EQ(mutation_.job(review, 0).patch, "");
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

TEST_F(MutationTest, InjectedByAnotherHook) {
  Json object = load("random")["pod"];
  object["metadata"]["annotations"][kMark] = "job";
  Outcome out = pod(object);
  EXPECT_EQ(out.object["spec"]["containers"].size(), 1u);
  EXPECT_EQ(out.object["metadata"]["labels"]["katib.kubeflow.org/trial"], "random-x1")
      << "steps 1 and 2, where they are missing";
  object["metadata"].erase("annotations");
  object["spec"]["containers"].push_back({{"name", kLogger}, {"image", "stock"}});
  out = pod(object);
  EXPECT_EQ(out.object["spec"]["containers"].size(), 2u) << "a collector of somebody else";
}

TEST_F(MutationTest, SecurityContext) {
  Json config = kube_fixture("katib_config.json");
  std::string yaml = config["data"]["katib-config.yaml"];
  yaml.replace(yaml.find("    trialResources"), 0, "    injectSecurityContext: true\n");
  config["data"]["katib-config.yaml"] = yaml;
  cluster_.put(config);
  Json object = load("random")["pod"];
  object["spec"]["containers"][0]["securityContext"] =
      Json::parse(R"({"runAsUser":1000,"runAsGroup":2000,"allowPrivilegeEscalation":false})");
  EXPECT_EQ(container(pod(object).object, kLogger)["securityContext"],
            object["spec"]["containers"][0]["securityContext"]);
  object["spec"]["containers"].insert(
      object["spec"]["containers"].begin(),
      Json::parse(R"({"name":"first","securityContext":{"runAsUser":1,"privileged":false}})"));
  EXPECT_EQ(container(pod(object).object, kLogger)["securityContext"],
            Json::parse(R"({"runAsUser":1000,"privileged":false,"runAsGroup":2000,"allowPrivilegeEscalation":false})"))
      << "the first one's, but the trainer's user, and nothing that the trainer gives up";
}

TEST_F(MutationTest, NativeSidecar) {
  configure({{"sidecarMode", "native"}});
  Json object = load("random")["pod"];
  object["spec"]["initContainers"] = Json::parse(R"([{"name":"users"}])");
  object["spec"]["terminationGracePeriodSeconds"] = 30;
  Outcome out = pod(object);
  const Json& list = out.object["spec"]["initContainers"];
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0]["name"], "users");
  EXPECT_EQ(list[2]["name"], kLogger);
  EXPECT_EQ(list[2]["restartPolicy"], "Always");
  EXPECT_EQ(list[2]["env"], Json::parse(R"([{"name":"TACHO_SIDECAR","value":"native"}])"));
  EXPECT_EQ(list[2]["startupProbe"]["exec"]["command"], Json::parse(R"(["tacho-katib","collect","--ready"])"));
  EXPECT_EQ(out.object["spec"]["terminationGracePeriodSeconds"], 120);
  EXPECT_EQ(out.object["spec"]["containers"].size(), 1u);
  object["spec"]["terminationGracePeriodSeconds"] = 600;
  EXPECT_EQ(pod(object).object["spec"]["terminationGracePeriodSeconds"], 600);
  cluster_.minor = 28;
  out = pod(object);
  EXPECT_EQ(out.object["spec"]["containers"].size(), 2u);
  EXPECT_EQ(out.answer.warnings.size(), 1u);
  configure({{"sidecarMode", "auto"}});
  EXPECT_EQ(pod(object).object["spec"]["containers"].size(), 2u);
  cluster_.minor = 33;
  EXPECT_EQ(pod(object).object["spec"]["containers"].size(), 1u);
  EXPECT_EQ(pod(load("custom_collector")["pod"]).object["spec"]["containers"].size(), 2u) << "Custom stays a container";
}

// Without a launcher there is no volume for it, and the probe asks the collector itself.
TEST_F(MutationTest, NativeSidecarWithoutALauncher) {
  for (const bool shell : {true, false}) {
    configure(shell ? std::map<std::string, std::string>{{"sidecarMode", "native"}, {"wrap", "shell"}}
                    : std::map<std::string, std::string>{{"sidecarMode", "native"}});
    Json object = load("random")["pod"];
    if (!shell) object["spec"]["containers"][0].erase("command");  // and nobody knows the image's
    if (!shell) object["spec"]["containers"][0].erase("args");
    const Outcome out = pod(object);
    const Json& sidecar = container(out.object, kLogger, "initContainers");
    ASSERT_FALSE(sidecar.is_null());
    EXPECT_EQ(sidecar["volumeMounts"], Json::parse(R"([{"name":"metrics-volume","mountPath":"/var/log/katib"}])"));
    EXPECT_EQ(sidecar["env"], Json::parse(R"([{"name":"TACHO_SIDECAR","value":"native"},
      {"name":"TACHO_READY_FILE","value":"/dev/shm/tacho-collector-ready"}])"));
    EXPECT_EQ(sidecar["startupProbe"]["exec"]["command"], Json::parse(R"(["tacho-katib","collect","--ready"])"));
    EXPECT_EQ(out.object["spec"]["initContainers"].size(), 1u) << "nothing is installed";
  }
  configure({{"sidecarMode", "native"}, {"profile", "none"}, {"wrap", "shell"}});
  const Outcome out = pod(load("random")["pod"]);
  EXPECT_FALSE(container(out.object, kLogger, "initContainers").contains("startupProbe")) << "another image has no such command";
}

// A namespace with Pod Security "restricted" refuses the pod for any container that keeps rights.
TEST_F(MutationTest, OurContainersKeepNoMoreRightsThanTheTrainer) {
  const char* const restricted =
      R"({"runAsNonRoot":true,"runAsUser":1000,"readOnlyRootFilesystem":true,"allowPrivilegeEscalation":false,
          "capabilities":{"drop":["ALL"],"add":["NET_BIND_SERVICE"]},"seccompProfile":{"type":"Localhost","localhostProfile":"p"},"privileged":false})";
  Json object = load("random")["pod"];
  object["spec"]["containers"][0]["securityContext"] = Json::parse(restricted);
  const Outcome out = pod(object);
  for (const auto& [name, list] : {std::pair{kLogger, "containers"}, std::pair{"tacho-launcher", "initContainers"}}) {
    const Json context = container(out.object, name, list)["securityContext"];
    EXPECT_EQ(context["allowPrivilegeEscalation"], false) << name;
    EXPECT_EQ(context["runAsNonRoot"], true) << name;
    EXPECT_EQ(context["runAsUser"], 1000) << "both write the marker";
    EXPECT_EQ(context["readOnlyRootFilesystem"], true) << name;
    EXPECT_EQ(context["capabilities"], Json::parse(R"({"drop":["ALL"]})")) << name;
    EXPECT_EQ(context["seccompProfile"], Json::parse(R"({"type":"RuntimeDefault"})")) << "not one of the trainer's own";
    EXPECT_FALSE(context.contains("privileged")) << name;
  }
  object["spec"]["containers"][0]["securityContext"] = Json::parse(R"({"privileged":true,"runAsUser":0})");
  EXPECT_FALSE(container(pod(object).object, kLogger).contains("securityContext")) << "rights are not copied";
}

TEST_F(MutationTest, OwnersAreLookedAtWithinBounds) {
  Json object = load("random")["pod"];
  const Json real = object["metadata"]["ownerReferences"][0];
  Json owners = Json::array();
  for (int i = 0; i < 400; i++)
    owners.push_back({{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"name", "none-" + std::to_string(i)}, {"uid", "u" + std::to_string(i)}});
  object["metadata"]["ownerReferences"] = owners;
  pod(object);  // settings
  const int before = cluster_.lookups;
  const Outcome out = pod(object);
  EXPECT_TRUE(out.answer.allowed);
  EXPECT_LE(cluster_.lookups - before, 20) << "one review made 400";
  ASSERT_EQ(out.answer.warnings.size(), 1u) << "and it is said";
  object["metadata"]["ownerReferences"] = Json::array({owners[0], owners[1], real});
  EXPECT_STREQ(pod(object).answer.result, "injected");
  // A tree of owners: as many branches on each step.
  for (int i = 0; i < 40; i++) {
    Json job = {{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"metadata", {{"name", "none-" + std::to_string(i)}, {"namespace", "team"}, {"uid", "u" + std::to_string(i)}}}};
    for (int k = 0; k < 10; k++) job["metadata"]["ownerReferences"].push_back(owners[static_cast<size_t>(i * 10 + k) % 400]);
    cluster_.put(job);
  }
  object["metadata"]["ownerReferences"] = owners;
  const int again = cluster_.lookups;
  EXPECT_TRUE(pod(object).answer.allowed);
  EXPECT_LE(cluster_.lookups - again, 20);
}

TEST_F(MutationTest, RemovedSettingsAreTheDefaultsAgain) {
  const Json parts = load("random");
  configure({{"wrap", "shell"}, {"strict", "true"}});
  EXPECT_EQ(command(container(pod(parts["pod"]).object, "training-container"))[0], "sh");
  cluster_.failing_kinds = {"ConfigMap"};
  EXPECT_EQ(command(container(pod(parts["pod"]).object, "training-container"))[0], "sh") << "nobody can say: as before";
  cluster_.failing_kinds.clear();
  cluster_.remove({"v1", "ConfigMap", "kubeflow", "tacho-config"});
  EXPECT_EQ(command(container(pod(parts["pod"]).object, "training-container"))[0], "/tacho/exec");
  configure({{"wrap", "shell"}});
  EXPECT_EQ(command(container(pod(parts["pod"]).object, "training-container"))[0], "sh") << "and back";
}

TEST_F(MutationTest, NamesThatNoLabelCanHold) {
  Json parts = load("random");
  const std::string name(64, 'a');
  parts["trial"]["metadata"]["name"] = name;
  cluster_.put(parts["trial"]);
  parts["pod"]["metadata"]["ownerReferences"] = Json::array({{{"apiVersion", kTrialVersion}, {"kind", "Trial"}, {"name", name}, {"uid", "u"}}});
  const Outcome out = pod(parts["pod"]);
  EXPECT_TRUE(out.answer.allowed);
  EXPECT_EQ(out.answer.patch, "") << "the API server would refuse it";
  EXPECT_EQ(out.answer.warnings.size(), 1u);
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

TEST_F(MutationTest, AnotherCollectorsImage) {
  configure({{"profile", "none"}, {"disableIstio", "true"}, {"launcherImage", "example.test/launcher:2"}});
  const Outcome out = pod(load("random")["pod"]);
  EXPECT_EQ(args(container(out.object, kLogger)).back(), "TEXT") << "nothing of tacho's own";
  EXPECT_EQ(out.object["metadata"]["annotations"]["sidecar.istio.io/inject"], "false");
  EXPECT_EQ(container(out.object, "tacho-launcher", "initContainers")["image"], "example.test/launcher:2");
}

TEST_F(MutationTest, BadSettingsKeepTheGoodOnes) {
  const Json parts = load("random");
  configure({{"wrap", "shell"}});
  EXPECT_EQ(command(container(pod(parts["pod"]).object, "training-container"))[0], "sh");
  configure({{"wrap", "magic"}});
  EXPECT_EQ(command(container(pod(parts["pod"]).object, "training-container"))[0], "sh");
  Json config = kube_fixture("katib_config.json");
  config["data"]["katib-config.yaml"] = "runtime: [";
  cluster_.put(config);
  EXPECT_STREQ(pod(parts["pod"]).answer.result, "injected");
  cluster_.remove({"v1", "ConfigMap", "kubeflow", "katib-config"});
  EXPECT_STREQ(pod(parts["pod"]).answer.result, "injected");
}

}  // namespace
}  // namespace tacho
