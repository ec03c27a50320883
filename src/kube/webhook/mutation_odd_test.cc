// Pods, Trials and caches that are odd: what the API server takes without tacho it takes with tacho. The same pods are
// asked of a real API server in tests/interop/kube_odd.py.
#include "kube/webhook/mutation_test_support.h"

namespace tacho {
namespace {

class OddTest : public MutationTest {
 protected:
  OddTest() : parts_(load("random")) {}
  // The fixture's pod with a merge patch on it and one on its first container.
  Json odd(const char* text, const char* of_container = "{}") const {
    Json pod_object = parts_["pod"];
    pod_object.merge_patch(Json::parse(text));
    pod_object["spec"]["containers"][0].merge_patch(Json::parse(of_container));
    return pod_object;
  }
  void expect_left_alone(const Json& object, const std::string& why) {
    const Outcome out = pod(object);
    EXPECT_TRUE(out.answer.allowed) << why;
    EXPECT_EQ(out.answer.patch, "") << why;
    ASSERT_EQ(out.answer.warnings.size(), 1u) << why;
    EXPECT_NE(out.answer.warnings[0].find(why), std::string::npos) << out.answer.warnings[0];
  }
  Json custom(const char* container) {
    Json trial = parts_["trial"];
    trial["spec"]["metricsCollector"]["collector"] = {{"kind", "Custom"}, {"customCollector", Json::parse(container)}};
    cluster_.put(trial);
    return parts_["pod"];
  }
  const Json parts_;
};

TEST_F(OddTest, PodsForWindowsByTheirNodeSelectorAlone) {
  expect_left_alone(odd(R"({"spec":{"nodeSelector":{"kubernetes.io/os":"windows"}}})"), "Windows");
  expect_left_alone(odd(R"({"spec":{"os":{"name":"windows"}}})"), "Windows");
  EXPECT_NE(pod(odd(R"({"spec":{"nodeSelector":{"kubernetes.io/os":"linux"}}})")).answer.patch, "");
}

// The API server: "must be greater than or equal to aggregate container requests", "must be less than or equal to pod
// limits".
TEST_F(OddTest, ResourcesOfTheWholePodHoldForOurContainers) {
  for (const char* mode : {"container", "native"}) {
    configure({{"sidecarMode", mode}});
    const Outcome out = pod(odd(R"({"spec":{"resources":{"requests":{"cpu":"1"},"limits":{"memory":"50Mi"}}}})"));
    const char* list = std::string_view(mode) == "native" ? "initContainers" : "containers";
    for (const Json& one :
         {container(out.object, kLogger, list), container(out.object, "tacho-launcher", "initContainers")}) {
      ASSERT_FALSE(one.is_null()) << mode;
      for (const char* bound : {"requests", "limits"}) {
        EXPECT_FALSE(one["resources"][bound].contains("cpu")) << one;
        EXPECT_FALSE(one["resources"][bound].contains("memory")) << one;
        EXPECT_TRUE(one["resources"][bound].contains("ephemeral-storage")) << "of that the pod says nothing";
      }
    }
  }
}

TEST_F(OddTest, AnnotationsThatLeaveNoRoom) {
  Json full = parts_["pod"], room = full;
  full["metadata"]["annotations"] = {{"big", std::string(256 * 1024 - 3, 'x')}};
  room["metadata"]["annotations"] = {{"big", std::string(256 * 1024 - 3 - 27, 'x')}};  // tacho/collector-injected: pod
  expect_left_alone(full, "annotations");
  EXPECT_NE(pod(room).answer.patch, "");
}

TEST_F(OddTest, DevicesWhereAMountWouldBe) {
  for (const char* path : {"/var/log/katib", "/tacho", "/tacho/x"}) {
    Json object = parts_["pod"];
    object["spec"]["containers"][0]["volumeDevices"] = Json::array({{{"name", "d"}, {"devicePath", path}}});
    expect_left_alone(object, std::string_view(path).starts_with("/tacho") ? "/tacho" : "a device");
  }
}

TEST_F(OddTest, FoldersThatCanNeverBeWrittenTo) {
  for (const char* volume :
       {R"({"configMap":{"name":"c"}})", R"({"secret":{"secretName":"s"}})", R"({"projected":{"sources":[]}})",
        R"({"downwardAPI":{"items":[]}})", R"({"persistentVolumeClaim":{"claimName":"c","readOnly":true}})"}) {
    Json object = odd("{}", R"({"volumeMounts":[{"name":"v","mountPath":"/var/log/katib"}]})");
    Json entry = Json::parse(volume);
    entry["name"] = "v";
    object["spec"]["volumes"] = Json::array({entry});
    expect_left_alone(object, "read-only");
  }
  Json shared = odd("{}", R"({"volumeMounts":[{"name":"v","mountPath":"/var/log/katib","subPath":"a"}]})");
  shared["spec"]["volumes"] = Json::parse(R"([{"name":"v","persistentVolumeClaim":{"claimName":"c"}}])");
  EXPECT_NE(pod(shared).answer.patch, "");
}

// "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
TEST_F(OddTest, ACopiedContextDoesNotContradictTheTrainers) {
  Json config = kube_fixture("katib_config.json");
  std::string text = config["data"]["katib-config.yaml"];
  config["data"]["katib-config.yaml"] =
      text.replace(text.find("    trialResources"), 0, "    injectSecurityContext: true\n");
  cluster_.put(config);
  Json object = odd("{}", R"({"securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}}})");
  const Json beside = Json::parse(
      R"({"name":"beside","image":"x","securityContext":{"privileged":true,"runAsUser":7,"capabilities":{"add":["CAP_SYS_ADMIN"]}}})");
  object["spec"]["containers"].insert(object["spec"]["containers"].begin(), beside);
  const Json context = container(pod(object).object, kLogger)["securityContext"];
  EXPECT_EQ(context,
            Json::parse(R"({"runAsUser":7,"capabilities":{"drop":["ALL"]},"allowPrivilegeEscalation":false})"));
}

