// The manifests and examples that are shipped: they parse, and they are what the contract says of selectors, rights and
// replicas.
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <set>

#include "kube/api/job_kinds.h"
#include "os/file.h"

namespace tacho {
namespace {

const std::filesystem::path kRoot = std::filesystem::path(TACHO_FIXTURES) / "../..";

std::vector<YAML::Node> documents(const std::filesystem::path& folder) {
  std::vector<YAML::Node> all;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot / folder)) {
    if (entry.path().extension() != ".yaml") continue;
    for (const YAML::Node& node : YAML::LoadAllFromFile(entry.path().string())) {
      EXPECT_TRUE(node.IsMap() && node["kind"] && node["apiVersion"]) << entry.path();
      all.push_back(node);
    }
  }
  return all;
}
std::vector<YAML::Node> of_kind(const std::vector<YAML::Node>& all, const std::string& kind) {
  std::vector<YAML::Node> found;
  for (const YAML::Node& node : all) {
    if (node["kind"].as<std::string>() == kind) found.push_back(node);
  }
  return found;
}
std::set<std::string> words(const YAML::Node& list) {
  std::set<std::string> all;
  for (const YAML::Node& word : list) all.insert(word.as<std::string>());
  return all;
}

TEST(Packaging, DeploymentsAreTwoAndHarmless) {
  const auto all = documents("packaging/kubernetes/base");
  const auto deployments = of_kind(all, "Deployment");
  ASSERT_EQ(deployments.size(), 2u);
  for (const YAML::Node& deployment : deployments) {
    EXPECT_EQ(deployment["spec"]["replicas"].as<int>(), 2);
    const YAML::Node pod = deployment["spec"]["template"]["spec"], container = pod["containers"][0];
    EXPECT_TRUE(pod["securityContext"]["runAsNonRoot"].as<bool>());
    EXPECT_TRUE(pod["affinity"]["podAntiAffinity"]);
    EXPECT_TRUE(container["securityContext"]["readOnlyRootFilesystem"].as<bool>());
    EXPECT_FALSE(container["securityContext"]["allowPrivilegeEscalation"].as<bool>());
    EXPECT_EQ(container["securityContext"]["capabilities"]["drop"][0].as<std::string>(), "ALL");
  }
  EXPECT_EQ(of_kind(all, "PodDisruptionBudget").size(), 2u);
  EXPECT_EQ(of_kind(all, "NetworkPolicy").size(), 2u);
  EXPECT_EQ(of_kind(all, "ConfigMap").size(), 1u);
}

TEST(Packaging, WebhooksAsTheContractSays) {
  const auto configurations = of_kind(documents("packaging/kubernetes/base"), "MutatingWebhookConfiguration");
  ASSERT_EQ(configurations.size(), 1u);
  ASSERT_EQ(configurations[0]["webhooks"].size(), 2u);
  const char* paths[] = {"/mutate-pod", "/mutate-job"};
  const char* operators[] = {"In", "NotIn"};
  for (size_t i = 0; i < 2; ++i) {
    const YAML::Node hook = configurations[0]["webhooks"][i];
    EXPECT_EQ(hook["clientConfig"]["service"]["path"].as<std::string>(), paths[i]);
    EXPECT_EQ(hook["timeoutSeconds"].as<int>(), 5);
    EXPECT_EQ(hook["reinvocationPolicy"].as<std::string>(), "IfNeeded");
    EXPECT_EQ(hook["matchPolicy"].as<std::string>(), "Equivalent");
    EXPECT_EQ(hook["failurePolicy"].as<std::string>(), "Fail");
    EXPECT_EQ(hook["sideEffects"].as<std::string>(), "None");
    EXPECT_EQ(words(hook["admissionReviewVersions"]), std::set<std::string>{"v1"});
    const YAML::Node selector = hook["namespaceSelector"]["matchExpressions"];
    EXPECT_EQ(selector[0]["key"].as<std::string>(), "katib.kubeflow.org/metrics-collector-injection");
    EXPECT_EQ(selector[0]["operator"].as<std::string>(), operators[i]);
    EXPECT_EQ(words(selector[1]["values"]), (std::set<std::string>{"kubeflow", "kube-system"}))
        << "never in tacho's own namespace";
    EXPECT_NE(hook["matchConditions"][0]["expression"].as<std::string>().find("has(object.metadata.ownerReferences)"),
              std::string::npos);
    for (const YAML::Node& rule : hook["rules"]) EXPECT_EQ(words(rule["operations"]), std::set<std::string>{"CREATE"});
  }
}

