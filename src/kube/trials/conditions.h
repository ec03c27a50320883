// The conditions of a Trial and what follows from the state of its job. Pure functions on JSON trees; thread-safe.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "kube/api/object.h"
#include "kube/trials/final_metrics.h"

namespace tacho {

enum class JobState { absent, running, succeeded, failed };
struct JobStatus {
  JobState state = JobState::absent;
  std::string reason, message;  // the job's own; may be empty
};
// By the Trial's failureCondition first, then its successCondition; Katib's defaults for the kind where there are none.
JobStatus job_status(const Json& trial, const Json& job);

// Whether a condition of this type is there with status True.
bool has_condition(const Json& trial, std::string_view type);
// Succeeded, Failed, Killed, EarlyStopped or MetricsUnavailable.
bool is_complete(const Json& trial);
// The type of the last condition that is True, which is shown as the Trial's state. Empty when there is none.
std::string state_of(const Json& trial);

// `now` is RFC 3339. True when something changed. A condition is unique by type. With the same status and reason it is
// left alone; with the same status it keeps lastTransitionTime; one that changed moves to the end.
bool set_condition(Json& trial, std::string_view type, bool value, std::string_view reason, std::string_view message,
                   std::string_view now);

// Created: startTime too.
bool mark_created(Json& trial, std::string_view now);
bool mark_running(Json& trial, std::string_view now);
// Ends the Trial by its job's state: Succeeded or MetricsUnavailable by the objective's latest value, or Failed; sets
// Running to False, and completionTime. An EarlyStopped Trial keeps its state; only Running is ended. `missing` says
// which metric never came.
bool mark_ended(Json& trial, const JobStatus& job, std::string_view missing, std::string_view now);

// status.observation; false when it is the same already.
bool set_observation(Json& trial, const std::vector<FinalMetric>& metrics);
std::vector<FinalMetric> observation_of(const Json& trial);
// The objective's latest value is there and is not "unavailable".
bool objective_available(const Json& trial);

// Names in the order of spec.objective.metricStrategies; the objective, then the additional names where there are none.
std::vector<std::string> metric_names(const Json& trial);

}  // namespace tacho