// The collector's image names no user: a kubelet does not start it with runAsNonRoot alone, and the pod would hang.
TEST_F(OddTest, NotRootWithoutAUser) {
  const auto context = [&](const char* of_pod, const char* of_trainer, size_t warnings) {
    Json object = parts_["pod"];
    object["spec"]["securityContext"] = Json::parse(of_pod);
    object["spec"]["containers"][0]["securityContext"] = Json::parse(of_trainer);
    const Outcome out = pod(object);
    EXPECT_EQ(out.answer.warnings.size(), warnings) << of_pod << of_trainer;
    const Json& launcher = container(out.object, "tacho-launcher", "initContainers");
    EXPECT_EQ(launcher.value("securityContext", Json()),
              container(out.object, kLogger).value("securityContext", Json()));
    return container(out.object, kLogger).value("securityContext", Json());
  };
  EXPECT_EQ(context("{}", R"({"runAsNonRoot":true})", 1), Json::parse(R"({"runAsNonRoot":true,"runAsUser":65532})"));
  EXPECT_EQ(context(R"({"runAsNonRoot":true})", "{}", 1), Json::parse(R"({"runAsUser":65532})"));
  EXPECT_EQ(context(R"({"runAsNonRoot":true})", R"({"runAsUser":7})", 0), Json::parse(R"({"runAsUser":7})"))
      << "the trainer's";
  EXPECT_EQ(context(R"({"runAsNonRoot":true,"runAsUser":8})", "{}", 0), Json()) << "the pod's";
  EXPECT_EQ(context(R"({"runAsNonRoot":true})", R"({"runAsNonRoot":false})", 0),
            Json::parse(R"({"runAsNonRoot":false})"));
  EXPECT_EQ(context("{}", R"({"runAsUser":7})", 0), Json()) << "may be root";
  // Where the cluster chooses a user from the namespace's range, one of ours would be refused.
  cluster_.put(Json::parse(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team","labels":{
    "katib.kubeflow.org/metrics-collector-injection":"enabled"},"annotations":{"openshift.io/sa.scc.uid-range":"1000/10"}}})"));
  EXPECT_EQ(context("{}", R"({"runAsNonRoot":true})", 0), Json::parse(R"({"runAsNonRoot":true})"));
}

