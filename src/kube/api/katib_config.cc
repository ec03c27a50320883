#include "kube/api/katib_config.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "base/text.h"

namespace tacho {
namespace {

Error bad(const std::string& what, const std::string& key) {
  return {Code::invalid, what, key, "correct katib-config.yaml"};
}

// "-5", "-1Gi": Katib's way to say that an entry is not wanted.
bool is_negative(std::string_view quantity) { return !quantity.empty() && quantity.front() == '-'; }

// Defaults first, in their order; then what else was named.
Quantities quantities(const YAML::Node& given, Quantities defaults) {
  Quantities out = std::move(defaults);
  if (given && given.IsMap()) {
    for (const auto& entry : given) {
      const auto name = entry.first.as<std::string>(), amount = entry.second.as<std::string>();
      const auto found = std::find_if(out.begin(), out.end(), [&](const auto& known) { return known.first == name; });
      if (found == out.end()) out.emplace_back(name, amount);
      else found->second = amount;
    }
  }
  std::erase_if(out, [](const auto& entry) { return is_negative(entry.second); });
  return out;
}

std::string text_of(const YAML::Node& node, const std::string& other = "") {
  return node && node.IsScalar() ? node.Scalar() : other;
}

Result<CollectorConfig> read_collector(const YAML::Node& entry, const std::string& kind) {
  CollectorConfig out;
  out.image = trim(text_of(entry["image"]));
  if (out.image.empty())
    return bad("the collector has no image", "runtime.metricsCollectors[kind: " + kind + "].image");
  const std::string policy = text_of(entry["imagePullPolicy"]);
  if (policy == "Always" || policy == "Never") out.pull_policy = policy;
  const YAML::Node resources = entry["resources"];
  const bool has = resources && resources.IsMap();
  out.requests = quantities(has ? resources["requests"] : YAML::Node(),
                            {{"cpu", "50m"}, {"memory", "10Mi"}, {"ephemeral-storage", "500Mi"}});
  out.limits = quantities(has ? resources["limits"] : YAML::Node(),
                          {{"cpu", "500m"}, {"memory", "100Mi"}, {"ephemeral-storage", "5Gi"}});
  if (const YAML::Node wait = entry["waitAllProcesses"]; wait && wait.IsScalar()) {
    const std::optional<bool> value = parse_bool(wait.Scalar());
    if (!value || wait.Scalar().empty())
      return bad("neither true nor false", "runtime.metricsCollectors[kind: " + kind + "].waitAllProcesses");
    out.wait_all_processes = value;
  }
  return out;
}

Status read_init(const YAML::Node& init, KatibConfig& out) {
  if (!init || !init.IsMap()) return ok();
  if (const YAML::Node controller = init["controller"]; controller && controller.IsMap()) {
    if (const YAML::Node port = controller["webhookPort"]; port && port.IsScalar()) {
      const auto number = parse_int<int>(port.Scalar());
      if (!number || *number < 0 || *number > 65535) return bad("not a port", "init.controller.webhookPort");
      if (*number != 0) out.webhook_port = *number;
    }
    const auto text = [&](const char* key, std::string& to) {
      if (const std::string value = text_of(controller[key]); !value.empty()) to = value;
    };
    text("metricsAddr", out.metrics_address);
    text("healthzAddr", out.healthz_address);
    text("leaderElectionID", out.leader_election_id);
    out.inject_security_context = parse_bool(text_of(controller["injectSecurityContext"])).value_or(false);
    out.enable_leader_election = parse_bool(text_of(controller["enableLeaderElection"])).value_or(false);
    if (const YAML::Node resources = controller["trialResources"];
        resources && resources.IsSequence() && resources.size() > 0) {
      out.trial_resources.clear();
      for (const auto& one : resources) {
        const std::string form = text_of(one);
        if (split(form, '.').size() < 3)
          return bad("not of the form Kind.version.group: " + form, "init.controller.trialResources");
        out.trial_resources.push_back(form);
      }
    }
  }
  if (const YAML::Node generator = init["certGenerator"]; generator && generator.IsMap()) {
    out.certificates_enabled = parse_bool(text_of(generator["enable"])).value_or(false);
    const std::string service = text_of(generator["webhookServiceName"]),
                      secret = text_of(generator["webhookSecretName"]);
    // Setting a name enables it.
    out.certificates_enabled = out.certificates_enabled || !service.empty() || !secret.empty();
    if (!service.empty()) out.webhook_service = service;
    if (!secret.empty()) out.webhook_secret = secret;
  }
  return ok();
}

Result<KatibConfig> read_config(const YAML::Node& root, std::vector<std::string>* faults) {
  KatibConfig out;
  if (!root || root.IsNull()) return bad("it is empty", "katib-config.yaml");
  if (!root.IsMap()) return bad("not a map", "katib-config.yaml");
  if (const std::string kind = text_of(root["kind"]); !kind.empty() && kind != "KatibConfig")
    return bad("not a KatibConfig but a " + kind, "kind");
  if (const std::string version = text_of(root["apiVersion"]);
      !version.empty() && version != "config.kubeflow.org/v1beta1")
    return bad("this version is not known: " + version, "apiVersion");
  if (Status init = read_init(root["init"], out); !init) return init.error();
  const YAML::Node runtime = root["runtime"];
  const YAML::Node collectors = runtime && runtime.IsMap() ? runtime["metricsCollectors"] : YAML::Node();
  if (!collectors || !collectors.IsSequence()) return out;
  for (const auto& entry : collectors) {
    if (!entry.IsMap()) return bad("an entry is no map", "runtime.metricsCollectors");
    const std::string name = text_of(entry["kind"]);
    const CollectorKind* kind = find_collector_kind(name);
    if (name.empty()) return bad("an entry has no kind", "runtime.metricsCollectors");
    if (kind == nullptr) continue;  // a kind of somebody else
    Result<CollectorConfig> collector = read_collector(entry, name);
    if (!collector && faults == nullptr) return collector.error();
    if (!collector) {
      faults->push_back(collector.error().message());
      out.collectors.erase(kind->name);
      continue;
    }
    out.collectors[kind->name] = std::move(*collector);  // the last entry of a kind wins
  }
  return out;
}

// The settings of `tacho-config.yaml` beside those that are keys of their own.
Result<std::map<std::string, std::string>> unfold(std::map<std::string, std::string> data) {
  const auto found = data.find("tacho-config.yaml");
  if (found == data.end()) return data;
  const std::string yaml = found->second;
  data.erase(found);
  const Error refused{Code::invalid, "not a map of settings", "tacho-config.yaml",
                      "write one setting a line, as in wrap: launcher"};
  try {
    const YAML::Node root = YAML::Load(yaml);
    if (!root || root.IsNull()) return data;
    if (!root.IsMap()) return refused;
    for (const auto& entry : root) {
      if (!entry.second.IsScalar()) return refused;
      data[entry.first.as<std::string>()] = entry.second.Scalar();
    }
  } catch (const YAML::Exception&) { return refused; }
  return data;
}

}  // namespace

Result<KatibConfig> parse_katib_config(const std::string& yaml, std::vector<std::string>* faults) {
  if (yaml.size() > (1u << 20)) return bad("it is larger than a ConfigMap can be", "katib-config.yaml");
  try {
    return read_config(YAML::Load(yaml), faults);
  } catch (const YAML::Exception& error) { return bad(error.what(), "katib-config.yaml"); }
}

Result<TachoConfig> parse_tacho_config(const std::map<std::string, std::string>& given) {
  TachoConfig out;
  Result<std::map<std::string, std::string>> unfolded = unfold(given);
  if (!unfolded) return unfolded.error();
  const std::map<std::string, std::string>& data = *unfolded;
  for (const auto& [key, raw] : data) {
    const std::string value(trim(raw));
    const auto refuse = [&](const char* allowed) {
      return Error{Code::invalid, "the value is not known: " + value, "tacho-config: " + key,
                   std::string("write one of ") + allowed};
    };
    const auto flag = [&](bool& to) {
      const std::optional<bool> parsed = parse_bool(value);
      if (parsed) to = *parsed;
      return parsed.has_value();
    };
    if (key == "sidecarMode") {
      if (value == "container") out.sidecar_mode = SidecarMode::container;
      else if (value == "native") out.sidecar_mode = SidecarMode::native;
      else if (value == "auto") out.sidecar_mode = SidecarMode::automatic;
      else return refuse("container, native, auto");
    } else if (key == "wrap") {
      if (value == "launcher") out.wrap = WrapForm::launcher;
      else if (value == "shell") out.wrap = WrapForm::shell;
      else return refuse("launcher, shell");
    } else if (key == "profile") {
      if (value != "tacho" && value != "drop-in" && value != "none") return refuse("tacho, drop-in, none");
      out.profile = value;
    } else if (key == "multiple") {
      if (value != "all" && value != "first") return refuse("all, first");
      out.multiple_first = value == "first";
    } else if (key == "deadlinePolicy") {
      if (value != "allow" && value != "refuse") return refuse("allow, refuse");
      out.refuse_late = value == "refuse";
    } else if (key == "strict") {
      if (!flag(out.strict)) return refuse("true, false");
    } else if (key == "twoStage") {
      if (!flag(out.two_stage)) return refuse("true, false");
    } else if (key == "disableIstio") {
      if (!flag(out.no_istio)) return refuse("true, false");
    } else if (key == "launcherImage") {
      out.launcher_image = value;
    } else {
      return Error{Code::invalid, "no such setting", "tacho-config: " + key,
                   "known are sidecarMode, wrap, profile, multiple, strict, deadlinePolicy, twoStage, disableIstio, "
                   "launcherImage"};
    }
  }
  return out;
}

}  // namespace tacho