// What a service account may do with a resource: "verb" or "verb of NAMESPACE" for each.
std::set<std::string> rights(const std::vector<YAML::Node>& all, const std::string& account,
                             const std::string& resource) {
  std::set<std::string> out;
  for (const char* kind : {"ClusterRoleBinding", "RoleBinding"}) {
    for (const YAML::Node& binding : of_kind(all, kind)) {
      bool bound = false;
      for (const YAML::Node& subject : binding["subjects"])
        bound = bound || subject["name"].as<std::string>() == account;
      if (!bound) continue;
      for (const char* role_kind : {"ClusterRole", "Role"}) {
        for (const YAML::Node& role : of_kind(all, role_kind)) {
          if (role["metadata"]["name"].as<std::string>() != binding["roleRef"]["name"].as<std::string>() ||
              binding["roleRef"]["kind"].as<std::string>() != role_kind)
            continue;
          for (const YAML::Node& rule : role["rules"]) {
            if (!words(rule["resources"]).contains(resource)) continue;
            for (const std::string& verb : words(rule["verbs"]))
              out.insert(std::string(kind) == "RoleBinding"
                             ? verb + " of " + role["metadata"]["namespace"].as<std::string>()
                             : verb);
          }
        }
      }
    }
  }
  return out;
}

TEST(Packaging, WhoOnlyComparesMayNotWrite) {
  const auto base = documents("packaging/kubernetes/base");
  for (const char* resource : {"trials", "trials/status", "trials/finalizers", "jobs", "pytorchjobs", "events"}) {
    for (const char* verb : {"create", "update", "patch", "delete"})
      EXPECT_FALSE(rights(base, "tacho-trials", resource).contains(verb)) << verb << " " << resource;
  }
  EXPECT_EQ(rights(base, "tacho-trials", "leases"),
            (std::set<std::string>{"get of kubeflow", "create of kubeflow", "update of kubeflow"}));
  EXPECT_TRUE(rights(base, "tacho-inject", "events").contains("create"));
  auto own = base;
  for (const YAML::Node& node : documents("packaging/kubernetes/overlays/own")) own.push_back(node);
  for (const char* verb : {"update", "patch"}) EXPECT_TRUE(rights(own, "tacho-trials", "trials/status").contains(verb));
  EXPECT_TRUE(rights(own, "tacho-trials", "jobs").contains("create"));
  EXPECT_TRUE(rights(own, "tacho-trials", "events").contains("create"));
}

TEST(Packaging, ConfigMapsOfOneNamespace) {
  const auto base = documents("packaging/kubernetes/base");
  EXPECT_EQ(rights(base, "tacho-inject", "configmaps"),
            (std::set<std::string>{"get of kubeflow", "list of kubeflow", "watch of kubeflow"}));
  EXPECT_EQ(rights(base, "tacho-trials", "configmaps"), std::set<std::string>{"get of kubeflow"});
}

