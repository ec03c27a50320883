#include "kube/api/katib_config.h"

#include <gtest/gtest.h>

namespace tacho {
namespace {

TEST(KatibConfig, Defaults) {
  const Result<KatibConfig> config = parse_katib_config(
      "apiVersion: config.kubeflow.org/v1beta1\nkind: KatibConfig\nruntime:\n  metricsCollectors:\n    - kind: "
      "StdOut\n      image: a\n");
  ASSERT_TRUE(config) << config.error().message();
  const CollectorConfig& one = config->collectors.at("StdOut");
  EXPECT_EQ(one.image, "a");
  EXPECT_EQ(one.pull_policy, "IfNotPresent");
  EXPECT_EQ(one.requests, Quantities({{"cpu", "50m"}, {"memory", "10Mi"}, {"ephemeral-storage", "500Mi"}}));
  EXPECT_EQ(one.limits, Quantities({{"cpu", "500m"}, {"memory", "100Mi"}, {"ephemeral-storage", "5Gi"}}));
  EXPECT_FALSE(one.wait_all_processes);
  EXPECT_EQ(config->webhook_port, 8443);
  EXPECT_EQ(config->metrics_address, ":8080");
  EXPECT_EQ(config->healthz_address, ":18080");
  EXPECT_EQ(config->trial_resources, std::vector<std::string>({"Job.v1.batch"}));
  EXPECT_FALSE(config->inject_security_context || config->enable_leader_election || config->certificates_enabled);
  EXPECT_EQ(config->leader_election_id, "3fbc96e9.katib.kubeflow.org");
  EXPECT_EQ(config->webhook_service, "katib-controller");
  EXPECT_EQ(config->webhook_secret, "katib-webhook-cert");
}

TEST(KatibConfig, EveryField) {
  const Result<KatibConfig> config = parse_katib_config(R"(
init:
  controller:
    webhookPort: 9443
    metricsAddr: :1
    healthzAddr: :2
    trialResources: [Job.v1.batch, TFJob.v1.kubeflow.org]
    injectSecurityContext: true
    enableLeaderElection: true
    leaderElectionID: x
  certGenerator:
    webhookServiceName: svc
runtime:
  metricsCollectors:
    - kind: File
      image: first
    - kind: File
      image: last
      imagePullPolicy: Sometimes
      waitAllProcesses: false
      resources:
        requests: {cpu: -1, example.com/gpu: 1}
        limits: {memory: 1Gi, ephemeral-storage: -5Gi}
    - kind: TensorFlowEvent
      image: tf
      imagePullPolicy: Never
    - kind: Unheard
      image: x
)");
  ASSERT_TRUE(config) << config.error().message();
  const CollectorConfig& file = config->collectors.at("File");
  EXPECT_EQ(file.image, "last") << "the last entry of a kind wins";
  EXPECT_EQ(file.pull_policy, "IfNotPresent") << "an unknown value too";
  EXPECT_EQ(file.wait_all_processes, false);
  EXPECT_EQ(file.requests, Quantities({{"memory", "10Mi"}, {"ephemeral-storage", "500Mi"}, {"example.com/gpu", "1"}}))
      << "a negative one removes the entry";
  EXPECT_EQ(file.limits, Quantities({{"cpu", "500m"}, {"memory", "1Gi"}}));
  EXPECT_EQ(config->collectors.at("TensorFlowEvent").pull_policy, "Never");
  EXPECT_EQ(config->webhook_port, 9443);
  EXPECT_EQ(config->trial_resources.size(), 2u);
  EXPECT_TRUE(config->inject_security_context && config->enable_leader_election);
  EXPECT_EQ(config->leader_election_id, "x");
  EXPECT_TRUE(config->certificates_enabled) << "setting a name enables it";
  EXPECT_EQ(config->webhook_service, "svc");
}

TEST(KatibConfig, RefusesWhatMakesNoSense) {
  for (const char* yaml :
       {"", "[", "- a", "kind: Other", "apiVersion: v2", "runtime: {metricsCollectors: [{kind: StdOut}]}",
        "runtime: {metricsCollectors: [{image: x}]}", "runtime: {metricsCollectors: [{kind: StdOut, image: '  '}]}",
        "runtime: {metricsCollectors: [5]}", "init: {controller: {webhookPort: 70000}}",
        "init: {controller: {trialResources: [Job]}}",
        "runtime: {metricsCollectors: [{kind: File, image: x, waitAllProcesses: perhaps}]}"})
    EXPECT_FALSE(parse_katib_config(yaml)) << yaml;
  std::string deep;
  for (int i = 0; i < 20'000; i++) deep += "[";
  EXPECT_FALSE(parse_katib_config(deep));
}

// The collector and the webhook each had a list; one of them lacked tensorFlowEventCollector.
TEST(KatibConfig, EveryKindInEverySpelling) {
  for (const CollectorKind& kind : collector_kinds()) {
    std::vector<std::string> words{std::string(kind.name)};
    for (const std::string_view spelling : kind.spellings)
      if (!spelling.empty()) words.emplace_back(spelling);
    for (const std::string& word : words) {
      const auto config = parse_katib_config("runtime: {metricsCollectors: [{kind: " + word + ", image: x}]}");
      ASSERT_TRUE(config) << word;
      EXPECT_TRUE(config->collectors.contains(kind.name)) << word;
    }
  }
}

TEST(TachoConfig, EverySettingAndNoOther) {
  const Result<TachoConfig> config = parse_tacho_config({{"sidecarMode", "auto"},
                                                         {"wrap", "shell\n"},
                                                         {"profile", "drop-in"},
                                                         {"multiple", "first"},
                                                         {"strict", "true"},
                                                         {"twoStage", "yes"},
                                                         {"deadlinePolicy", "refuse"},
                                                         {"disableIstio", "true"},
                                                         {"launcherImage", "i"}});
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->sidecar_mode, SidecarMode::automatic);
  EXPECT_EQ(config->wrap, WrapForm::shell);
  EXPECT_TRUE(config->multiple_first && config->strict && config->two_stage && config->refuse_late && config->no_istio);
  for (const auto& [key, value] : std::map<std::string, std::string>{{"sidecarMode", "x"},
                                                                     {"wrap", ""},
                                                                     {"profile", "x"},
                                                                     {"multiple", "x"},
                                                                     {"strict", "x"},
                                                                     {"unknown", "x"}}) {
    const Result<TachoConfig> bad = parse_tacho_config({{key, value}});
    ASSERT_FALSE(bad) << key;
    EXPECT_NE(bad.error().message().find(key), std::string::npos);
  }
}

TEST(TachoConfig, AsOneYamlText) {
  const Result<TachoConfig> config =
      parse_tacho_config({{"tacho-config.yaml", "wrap: shell  # a comment\nstrict: true\nmultiple: first\n"}});
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->wrap, WrapForm::shell);
  EXPECT_TRUE(config->strict && config->multiple_first);
  EXPECT_TRUE(parse_tacho_config({{"tacho-config.yaml", ""}}));
  for (const char* bad : {"[", "- a", "wrap: [a]", "nothing: x", "wrap: magic"})
    EXPECT_FALSE(parse_tacho_config({{"tacho-config.yaml", bad}})) << bad;
}

TEST(KatibConfig, AFaultyCollectorCanBeLeftOut) {
  const std::string yaml =
      "runtime: {metricsCollectors: [{kind: StdOut, image: a}, {kind: File, image: ''}, {kind: StdOut, image: b}]}";
  EXPECT_FALSE(parse_katib_config(yaml));
  std::vector<std::string> faults;
  const Result<KatibConfig> config = parse_katib_config(yaml, &faults);
  ASSERT_TRUE(config) << config.error().message();
  ASSERT_EQ(config->collectors.size(), 1u);
  EXPECT_EQ(config->collectors.at("StdOut").image, "b");
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_NE(faults[0].find("kind: File"), std::string::npos) << faults[0];
}

}  // namespace
}  // namespace tacho
