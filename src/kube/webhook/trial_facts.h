// What the webhook needs to know of a Trial, read once from its JSON text. Pure functions; thread-safe.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "katib/model/collector_kinds.h"
#include "kube/api/object.h"

namespace tacho {

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct TrialFacts {
  std::string name, ns, uid;
  Pairs labels;            // of the Trial object
  std::string experiment;  // label katib.kubeflow.org/experiment; also the Suggestion's name
  std::string objective_type;
  std::vector<std::string> metrics;                     // the objective first
  const CollectorKind* kind = &usual_collector_kind();  // never null
  std::string unknown_kind;                             // not empty: a kind that nobody knows
  std::string path;                                     // of the file or folder; the kind's default where there is none
  bool path_is_folder = false;
  std::string format;  // of a log
  std::vector<std::string> filters;
  std::string http_path = "/metrics", http_scheme = "HTTP", http_host;
  int http_port = 8080;
  std::string http_port_name;  // a port by name, to be looked up in the pod
  Pairs http_headers;
  std::shared_ptr<const Json> custom;  // the user's container; empty when there is none
  Pairs primary_labels;
  std::string primary_container;
  std::vector<std::string> stop_rules;  // `name;value;comparison;startStep`
};

inline constexpr const char* kTrialVersion = "kubeflow.org/v1beta1";
inline constexpr const char* kTrialLabel = "katib.kubeflow.org/trial";
inline constexpr const char* kExperimentLabel = "katib.kubeflow.org/experiment";

Result<TrialFacts> read_trial(const Json& trial);

// The folder that trainer and collector share as a volume: the file's folder, or the folder itself. Empty: none.
std::string shared_folder(const TrialFacts& trial);

struct SuggestionFacts {
  std::string algorithm;
  std::string trial_dir;  // algorithm setting suggestion_trial_dir; may be empty
};
SuggestionFacts read_suggestion(const Json& suggestion);

}  // namespace tacho