TEST(Packaging, WithoutConditionsNobodyWaitsForTacho) {
  const auto overlay = of_kind(documents("packaging/kubernetes/overlays/no-conditions"), "Kustomization");
  ASSERT_EQ(overlay.size(), 1u);
  const std::string patch = overlay[0]["patches"][0]["patch"].as<std::string>();
  for (const char* hook : {"0", "1"}) {
    EXPECT_NE(patch.find(std::string("remove, path: /webhooks/") + hook + "/matchConditions"), std::string::npos);
    EXPECT_NE(patch.find(std::string("/webhooks/") + hook + "/failurePolicy, value: Ignore"), std::string::npos);
  }
  const auto chart = read_whole_file((kRoot / "packaging/helm/tacho-katib/templates/webhook.yaml").string());
  ASSERT_TRUE(chart);
  EXPECT_EQ(chart->find("failurePolicy: Fail"), std::string::npos);
  size_t count = 0;
  for (size_t at = chart->find("failurePolicy: {{ ternary"); at != std::string::npos;
       at = chart->find("failurePolicy: {{ ternary", at + 1))
    ++count;
  EXPECT_EQ(count, 2u) << "both hooks";
}

TEST(Packaging, NetworkPoliciesInAndOut) {
  for (const YAML::Node& policy : of_kind(documents("packaging/kubernetes/base"), "NetworkPolicy")) {
    EXPECT_EQ(words(policy["spec"]["policyTypes"]), (std::set<std::string>{"Ingress", "Egress"}));
    std::set<std::string> out, open;
    for (const YAML::Node& rule : policy["spec"]["egress"]) {
      EXPECT_TRUE(rule["ports"]) << "not everything";
      for (const YAML::Node& port : rule["ports"]) out.insert(port["port"].as<std::string>());
    }
    for (const YAML::Node& rule : policy["spec"]["ingress"]) {
      if (rule["from"]) continue;
      for (const YAML::Node& port : rule["ports"]) open.insert(port["port"].as<std::string>());
    }
    const bool inject = policy["metadata"]["name"].as<std::string>() == "tacho-inject";
    for (const char* port : {"53", "443", "6443"}) EXPECT_TRUE(out.contains(port)) << port;
    EXPECT_EQ(out.contains("6789"), !inject) << "the DB manager is for trials";
    EXPECT_EQ(open, inject ? (std::set<std::string>{"8443", "18080"}) : std::set<std::string>{"18080"})
        << "probes come from the node";
  }
}

TEST(Packaging, RightsAreOnlyWhatIsNeeded) {
  const auto all = documents("packaging/kubernetes/base");
  for (const char* kind : {"ClusterRole", "Role"}) {
    for (const YAML::Node& role : of_kind(all, kind)) {
      for (const YAML::Node& rule : role["rules"]) {
        for (const char* part : {"apiGroups", "resources", "verbs"})
          EXPECT_FALSE(words(rule[part]).contains("*")) << role["metadata"]["name"];
        const auto resources = words(rule["resources"]);
        if (resources.contains("secrets")) {
          EXPECT_STREQ(kind, "Role") << "secrets of one namespace only";
          EXPECT_EQ(words(rule["resourceNames"]), std::set<std::string>{"tacho-webhook-cert"});
          EXPECT_EQ(words(rule["verbs"]), (std::set<std::string>{"get", "update", "patch"}));
        }
        if (resources.contains("leases")) {
          EXPECT_EQ(words(rule["verbs"]), (std::set<std::string>{"get", "create", "update"}));
        }
        if (resources.contains("trials/status")) {
          EXPECT_EQ(words(rule["verbs"]), (std::set<std::string>{"get", "update", "patch"}));
        }
        if (resources.contains("mutatingwebhookconfigurations")) {
          EXPECT_EQ(words(rule["resourceNames"]), std::set<std::string>{"tacho.katib.kubeflow.org"});
        }
        EXPECT_FALSE(resources.contains("pods"));
      }
    }
  }
}

