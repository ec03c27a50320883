// Every shape of patch: sidecar mode × wrapper × kind of collector × command known or not × init containers × security
// contexts × level. What comes out is checked as the API server would check it; scripts/interop kubernetes asks a real
// one.
#include <set>

#include "kube/webhook/mutation_test_support.h"

namespace tacho {
namespace {

constexpr const char* kRestricted = R"({"runAsNonRoot":true,"runAsUser":1000,"readOnlyRootFilesystem":true,
  "allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]},"seccompProfile":{"type":"RuntimeDefault"}})";

std::string why_refused(const Json& list, const std::string& what, std::set<std::string>& names) {
  for (const Json& one : list) {
    const std::string name = text_at(one, {"name"});
    if (name.empty() || name.size() > 63) return what + " without a name";
    if (!names.insert(name).second) return what + " " + name + " is there twice";
  }
  return "";
}

// One container as validation of pods sees it; `volumes` are the pod's.
std::string why_container(const Json& one, bool init, const std::set<std::string>& volumes) {
  const std::string name = text_at(one, {"name"});
  if (text_at(one, {"image"}).empty()) return name + " has no image";
  std::set<std::string> paths;
  for (const Json& mount : one.value("volumeMounts", Json::array())) {
    const std::string path = text_at(mount, {"mountPath"});
    if (!volumes.contains(text_at(mount, {"name"}))) return name + " mounts a volume that is missing: " + mount.dump();
    if (path.empty() || path[0] != '/' || path.find(':') != std::string::npos) return name + " mounts at " + path;
    if (!paths.insert(path).second) return name + " mounts twice at " + path;
    if (const std::string sub = text_at(mount, {"subPath"});
        sub.starts_with("/") || sub.find("..") != std::string::npos)
      return name + " has the subPath " + sub;
  }
  std::set<std::string> variables;
  for (const Json& variable : one.value("env", Json::array())) {
    if (!variables.insert(text_at(variable, {"name"})).second) return name + " has a variable twice";
    if (variable.contains("value") == variable.contains("valueFrom")) return name + " has a variable without a value";
  }
  for (const char* key : {"command", "args"}) {
    if (!one.contains(key)) continue;
    for (const Json& word : one[key]) {
      if (!word.is_string()) return name + " has words that are none";
    }
  }
  const bool restartable = text_at(one, {"restartPolicy"}) == "Always";
  if (!init && one.contains("restartPolicy")) return name + " is no init container, but has a restartPolicy";
  if (init && !restartable && (one.contains("startupProbe") || one.contains("livenessProbe")))
    return name + " may have no probe";
  if (const Json* requests = find(one, {"resources", "requests"})) {
    for (const auto& [resource, amount] : requests->items()) {
      if (!amount.is_string()) return name + " asks for " + resource;
    }
  }
  return "";
}

// What a namespace with Pod Security "restricted" refuses.
std::string why_not_restricted(const Json& spec, const Json& one) {
  const Json context = one.value("securityContext", Json::object()),
             pod = spec.value("securityContext", Json::object());
  const std::string name = text_at(one, {"name"});
  if (context.value("allowPrivilegeEscalation", true)) return name + ": allowPrivilegeEscalation";
  const Json* drop = find(context, {"capabilities", "drop"});
  if (drop == nullptr || std::find(drop->begin(), drop->end(), "ALL") == drop->end()) return name + ": capabilities";
  if (!context.value("runAsNonRoot", pod.value("runAsNonRoot", false))) return name + ": runAsNonRoot";
  const std::string own = text_at(context, {"seccompProfile", "type"});
  if ((own.empty() ? text_at(pod, {"seccompProfile", "type"}) : own) != "RuntimeDefault")
    return name + ": seccompProfile";
  return "";
}

// The probe can pass, and the launcher can be there: what validation does not see, but whoever waits does.
std::string why_never_ready(const Json& spec) {
  bool installed = false, wanted = false;
  for (const Json& one : spec.value("initContainers", Json::array())) {
    bool mounts = false, native = false, file = false;
    for (const Json& mount : one.value("volumeMounts", Json::array()))
      mounts = mounts || text_at(mount, {"mountPath"}) == "/tacho";
    for (const Json& variable : one.value("env", Json::array())) {
      native = native || text_at(variable, {"name"}) == "TACHO_SIDECAR";
      file = file || text_at(variable, {"name"}) == "TACHO_READY_FILE";
    }
    installed = installed || (mounts && (native || find(one, {"command"}) != nullptr));
    if (find(one, {"startupProbe"}) != nullptr && !(native && (mounts != file)))
      return "the start-up probe can never pass";
  }
  for (const Json& one : spec["containers"]) {
    for (const Json& word : one.value("command", Json::array())) wanted = wanted || word == "/tacho/exec";
  }
  return wanted && !installed ? "nobody puts the launcher in its place" : "";
}

std::string why_refused(const Json& pod, bool restricted) {
  const Json& spec = pod["spec"];
  std::set<std::string> volumes, names;
  if (spec.contains("volumes")) {
    if (const std::string why = why_refused(spec["volumes"], "a volume", volumes); !why.empty()) return why;
  }
  for (const bool init : {true, false}) {
    const Json list = spec.value(init ? "initContainers" : "containers", Json::array());
    if (const std::string why = why_refused(list, "a container", names); !why.empty()) return why;
    for (const Json& one : list) {
      if (const std::string why = why_container(one, init, volumes); !why.empty()) return why;
      if (!restricted) continue;
      if (const std::string why = why_not_restricted(spec, one); !why.empty()) return why;
    }
  }
  for (const auto& [key, value] : pod["metadata"]["labels"].items()) {
    if (!value.is_string() || value.get<std::string>().size() > 63) return "the label " + key;
  }
  return why_never_ready(spec);
}

class Matrix : public MutationTest {
 protected:
  // A pod of the Trial as its job's controller would make it, or the job itself.
  static Json spec_of(const Json& words, bool init, const Json& context) {
    Json trainer = {{"name", "main"}, {"image", "trainer:1"}};
    trainer.update(words);
    if (!context.is_null()) trainer["securityContext"] = context;
    Json spec = {{"restartPolicy", "Never"}, {"containers", Json::array({trainer})}};
    if (!init) return spec;
    Json first = {{"name", "users"}, {"image", "x"}};
    if (!context.is_null()) first["securityContext"] = context;
    spec["initContainers"] = Json::array({first});
    return spec;
  }
  void put_trial(const std::string& kind) {
    Json collector = {{"collector", {{"kind", kind}}}};
    if (kind == "File")
      collector["source"]["fileSystemPath"] = {{"path", "/var/log/m/x.json"}, {"format", "JSON"}, {"kind", "File"}};
    if (kind == "TensorFlowEvent")
      collector["source"]["fileSystemPath"] = {{"path", "/logs/tf/"}, {"kind", "Directory"}};
    if (kind == "PrometheusMetric") collector["source"]["httpGet"] = {{"port", 9090}, {"path", "/metrics"}};
    if (kind == "Custom") {
      collector["collector"]["customCollector"] =
          Json::parse(R"({"name":"own","image":"own:1","securityContext":)" + std::string(kRestricted) + "}");
      collector["source"]["fileSystemPath"] = {{"path", "/custom/out.log"}, {"kind", "File"}};
    }
    cluster_.put({{"apiVersion", kTrialVersion},
                  {"kind", "Trial"},
                  {"metadata",
                   {{"name", "t"},
                    {"namespace", "team"},
                    {"uid", "trial"},
                    {"labels", {{"katib.kubeflow.org/experiment", "e"}}}}},
                  {"spec",
                   {{"objective", {{"type", "maximize"}, {"objectiveMetricName", "accuracy"}}},
                    {"primaryContainerName", "main"},
                    {"metricsCollector", collector}}}});
    cluster_.put(Json::parse(
        R"({"apiVersion":"kubeflow.org/v1beta1","kind":"Suggestion","metadata":{"name":"e","namespace":"team"},
      "spec":{"algorithm":{"algorithmName":"pbt","algorithmSettings":[{"name":"suggestion_trial_dir","value":"/opt/katib/data"}]}}})"));
  }
};

TEST_F(Matrix, EveryPatchMakesAPodThatIsAccepted) {
  const Json owner = {{"apiVersion", kTrialVersion}, {"kind", "Trial"}, {"name", "t"}, {"uid", "trial"}};
  const Json words[] = {Json::parse(R"({"command":["python","train.py"],"args":["--lr","$(LR) 2"]})"),
                        Json::parse(R"({"command":["bash","-ec"],"args":["echo a\nfalse # end"]})"), Json::object(),
                        Json::parse(R"({"args":["--only","arguments"]})")};
  const Json contexts[] = {Json(), Json::parse(kRestricted), Json::parse(R"({"privileged":true,"runAsUser":0})")};
  int shapes = 0;
  for (const char* mode : {"container", "native", "auto"}) {
    for (const char* wrap : {"launcher", "shell"}) {
      for (const auto& [profile, minor] : {std::pair{"tacho", 28}, std::pair{"tacho", 34}, std::pair{"none", 34}}) {
        {
          configure({{"sidecarMode", mode}, {"wrap", wrap}, {"profile", profile}});
          cluster_.minor = minor;
          for (const char* kind : {"StdOut", "File", "TensorFlowEvent", "PrometheusMetric", "Custom", "Push"}) {
            put_trial(kind);
            for (size_t shape = 0; shape < 4 * 3 * 2 * 2 * 2; shape++) {
              const Json& command = words[shape % 4];
              const Json& context = contexts[shape / 4 % 3];
              const bool init = shape / 12 % 2 != 0, known = shape / 24 % 2 != 0, pod_level = shape / 48 % 2 != 0;
              if (known && command.contains("command")) continue;  // nobody asks for the image's
              // An older server and another collector's image change nothing about these.
              const bool main = minor == 34 && std::string_view(profile) == "tacho";
              if (!main && (!init || shape / 4 % 3 != 1)) continue;
              images_.command = known ? std::optional(ImageCommand{{"/entry"}, {"default"}}) : std::nullopt;
              label(pod_level ? "enabled" : "");
              const Json spec = spec_of(command, init, context);
              const Json metadata = {{"name", "t"}, {"namespace", "team"}, {"ownerReferences", Json::array({owner})}};
              const Json object =
                  pod_level ? Json{{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", metadata}, {"spec", spec}}
                            : Json{{"apiVersion", "batch/v1"},
                                   {"kind", "Job"},
                                   {"metadata", metadata},
                                   {"spec", {{"template", {{"spec", spec}}}}}};
              const Outcome out = run(object, pod_level);
              const auto name = [&, profile = profile, minor = minor] {
                return std::string(mode) + " " + wrap + " " + profile + " " + std::to_string(minor) + " " + kind + " " +
                       object.dump();
              };
              ASSERT_TRUE(out.answer.allowed) << name();
              ASSERT_STREQ(out.answer.result, "injected") << name();
              const Json& made = pod_level ? out.object : out.object["spec"]["template"];
              ASSERT_EQ(why_refused(made, shape / 4 % 3 == 1), "") << name() << "\n" << made.dump(1);
              shapes++;
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(shapes, 3 * 2 * 6 * (72 + 2 * 12));
}

// The check itself can fail.
TEST_F(Matrix, TheCheckFindsWhatItIsFor) {
  const auto refused = [](const char* spec, bool restricted = false) {
    return why_refused(Json::parse(std::string(R"({"metadata":{"labels":{}},"spec":)") + spec + "}"), restricted) != "";
  };
  EXPECT_FALSE(refused(R"({"containers":[{"name":"a","image":"x"}]})"));
  EXPECT_TRUE(refused(R"({"containers":[{"name":"a","image":"x"}]})", true));
  EXPECT_TRUE(refused(R"({"containers":[{"name":"a","image":"x","volumeMounts":[{"name":"v","mountPath":"/v"}]}]})"));
  EXPECT_TRUE(refused(R"({"containers":[{"name":"a","image":"x"}],"initContainers":[{"name":"a","image":"x"}]})"));
  EXPECT_TRUE(refused(R"({"containers":[{"name":"a","image":"x","command":["/tacho/exec"]}]})"));
  EXPECT_TRUE(refused(
      R"({"containers":[{"name":"a","image":"x"}],"initContainers":[{"name":"b","image":"x","restartPolicy":"Always","startupProbe":{}}]})"));
}

}  // namespace
}  // namespace tacho
