#include "kube/webhook/trial_facts.h"

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace tacho {
namespace {

std::string scalar(const Json* value) {
  if (value == nullptr) return "";
  if (value->is_string()) return value->get<std::string>();
  return value->is_number() || value->is_boolean() ? value->dump() : "";
}

Pairs read_pairs(const Json* object) {
  Pairs out;
  if (object == nullptr || !object->is_object()) return out;
  for (const auto& [key, value] : object->items()) out.emplace_back(key, scalar(&value));
  return out;
}

std::vector<std::string> read_list(const Json* array) {
  std::vector<std::string> out;
  if (array == nullptr || !array->is_array()) return out;
  for (const Json& one : *array) {
    if (one.is_string()) out.push_back(one.get<std::string>());
  }
  return out;
}

void read_objective(const Json& trial, TrialFacts& out) {
  out.objective_type = text_at(trial, {"spec", "objective", "type"});
  if (const std::string name = text_at(trial, {"spec", "objective", "objectiveMetricName"}); !name.empty())
    out.metrics.push_back(name);
  for (std::string& name : read_list(find(trial, {"spec", "objective", "additionalMetricNames"})))
    out.metrics.push_back(std::move(name));
}

void read_http(const Json& get, TrialFacts& out) {
  if (const std::string path = text_at(get, {"path"}); !path.empty()) out.http_path = path;
  if (const std::string scheme = text_at(get, {"scheme"}); !scheme.empty()) out.http_scheme = scheme;
  out.http_host = text_at(get, {"host"});
  const std::string port = scalar(find(get, {"port"}));
  if (const auto number = parse_int<int>(port)) {
    if (*number > 0 && *number < 65536) out.http_port = *number;
  } else {
    out.http_port_name = port;
  }
  const Json* headers = find(get, {"httpHeaders"});
  if (headers == nullptr || !headers->is_array()) return;
  for (const Json& header : *headers) {
    if (header.is_object()) out.http_headers.emplace_back(text_at(header, {"name"}), text_at(header, {"value"}));
  }
}

void read_path(const Json& collector, TrialFacts& out) {
  const CollectorKind& kind = *out.kind;
  if (kind.takes_path) out.path = text_at(collector, {"source", "fileSystemPath", "path"});
  if (out.path.empty()) out.path = kind.path;
  if (kind.takes_format) out.format = text_at(collector, {"source", "fileSystemPath", "format"});
  if (out.format.empty()) out.format = kind.format;
  const std::string sort = lower(text_at(collector, {"source", "fileSystemPath", "kind"}));
  const bool named_folder = sort == "directory" || sort == "diretory";  // the second is how the proposal spells it
  out.path_is_folder = kind.is_ours() ? kind.path_is_folder : named_folder;
}

void read_collector(const Json& trial, TrialFacts& out) {
  static const Json kNone = Json::object();
  const Json* found = find(trial, {"spec", "metricsCollector"});
  const Json& collector = found != nullptr && found->is_object() ? *found : kNone;
  if (const std::string kind = text_at(collector, {"collector", "kind"}); !kind.empty()) {
    if (const CollectorKind* known = find_collector_kind(kind)) out.kind = known;
    else out.unknown_kind = kind;
  }
  if (const Json* custom = find(collector, {"collector", "customCollector"}); custom != nullptr && custom->is_object())
    out.custom = std::make_shared<const Json>(*custom);
  out.filters = read_list(find(collector, {"source", "filter", "metricsFormat"}));
  if (const Json* get = find(collector, {"source", "httpGet"}); get != nullptr && get->is_object())
    read_http(*get, out);
  read_path(collector, out);
}

void read_rules(const Json& trial, TrialFacts& out) {
  const Json* rules = find(trial, {"spec", "earlyStoppingRules"});
  if (rules == nullptr || !rules->is_array()) return;
  for (const Json& rule : *rules) {
    if (!rule.is_object()) continue;
    std::string start = scalar(find(rule, {"startStep"}));
    if (start.empty()) start = "0";
    out.stop_rules.push_back(text_at(rule, {"name"}) + ";" + scalar(find(rule, {"value"})) + ";" +
                             text_at(rule, {"comparison"}) + ";" + start);
  }
}

}  // namespace

Result<TrialFacts> read_trial(const Json& trial) {
  TrialFacts out;
  out.name = text_at(trial, {"metadata", "name"});
  out.ns = text_at(trial, {"metadata", "namespace"});
  out.uid = text_at(trial, {"metadata", "uid"});
  if (out.name.empty()) return Error{Code::invalid, "the Trial has no name", "", ""};
  out.labels = read_pairs(find(trial, {"metadata", "labels"}));
  for (const auto& [key, value] : out.labels) {
    if (key == kExperimentLabel) out.experiment = value;
  }
  read_objective(trial, out);
  read_collector(trial, out);
  read_rules(trial, out);
  out.primary_labels = read_pairs(find(trial, {"spec", "primaryPodLabels"}));
  out.primary_container = text_at(trial, {"spec", "primaryContainerName"});
  return out;
}

std::string shared_folder(const TrialFacts& trial) {
  std::string path = trial.path;
  if (path.empty()) return "";
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  if (trial.path_is_folder) return path;
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return "";
  return slash == 0 ? "/" : path.substr(0, slash);
}

SuggestionFacts read_suggestion(const Json& suggestion) {
  SuggestionFacts out;
  out.algorithm = text_at(suggestion, {"spec", "algorithm", "algorithmName"});
  for (const Json* settings : {find(suggestion, {"spec", "algorithm", "algorithmSettings"}),
                               find(suggestion, {"status", "algorithmSettings"})}) {
    if (settings == nullptr || !settings->is_array()) continue;
    for (const Json& setting : *settings) {
      if (setting.is_object() && text_at(setting, {"name"}) == "suggestion_trial_dir")
        out.trial_dir = text_at(setting, {"value"});
    }
  }
  return out;
}

}  // namespace tacho