TEST(Packaging, AnExampleForEachKindOfCollector) {
  std::set<std::string> kinds;
  for (const YAML::Node& experiment : documents("examples")) {
    EXPECT_EQ(experiment["kind"].as<std::string>(), "Experiment");
    kinds.insert(experiment["spec"]["metricsCollectorSpec"]["collector"]["kind"].as<std::string>());
    const YAML::Node trial = experiment["spec"]["trialTemplate"];
    EXPECT_TRUE(trial["primaryContainerName"]);
    EXPECT_TRUE(trial["trialSpec"]["kind"]);
  }
  EXPECT_EQ(kinds, (std::set<std::string>{"Custom", "File", "PrometheusMetric", "Push", "StdOut", "TensorFlowEvent"}));
}

TEST(Packaging, OverlaysAndChart) {
  for (const char* name : {"selector-b", "selector-c", "selector-d", "own", "monitoring", "no-conditions"}) {
    const auto all = documents(std::filesystem::path("packaging/kubernetes/overlays") / name);
    ASSERT_EQ(of_kind(all, "Kustomization").size(), 1u) << name;
    EXPECT_EQ(of_kind(all, "Kustomization")[0]["resources"][0].as<std::string>(), "../../base");
  }
  // In two stages the handler labels jobs also where pods are injected: without the setting no pod would be seen.
  const auto two_stages = documents("packaging/kubernetes/overlays/selector-c");
  EXPECT_NE(YAML::Dump(of_kind(two_stages, "Kustomization")[0]).find("/data/twoStage"), std::string::npos);
  const auto chart = read_whole_file((kRoot / "packaging/helm/tacho-katib/templates/config.yaml").string());
  ASSERT_TRUE(chart);
  EXPECT_NE(chart->find("twoStage"), std::string::npos);
  const YAML::Node values = YAML::LoadFile((kRoot / "packaging/helm/tacho-katib/values.yaml").string());
  EXPECT_EQ(values["webhook"]["selector"].as<std::string>(), "A");
  EXPECT_EQ(values["inject"]["replicas"].as<int>(), 2);
  EXPECT_EQ(YAML::LoadFile((kRoot / "packaging/helm/tacho-katib/Chart.yaml").string())["name"].as<std::string>(),
            "tacho-katib");
}

// GROUP/RESOURCE or GROUP/VERSION/RESOURCE of each rule, a line each.
std::set<std::string> resources_of(const YAML::Node& rules, const std::string& verb) {
  std::set<std::string> all;
  for (const YAML::Node& rule : rules) {
    if (!verb.empty() && !words(rule["verbs"]).contains(verb)) continue;
    const std::set<std::string> versions = rule["apiVersions"] ? words(rule["apiVersions"]) : std::set<std::string>{""};
    for (const std::string& group : words(rule["apiGroups"])) {
      for (const std::string& version : versions) {
        for (const std::string& resource : words(rule["resources"]))
          all.insert(group + "/" + (version.empty() ? "" : version + "/") + resource);
      }
    }
  }
  return all;
}

std::string file_text(const char* path) {
  const auto text = read_whole_file((kRoot / path).string());
  EXPECT_TRUE(text) << path;
  return text ? std::string(*text) : std::string();
}

std::string part(const std::string& text, const std::string& from, const std::string& to) {
  const size_t begin = text.find(from);
  const size_t end = begin == std::string::npos ? begin : text.find(to, begin);
  EXPECT_NE(end, std::string::npos) << from << " … " << to;
  return end == std::string::npos ? "" : text.substr(begin + from.size(), end - begin - from.size());
}

// What is in one of them alone, by name.
std::string difference(const std::set<std::string>& table, const std::set<std::string>& file) {
  std::string out;
  for (const std::string& one : table) out += file.contains(one) ? "" : "missing: " + one + "\n";
  for (const std::string& one : file)
    out += table.contains(one) ? "" : "not in src/kube/api/job_kinds.cc: " + one + "\n";
  return out;
}

