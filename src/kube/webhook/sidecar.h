// The collector's container: its arguments in Katib's order, then tacho's own, so that another collector's image works
// when tacho's are switched off. Pure functions; thread-safe.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "kube/api/katib_config.h"
#include "kube/api/object.h"
#include "kube/webhook/trial_facts.h"

namespace tacho {

// `metrics-logger-and-collector`, `metrics-collector`; Custom keeps its own.
std::string sidecar_name(const TrialFacts& trial);

struct SidecarOptions {
  std::string db_manager;      // host:port
  std::string early_stopping;  // host:port; empty: no stop rules are passed
  std::optional<bool> wait_all_processes;
  std::string profile;  // none: nothing of tacho's own
  bool replace_attempts = false;
  bool wrapped = true;
  int http_port = 0;        // a port's name is resolved
  std::string active_when;  // ENV=value
};
std::vector<std::string> sidecar_arguments(const TrialFacts& trial, const SidecarOptions& options);

// host:port of the DB manager by KATIB_DB_MANAGER_SERVICE_{IP,NAMESPACE,PORT} and KATIB_CORE_NAMESPACE of the
// environment.
std::string db_manager_address();
std::string core_namespace();

// {"requests":{…},"limits":{…}}
Json resources_json(const CollectorConfig& config);

}  // namespace tacho
