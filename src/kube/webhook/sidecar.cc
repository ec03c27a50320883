#include "kube/webhook/sidecar.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "kube/webhook/wrap.h"
#include "os/environment.h"

namespace tacho {
namespace {

// Joined by ; unless an item holds one itself: then each is given by a flag of its own.
void add_list(std::vector<std::string>& out, const char* flag, const std::vector<std::string>& items) {
  bool apart = false;
  std::string joined;
  for (const std::string& item : items) {
    apart = apart || item.find(';') != std::string::npos;
    joined += (joined.empty() ? "" : ";") + item;
  }
  if (!apart) return out.push_back(flag), out.push_back(joined);
  // A flag that is given once is split; an empty item is none, but makes it two.
  for (const std::string& item : items) out.push_back(flag), out.push_back(item);
  if (items.size() == 1) out.push_back(flag), out.push_back("");
}

void add_own(std::vector<std::string>& out, const TrialFacts& trial, const SidecarOptions& options) {
  out.insert(out.end(), {"--kind", std::string(trial.kind->name), "--profile", options.profile});
  if (options.replace_attempts) out.insert(out.end(), {"--attempts", "replace"});
  if (trial.kind->source == CollectorKind::Source::endpoint) {
    out.insert(out.end(), {"--http-path", trial.http_path, "--http-port", std::to_string(options.http_port),
                           "--http-scheme", trial.http_scheme});
    if (!trial.http_host.empty()) out.insert(out.end(), {"--http-host", trial.http_host});
    for (const auto& [name, value] : trial.http_headers) out.insert(out.end(), {"--http-header", name + ": " + value});
  }
  if (!options.wrapped) out.push_back("--no-marker=true");
  if (!options.active_when.empty()) out.insert(out.end(), {"--active-when", options.active_when});
}

std::string variable(const char* name, const std::string& other) { return environment_raw(name).value_or(other); }

}  // namespace

std::string sidecar_name(const TrialFacts& trial) {
  if (trial.kind->is_ours()) return std::string(trial.kind->container);
  return trial.custom ? text_at(*trial.custom, {"name"}) : "";
}

std::vector<std::string> sidecar_arguments(const TrialFacts& trial, const SidecarOptions& options) {
  std::vector<std::string> out = {"-t", trial.name};
  add_list(out, "-m", trial.metrics);
  out.insert(out.end(), {"-o-type", trial.objective_type, "-s-db", options.db_manager});
  if (!trial.path.empty()) out.insert(out.end(), {"-path", trial.path});
  if (!trial.filters.empty()) add_list(out, "-f", trial.filters);
  if (!trial.format.empty()) out.insert(out.end(), {"-format", trial.format});
  if (options.wait_all_processes) out.insert(out.end(), {"-w", *options.wait_all_processes ? "true" : "false"});
  if (!options.early_stopping.empty()) {
    for (const std::string& rule : trial.stop_rules) out.insert(out.end(), {"-stop-rule", rule});
    out.insert(out.end(), {"-s-earlystop", options.early_stopping});
  }
  if (options.profile != "none") add_own(out, trial, options);
  // Kubernetes would read $(NAME) in a filter as a variable.
  for (std::string& argument : out) argument = for_kubernetes(argument);
  return out;
}

std::string core_namespace() { return variable("KATIB_CORE_NAMESPACE", "kubeflow"); }

std::string db_manager_address() {
  const std::string ns = variable("KATIB_DB_MANAGER_SERVICE_NAMESPACE", core_namespace());
  return variable("KATIB_DB_MANAGER_SERVICE_IP", "katib-db-manager") + (ns.empty() ? "" : "." + ns) + ":" +
         variable("KATIB_DB_MANAGER_SERVICE_PORT", "6789");
}

Json resources_json(const CollectorConfig& config) {
  Json out = Json::object();
  const auto add = [&](const char* key, const Quantities& quantities) {
    if (quantities.empty()) return;
    Json& map = out[key] = Json::object();
    for (const auto& [name, amount] : quantities) map[name] = amount;
  };
  add("requests", config.requests);
  add("limits", config.limits);
  return out;
}

}  // namespace tacho