TEST(JobKindsInPackages, Rights) {
  std::set<std::string> expected;
  for (const JobKind& kind : job_kinds()) {
    if (kind.use == JobKind::Use::usual) expected.insert(std::string(kind.group) + "/" + std::string(kind.resource));
  }
  EXPECT_NE(difference(expected, {}), "") << "the comparison can fail";
  for (const YAML::Node& role : of_kind(documents("packaging/kubernetes/base"), "ClusterRole")) {
    const std::string name = role["metadata"]["name"].as<std::string>();
    const bool reads = name == "tacho-katib-read", owns = name == "tacho-katib-trials-own";
    for (const char* verb : {"get", "list", "watch", "create", "delete"}) {
      std::set<std::string> given = resources_of(role["rules"], verb);
      std::erase_if(given, [](const std::string& one) {
        return one.find("/trials") != std::string::npos || one == "kubeflow.org/experiments" ||
               one == "kubeflow.org/suggestions" || one == "/namespaces";
      });
      const bool writing = std::string(verb) == "create" || std::string(verb) == "delete";
      if (writing ? owns : reads) {
        EXPECT_EQ(difference(expected, given), "") << "rbac.yaml, " << name << ", " << verb;
      }
    }
  }
  std::string rules = part(file_text("packaging/helm/tacho-katib/templates/_helpers.tpl"),
                           "{{- define \"tacho.jobRules\" -}}", "{{- range");
  for (size_t at; (at = rules.find("{{ .verbs }}")) != std::string::npos;) rules.replace(at, 12, "[x]");
  EXPECT_EQ(difference(expected, resources_of(YAML::Load(rules), "x")), "") << "tacho.jobRules of the chart";
}

TEST(JobKindsInPackages, Hooks) {
  std::set<std::string> hooked, owners{"Trial"};
  for (const JobKind& kind : job_kinds()) {
    if (kind.use == JobKind::Use::usual && kind.shape != JobKind::Shape::none)
      hooked.insert(std::string(kind.group) + "/" + std::string(kind.version) + "/" + std::string(kind.resource));
    if (kind.makes_pods && kind.use != JobKind::Use::named) owners.insert(std::string(kind.kind));
  }
  const YAML::Node hooks =
      of_kind(documents("packaging/kubernetes/base"), "MutatingWebhookConfiguration")[0]["webhooks"];
  EXPECT_EQ(difference(hooked, resources_of(hooks[1]["rules"], "")), "") << "webhook.yaml, job hook";
  const std::string condition = hooks[0]["matchConditions"][0]["expression"].as<std::string>();
  EXPECT_EQ(difference(owners, words(YAML::Load("[" + part(condition, "[", "]") + "]"))), "")
      << "webhook.yaml, pod hook";
  const std::string chart =
      part(file_text("packaging/helm/tacho-katib/templates/webhook.yaml"), "path: /mutate-job", "matchConditions");
  EXPECT_EQ(difference(hooked, resources_of(YAML::Load(part(chart, "    rules:\n", "    namespaceSelector")), "")), "")
      << "job hook of the chart";
  const YAML::Node values = YAML::LoadFile((kRoot / "packaging/helm/tacho-katib/values.yaml").string());
  EXPECT_EQ(difference(owners, words(values["webhook"]["podOwnerKinds"])), "") << "podOwnerKinds of values.yaml";
}

TEST(JobKindsInPackages, Documents) {
  const std::string page = file_text("docs/kubernetes.md");
  const std::string defaults = part(page, "| kinds of trial resources beside the usual |", "\n");
  for (const JobKind& kind : job_kinds()) {
    if (kind.use != JobKind::Use::usual) continue;
    const std::string crd = "`" + std::string(kind.resource);
    if (kind.group != "batch") {
      EXPECT_TRUE(page.find(crd + "`") != std::string::npos ||
                  page.find(crd + "." + std::string(kind.group) + "`") != std::string::npos)
          << crd;
    }
    if (kind.is_trial_job) { EXPECT_NE(defaults.find(kind.kind), std::string::npos) << kind.kind; }
  }
}

}  // namespace
}  // namespace tacho
