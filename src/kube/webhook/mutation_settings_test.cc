// What the settings change about an injection: mode, wrapper, profile, security context.
#include "kube/webhook/mutation_test_support.h"

namespace tacho {
namespace {

TEST_F(MutationTest, ShellForm) {
  configure({{"wrap", "shell"}});
  const Outcome out = pod(load("shell_script")["pod"]);
  const Json& trainer = container(out.object, "training-container");
  EXPECT_EQ(command(trainer), Words({"/bin/bash", "-euo", "pipefail", "-c"}));
  ASSERT_EQ(args(trainer).size(), 1u);
  EXPECT_NE(args(trainer)[0].find("echo \"a $$HOME $(LR)\"\npython3 train.py # go\n"), std::string::npos);
  EXPECT_FALSE(out.object["spec"].contains("initContainers"));
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
  EXPECT_FALSE(container(out.object, kLogger, "initContainers").contains("startupProbe"))
      << "another image has no such command";
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
