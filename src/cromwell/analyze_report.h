// What `tacho cromwell analyze` says, before it is text, JSON or a page: for each task what was asked for, what was
// used, what to ask for by the size of the inputs, and the money. Not thread-safe.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "cromwell/analyze_fit.h"
#include "cromwell/analyze_fold.h"
#include "cromwell/analyze_money.h"
#include "cromwell/analyze_series.h"
#include "cromwell/analyze_source.h"

namespace tacho {

struct ValueRange {
  double least = kNotKnown, most = kNotKnown;
  void add(double value);
};

struct UsedAmount {
  double p95 = kNotKnown, peak = kNotKnown;
};

inline constexpr std::array kResources = {Resource::cpu, Resource::memory, Resource::disk};
// What is fitted: mean cores, peak memory, peak of the working disk; NaN: not measured.
double used_of(const CallAttempt& attempt, Resource resource);
double requested_of(const CallAttempt& attempt, Resource resource);

struct TaskReport {
  uint32_t task = 0;
  std::vector<uint32_t> attempts;      // in AttemptTable::attempts()
  std::vector<std::string> workflows;  // names, sorted
  size_t measured = 0, succeeded = 0, failed = 0, preempted = 0, unsized = 0;
  int64_t oom_kills = 0, missing_rows = 0;
  double hours = 0, cores_mean = kNotKnown;  // mean over attempts
  ValueRange input_gb;
  std::array<ValueRange, 3> requested;  // by resource: CPUs, GB, GB
  std::array<UsedAmount, 3> used;       // over all samples: cores, GB, GB
  std::array<ResourceFit, 3> fits;
  UseShares shares;       // of what was asked for, by sample
  std::string disk_type;  // of the working disk, as most attempts have it
  std::vector<std::string> wdl, advice;
  Money money;
};

struct WorkflowReport {
  std::string name;
  size_t attempts = 0, tasks = 0;
  double hours = 0;
  Money money;
};

struct AnalyzeReport {
  std::vector<TaskReport> tasks;          // the worst first
  std::vector<WorkflowReport> workflows;  // likewise
  Money money;
  std::string currency;
  bool has_money = false;
  std::optional<WorkflowSeries> series;  // of the one workflow that was asked for
  std::vector<std::string> notes;        // sentences without a full stop
};

AnalyzeReport make_report(const AttemptTable& table, const UsageFold& fold, CostTable& costs);

}  // namespace tacho