TEST_F(OddTest, ACustomContainerThatTheApiServerWouldRefuse) {
  const std::string primary = parts_["trial"]["spec"]["primaryContainerName"];
  expect_left_alone(custom(R"({"image":"own:1"})"), "name");
  expect_left_alone(custom(R"({"name":"A_b","image":"own:1"})"), "name");
  expect_left_alone(custom(R"({"name":"own"})"), "no image");
  expect_left_alone(custom(("{\"name\":\"" + primary + "\",\"image\":\"own:1\"}").c_str()), "another container");
  expect_left_alone(custom(R"({"name":"own","image":"own:1","volumeMounts":[{"name":"nowhere","mountPath":"/x"}]})"),
                    "volume");
  expect_left_alone(custom(R"("own:1")"), "no container");
  expect_left_alone(custom(R"({"name":"own","image":"own:1","args":["-x",1]})"), "args");
  expect_left_alone(custom(R"({"name":"own","image":"own:1","command":"run"})"), "command");
  expect_left_alone(custom(R"({"name":"own","image":"own:1","env":{"a":"b"}})"), "env");
  expect_left_alone(custom(R"({"name":"own","image":"own:1","volumeMounts":["/x"]})"), "volumeMounts");
  EXPECT_FALSE(container(pod(custom(R"({"name":"own","image":"own:1"})")).object, "own").is_null());
}

// Deleted and made again under its name: the old one's pods must not report for the new one.
TEST_F(OddTest, PodsOfATrialThatWasMadeAgain) {
  Json job = parts_["job"], trial = parts_["trial"];
  trial["metadata"]["uid"] = "another-trial";
  cluster_.put(trial);
  expect_left_alone(parts_["pod"], "is gone");
  // Its own pods are injected at once, also while the caches still have the old one.
  cluster_.put(parts_["trial"]);
  job["metadata"]["ownerReferences"][0]["uid"] = "another-trial";
  cluster_.put(job);
  cluster_.before_live_get = [&] { cluster_.put(trial); };
  EXPECT_STREQ(mutation_.pod(review_of(parts_["pod"], "pods"), 0).result, "injected");
}

// A job of that name made again, too: the watch is behind, and its first pod is not "none of ours".
TEST_F(OddTest, PodsOfAJobThatWasMadeAgain) {
  Json object = parts_["pod"], job = parts_["job"];
  object["metadata"]["ownerReferences"][0]["uid"] = "new-job";
  EXPECT_STREQ(mutation_.pod(review_of(object, "pods"), 0).result, "unchanged");
  job["metadata"]["uid"] = "new-job";
  cluster_.before_live_get = [&] { cluster_.put(job); };
  EXPECT_STREQ(mutation_.pod(review_of(object, "pods"), 0).result, "injected");
}

// Whose a pod is, its owner reference says, not its name: another Trial may have that.
TEST_F(OddTest, APodNamedAsAnotherTrial) {
  const Json bare = load("bare_pod");
  Json other = bare["trial"], object = bare["pod"];
  other["metadata"]["name"] = "another";
  other["metadata"]["uid"] = "u-another";
  cluster_.put(other);
  object["metadata"]["name"] = "another";
  const Outcome out = pod(object);
  EXPECT_EQ(out.object["metadata"]["labels"]["katib.kubeflow.org/trial"], bare["trial"]["metadata"]["name"]);
}

}  // namespace
}  // namespace tacho
