#include "kube/trials/conditions.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kube/api/job_kinds.h"
#include "kube/trials/gjson.h"

namespace tacho {
namespace {

Json& child(Json& parent, const char* name, Json::value_t type) {
  if (!parent.is_object()) parent = Json::object();
  Json& value = parent[name];
  if (value.type() != type) value = Json(type);
  return value;
}

const Json* condition_of(const Json& trial, std::string_view type) {
  const Json* list = find(trial, {"status", "conditions"});
  if (list == nullptr || !list->is_array()) return nullptr;
  for (const Json& entry : *list) {
    if (text_at(entry, {"type"}) == type) return &entry;
  }
  return nullptr;
}

bool end_running(Json& trial, std::string_view now) {
  const Json* running = condition_of(trial, "Running");
  if (running == nullptr) return false;
  return set_condition(trial, "Running", false, text_at(*running, {"reason"}), text_at(*running, {"message"}), now);
}

// The last condition is what is shown as the Trial's state: EarlyStopped stays behind Running.
bool end_early_stopped(Json& trial, std::string_view now) {
  if (!end_running(trial, now)) return false;
  Json& list = trial["status"]["conditions"];
  const auto early = std::find_if(list.begin(), list.end(),
                                  [](const Json& entry) { return text_at(entry, {"type"}) == "EarlyStopped"; });
  Json last = std::move(*early);
  list.erase(early);
  list.push_back(std::move(last));
  return true;
}

// What Katib sets for an Experiment that names no condition; the training operator's jobs all have the same.
std::string default_condition(const Json& job, bool success) {
  const std::string kind = text_at(job, {"kind"}), api = text_at(job, {"apiVersion"});
  const bool training = api.starts_with("kubeflow.org/");
  const JobKind* known = find_job_kind(training ? "PyTorchJob" : kind);
  if (known == nullptr || (!training && known->group == "kubeflow.org")) return {};
  const std::string_view type = success ? known->succeeded : known->failed;
  if (type.empty()) return {};
  return R"(status.conditions.#(type==")" + std::string(type) + R"(")#|#(status=="True")#)";
}

ConditionMatch check(const Json& trial, const Json& job, bool success) {
  const std::string given = text_at(trial, {"spec", success ? "successCondition" : "failureCondition"});
  return match_condition(job, given.empty() ? default_condition(job, success) : given);
}

}  // namespace

JobStatus job_status(const Json& trial, const Json& job) {
  if (ConditionMatch failure = check(trial, job, false); failure.met)
    return {JobState::failed, failure.reason, failure.message};
  if (ConditionMatch success = check(trial, job, true); success.met)
    return {JobState::succeeded, success.reason, success.message};
  if (text_at(job, {"metadata", "name"}).empty()) return {};
  return {JobState::running, "", ""};
}

bool has_condition(const Json& trial, std::string_view type) {
  const Json* condition = condition_of(trial, type);
  return condition != nullptr && text_at(*condition, {"status"}) == "True";
}

bool is_complete(const Json& trial) {
  for (const char* type : {"Succeeded", "Failed", "Killed", "EarlyStopped", "MetricsUnavailable"}) {
    if (has_condition(trial, type)) return true;
  }
  return false;
}

std::string state_of(const Json& trial) {
  const Json* list = find(trial, {"status", "conditions"});
  if (list == nullptr || !list->is_array()) return {};
  for (auto entry = list->rbegin(); entry != list->rend(); ++entry) {
    if (text_at(*entry, {"status"}) == "True") return text_at(*entry, {"type"});
  }
  return {};
}

bool set_condition(Json& trial, std::string_view type, bool value, std::string_view reason, std::string_view message,
                   std::string_view now) {
  Json& list = child(child(trial, "status", Json::value_t::object), "conditions", Json::value_t::array);
  const char* const status = value ? "True" : "False";
  std::string transition(now);
  const auto of_type = [&](const Json& entry) { return text_at(entry, {"type"}) == type; };
  if (const auto old = std::find_if(list.begin(), list.end(), of_type); old != list.end()) {
    const bool same_status = text_at(*old, {"status"}) == status;
    if (same_status && text_at(*old, {"reason"}) == reason) return false;
    if (same_status && !text_at(*old, {"lastTransitionTime"}).empty())
      transition = text_at(*old, {"lastTransitionTime"});
    Json others = Json::array();
    for (Json& entry : list) {
      if (!of_type(entry)) others.push_back(std::move(entry));
    }
    list = std::move(others);
  }
  list.push_back({{"type", type},
                  {"status", status},
                  {"reason", reason},
                  {"message", message},
                  {"lastUpdateTime", now},
                  {"lastTransitionTime", transition}});
  return true;
}

bool mark_created(Json& trial, std::string_view now) {
  Json& status = child(trial, "status", Json::value_t::object);
  if (text_at(status, {"startTime"}).empty()) status["startTime"] = now;
  return set_condition(trial, "Created", true, "TrialCreated", "Trial is created", now);
}

bool mark_running(Json& trial, std::string_view now) {
  return set_condition(trial, "Running", true, "TrialRunning", "Trial is running", now);
}

bool mark_ended(Json& trial, const JobStatus& job, std::string_view missing, std::string_view now) {
  if (has_condition(trial, "EarlyStopped")) return end_early_stopped(trial, now);
  std::string type, reason, message;
  if (job.state == JobState::failed) {
    type = "Failed", reason = "TrialFailed", message = "Trial has failed";
  } else if (job.state == JobState::succeeded && objective_available(trial)) {
    type = "Succeeded", reason = "TrialSucceeded", message = "Trial has succeeded";
  } else if (job.state == JobState::succeeded) {
    type = "MetricsUnavailable", reason = "MetricsUnavailable", message = "Metrics are not available";
    if (!missing.empty()) message += ": " + std::string(missing);
  } else {
    return false;
  }
  if (!job.reason.empty()) reason += ". Job reason: " + job.reason;
  if (!job.message.empty()) message += ". Job message: " + job.message;
  bool changed = end_running(trial, now);
  changed = set_condition(trial, type, true, reason, message, now) || changed;
  if (changed) trial["status"]["completionTime"] = now;
  return changed;
}

bool set_observation(Json& trial, const std::vector<FinalMetric>& metrics) {
  Json list = Json::array();
  for (const FinalMetric& metric : metrics)
    list.push_back({{"name", metric.name}, {"min", metric.min}, {"max", metric.max}, {"latest", metric.latest}});
  const Json* old = find(trial, {"status", "observation", "metrics"});
  if (old != nullptr && *old == list) return false;
  child(child(trial, "status", Json::value_t::object), "observation", Json::value_t::object)["metrics"] =
      std::move(list);
  return true;
}

std::vector<FinalMetric> observation_of(const Json& trial) {
  std::vector<FinalMetric> metrics;
  const Json* list = find(trial, {"status", "observation", "metrics"});
  if (list == nullptr || !list->is_array()) return metrics;
  for (const Json& entry : *list)
    metrics.push_back(
        {text_at(entry, {"name"}), text_at(entry, {"min"}), text_at(entry, {"max"}), text_at(entry, {"latest"})});
  return metrics;
}

bool objective_available(const Json& trial) {
  const std::string objective = text_at(trial, {"spec", "objective", "objectiveMetricName"});
  for (const FinalMetric& metric : observation_of(trial)) {
    if (metric.name == objective) return !metric.latest.empty() && metric.latest != kUnavailable;
  }
  return false;
}

std::vector<std::string> metric_names(const Json& trial) {
  std::vector<std::string> names;
  const auto add = [&](std::string name) {
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
  };
  const Json* strategies = find(trial, {"spec", "objective", "metricStrategies"});
  if (strategies != nullptr && strategies->is_array() && !strategies->empty()) {
    for (const Json& entry : *strategies) add(text_at(entry, {"name"}));
    return names;
  }
  add(text_at(trial, {"spec", "objective", "objectiveMetricName"}));
  const Json* additional = find(trial, {"spec", "objective", "additionalMetricNames"});
  if (additional != nullptr && additional->is_array()) {
    for (const Json& entry : *additional) add(entry.is_string() ? entry.get<std::string>() : "");
  }
  return names;
}

}  // namespace tacho
