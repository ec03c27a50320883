// The options of `tacho-katib trials`. Pure but for the environment; not thread-safe.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "katib/rpc/clients.h"
#include "kube/api/resource_watch.h"

namespace tacho {

struct TrialsFlags {
  bool help = false;
  std::string mode = "check";
  std::string kubeconfig;
  std::string core_namespace, watch_namespace;
  std::string lease, identity;
  bool lease_given = false;  // otherwise the mode decides, and for own katib-config
  bool leader_elect = true;
  std::string health_address = ":18080", metrics_address = ":8080";  // empty: none
  std::vector<KindName> kinds;
  int64_t metrics_wait_ms = 600'000, page_after_s = 3'600, resync_s = 36'000, watch_timeout_s = 300,
          idle_watch_ms = 60'000;
  int workers = 4;
  bool verbose = false;
  RpcOptions db;
};

// Without the command's own name. An Error's `what` is for stderr, with exit 2.
Result<TrialsFlags> parse_trials_flags(std::span<const std::string> words);
std::string trials_help();

}  // namespace tacho
