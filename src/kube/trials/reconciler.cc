#include "kube/trials/reconciler.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/text.h"
#include "base/time_text.h"
#include "base/units.h"
#include "katib/model/collector_kinds.h"
#include "katib/model/time_stamp.h"
#include "os/clock.h"

namespace tacho {
namespace {

using Next = Reconciled::Next;

std::string now_text() { return format_seconds(system_clock().realtime_ns()); }

bool flag_at(const Json& from, std::initializer_list<std::string_view> steps) {
  const Json* value = find(from, steps);
  return value != nullptr && value->is_boolean() && value->get<bool>();
}

bool has_finalizer(const Json& trial) {
  const Json* list = find(trial, {"metadata", "finalizers"});
  return list != nullptr && list->is_array() && std::find(list->begin(), list->end(), kFinalizer) != list->end();
}

// The trainer reports by itself.
bool is_push(const Json& trial) {
  const CollectorKind* kind = find_collector_kind(text_at(trial, {"spec", "metricsCollector", "collector", "kind"}));
  return kind != nullptr && kind->source == CollectorKind::Source::trainer;
}

std::string objective_of(const Json& trial) { return text_at(trial, {"spec", "objective", "objectiveMetricName"}); }

std::string name_of(const Json& object) { return text_at(object, {"metadata", "name"}); }
std::string version_of(const Json& object) { return text_at(object, {"metadata", "resourceVersion"}); }
std::string namespace_of(const Json& object) { return text_at(object, {"metadata", "namespace"}); }

}  // namespace

Reconciled Reconciler::reconcile(const std::string& key) {
  key_ = key;
  const std::shared_ptr<const std::string> text = context_.trial(key);
  std::optional<Json> trial = text ? parse_json(*text) : std::nullopt;
  if (!trial) {
    context_.stop_waiting(key);
    return {};
  }
  if (!context_.settings.own) return check(*trial);
  if (find(*trial, {"metadata", "deletionTimestamp"}) != nullptr) return finalize(*trial);
  if (!has_finalizer(*trial)) {
    const std::string version = version_of(*trial);
    if (const WriteEnd end = writer_.set_finalizer(*trial, true); end != WriteEnd::done) return ended(end);
    context_.metrics->count(TrialsMetrics::created, namespace_of(*trial));
    context_.wrote(key_, version, dump_json(*trial));
  }
  if (!has_condition(*trial, "Created")) {
    if (const auto stop =
            status(*trial, [](Json& now) { return !has_condition(now, "Created") && mark_created(now, now_text()); }))
      return *stop;
  }
  tell_namesakes(*trial);
  const Json* spec = find(*trial, {"spec", "runSpec"});
  const KindName kind{spec == nullptr ? "" : text_at(*spec, {"apiVersion"}),
                      spec == nullptr ? "" : text_at(*spec, {"kind"})};
  if (kind.api_version.empty() || kind.kind.empty()) {
    if (first_time(*trial, "run spec"))
      writer_.event(*trial, true, "ReconcileFailed",
                    "spec.runSpec has no apiVersion or no kind: no job can be made of it");
    return {};
  }
  return advance(*trial, kind);
}

Reconciled Reconciler::advance(Json& trial, const KindName& kind) {
  const std::string ns = namespace_of(trial), name = name_of(trial);
  // Before anything is watched: a Trial may name any kind.
  if (const WriteEnd end = writer_.know_kind(kind); end != WriteEnd::done) {
    if (end == WriteEnd::absent && is_complete(trial)) return {};
    if (end == WriteEnd::absent && first_time(trial, "kind"))
      writer_.event(trial, true, "ReconcileFailed", writer_.why());
    return {end == WriteEnd::absent ? Next::later : Next::soon, end == WriteEnd::absent ? "" : writer_.why()};
  }
  Json job;
  bool there = false;
  if (const auto cached = context_.jobs->get(kind, key_)) {
    std::optional<Json> known = *cached ? parse_json(**cached) : std::nullopt;
    there = known.has_value();
    if (there) job = std::move(*known);
  } else {
    const WriteEnd end = writer_.read_job(kind, ns, name, job);
    if (end != WriteEnd::done && end != WriteEnd::absent) return ended(end);
    there = end == WriteEnd::done;
  }
  // Its job was there and is gone: perhaps the Trial is gone with it, and only its own watch is behind.
  if (!there && !is_complete(trial) && has_condition(trial, "Running")) {
    if (const WriteEnd end = writer_.read_again(trial); end != WriteEnd::done) return ended(end);
    if (find(trial, {"metadata", "deletionTimestamp"}) != nullptr) return finalize(trial);
  }
  if (!there && !is_complete(trial)) {
    if (const WriteEnd end = writer_.create_job(trial, kind, job); end != WriteEnd::done) {
      if (end == WriteEnd::failed && first_time(trial, "create"))
        writer_.event(trial, true, "ReconcileFailed", "the job cannot be created: " + writer_.why());
      return ended(end);
    }
    there = true;
  }
  if (there) {
    const std::optional<OwnerReference> owner = trial_owner(job);
    if (!owner || owner->uid != text_at(trial, {"metadata", "uid"})) {
      if (first_time(trial, "foreign job"))
        writer_.event(trial, true, "ReconcileFailed", "a job of this name is there that belongs to somebody else");
      return {Next::later, "a foreign job of that name"};
    }
  }
  const bool early = has_condition(trial, "EarlyStopped");
  const JobStatus job_state = there ? job_status(trial, job) : JobStatus{};
  const bool open = !is_complete(trial) || (early && (there || find(trial, {"status", "observation"}) == nullptr));
  if (open && (early || job_state.state == JobState::succeeded || job_state.state == JobState::failed)) {
    if (Reconciled result = end(trial, job_state); result.next != Next::nothing) return result;
  } else if (open && job_state.state == JobState::running) {
    if (const auto stop = status(trial, [](Json& now) { return !is_complete(now) && mark_running(now, now_text()); }))
      return *stop;
  }
  if (there) {
    if (Reconciled result = clean_up(trial, job); result.next != Next::nothing) return result;
  }
  // Nobody would tell of a change: it is looked at again.
  const bool ended = is_complete(trial) && (!there || flag_at(trial, {"spec", "retainRun"}));
  return !ended && !context_.jobs->watched(kind) ? Reconciled{Next::later} : Reconciled{};
}

// The job has ended, or the Trial was stopped early: observation and conditions in one write.
Reconciled Reconciler::end(Json& trial, const JobStatus& job) {
  Metrics metrics;
  const bool early = has_condition(trial, "EarlyStopped");
  std::string missing;
  if (early || job.state == JobState::succeeded) {
    Result<Metrics> read = read_metrics(trial);
    if (!read) {
      if (first_time(trial, read.error().what)) writer_.event(trial, true, "ReconcileFailed", read.error().message());
      return {Next::soon, read.error().message()};
    }
    metrics = std::move(*read);
    if (!metrics.missing.empty()) {
      const int64_t waited_ms = context_.waited_ms(key_);
      if (waited_ms < context_.settings.metrics_wait_ms) return {Next::later, "no row of " + metrics.missing + " yet"};
      missing = "no row of the metric " + metrics.missing + " came within " +
                human_duration(context_.settings.metrics_wait_ms * kNsPerMs);
    }
  }
  const std::string before = state_of(trial);
  const auto stop = status(trial, [&](Json& now) {
    const bool stopped_early = has_condition(now, "EarlyStopped");
    if (is_complete(now) && !stopped_early) return false;
    bool changed = !metrics.final.empty() && set_observation(now, metrics.final);
    return mark_ended(now, job, missing, now_text()) || changed;
  });
  if (stop) return *stop;
  context_.stop_waiting(key_);
  const std::string after = state_of(trial), ns = namespace_of(trial), name = name_of(trial);
  if (after == before) return {};
  if (after == "Succeeded") {
    context_.metrics->count(TrialsMetrics::succeeded, ns);
    writer_.event(trial, false, "JobSucceeded", "Job " + name + " has succeeded");
  } else if (after == "Failed") {
    context_.metrics->count(TrialsMetrics::failed, ns);
    writer_.event(trial, true, "JobFailed",
                  "Job " + name + " has failed" + (job.message.empty() ? "" : ": " + job.message));
  } else if (after == "MetricsUnavailable") {
    context_.metrics->count(TrialsMetrics::metrics_unavailable, ns);
    writer_.event(trial, true, "MetricsUnavailable",
                  missing.empty() ? "Metrics are not available for job " + name : missing);
  }
  return {};
}

Result<Reconciler::Metrics> Reconciler::read_metrics(const Json& trial) {
  const std::string name = name_of(trial), objective = objective_of(trial);
  const GetRows get = [&](const std::string& metric, const std::string& start, const std::string& end,
                          std::vector<MetricRow>& rows) { return context_.db->get(name, metric, start, end, rows); };
  const int64_t now_us = system_clock().realtime_ns() / kNsPerUs;
  const int64_t start_us = parse_time_stamp_us(text_at(trial, {"status", "startTime"})).value_or(now_us);
  const RowWindows windows = windows_for(start_us, now_us, context_.settings.page_after_s * 1'000'000);
  const std::vector<std::string> names = metric_names(trial);
  Metrics metrics;
  // The objective first: without its rows the collector has not finished, and the others need not be read.
  Result<FinalMetricFold> first = fold_rows(get, objective, windows);
  if (!first) return first.error();
  if (first->rows() == 0 && is_push(trial) && context_.settings.own) {
    const MetricRow row{format_microseconds(system_clock().realtime_ns()), objective, kUnavailable, {}, {}};
    if (const RpcStatus sent = context_.db->report(name, RowBatch{row}); !sent.ok())
      return Error{Code::io, "the observation log cannot be written: " + sent.message, objective, "it is tried again"};
    if (const Status added = first->add(row); !added) return added.error();
  }
  if (first->rows() == 0) metrics.missing = objective;
  for (const std::string& metric : names) {
    if (metric == objective) {
      metrics.final.push_back(first->result());
    } else if (first->rows() == 0) {
      metrics.final.push_back({.name = metric});
    } else {
      const Result<FinalMetricFold> fold = fold_rows(get, metric, windows);
      if (!fold) return fold.error();
      metrics.final.push_back(fold->result());
    }
  }
  return metrics;
}

Reconciled Reconciler::clean_up(const Json& trial, const Json& job) {
  if (!is_complete(trial) || flag_at(trial, {"spec", "retainRun"}) ||
      find(job, {"metadata", "deletionTimestamp"}) != nullptr)
    return {};
  // It became EarlyStopped under our hands: its rows come first, with the event that tells of it.
  if (has_condition(trial, "EarlyStopped") && find(trial, {"status", "observation"}) == nullptr) return {};
  if (const WriteEnd end = writer_.delete_job(job); end != WriteEnd::done) return ended(end);
  if (context_.first_time("deleted " + text_at(job, {"metadata", "uid"})))
    writer_.event(trial, false, "JobDeleted", "Job " + name_of(job) + " has been deleted");
  return {};
}

Reconciled Reconciler::finalize(Json& trial) {
  if (!has_finalizer(trial)) return {};
  const std::string name = name_of(trial), ns = namespace_of(trial);
  if (const std::vector<std::string> others = context_.namesakes(name, ns); !others.empty()) {
    writer_.event(trial, true, "RowsKept",
                  "the rows of this Trial stay: a Trial of the same name lives in namespace " + others.front());
  } else if (const RpcStatus removed = context_.db->remove(name); !removed.ok()) {
    if (first_time(trial, "remove rows"))
      writer_.event(trial, true, "ReconcileFailed", "the rows cannot be deleted: " + removed.message);
    return {Next::soon, "the rows cannot be deleted: " + removed.message};
  }
  if (const WriteEnd end = writer_.set_finalizer(trial, false); end != WriteEnd::done) return ended(end);
  context_.metrics->count(TrialsMetrics::deleted, ns);
  return {};
}

// Beside a katib-controller: what it has written against what we would write.
Reconciled Reconciler::check(const Json& trial) {
  const std::string state = state_of(trial), ns = namespace_of(trial);
  if (state != "Succeeded" && state != "EarlyStopped" && state != "MetricsUnavailable") return {};
  const Result<Metrics> metrics = read_metrics(trial);
  if (!metrics) return {Next::soon, metrics.error().message()};
  if (!first_time(trial, "checked " + state)) return {};
  context_.metrics->checked();
  std::vector<FinalMetric> theirs = observation_of(trial), ours = metrics->final;
  const auto by_name = [](const FinalMetric& a, const FinalMetric& b) { return a.name < b.name; };
  std::sort(theirs.begin(), theirs.end(), by_name);
  std::sort(ours.begin(), ours.end(), by_name);
  if (theirs != ours) {
    context_.metrics->difference(ns, "observation");
    log::warn("Trial " + key_ + ": its observation is not what its rows give; see tacho_trials_differences_total");
  }
  const bool available = std::any_of(ours.begin(), ours.end(), [&](const FinalMetric& metric) {
    return metric.name == objective_of(trial) && metric.latest != kUnavailable;
  });
  if (state != "EarlyStopped" && available != (state == "Succeeded")) {
    context_.metrics->difference(ns, "condition");
    log::warn("Trial " + key_ + " is " + state + ", but its rows say otherwise");
  }
  return {};
}

std::optional<Reconciled> Reconciler::status(Json& trial, const std::function<bool(Json&)>& change) {
  const std::string version = version_of(trial);
  const WriteEnd end = writer_.write_status(trial, change);
  if (end != WriteEnd::done) return ended(end);
  if (version_of(trial) != version) context_.wrote(key_, version, dump_json(trial));
  return std::nullopt;
}

Reconciled Reconciler::ended(WriteEnd end) const {
  if (end == WriteEnd::conflict || end == WriteEnd::failed)
    return {Next::soon, writer_.why(), writer_.retry_after_ms()};
  // The lease is late, perhaps only for a moment: nobody else may ever come back to this.
  if (end == WriteEnd::not_leader) return {Next::soon};
  return {};  // gone: its event comes back to it
}

// By its uid: another Trial of this name, made later, is told of again.
bool Reconciler::first_time(const Json& trial, const std::string& what) {
  return context_.first_time(what + " " + key_ + " " + text_at(trial, {"metadata", "uid"}));
}

void Reconciler::tell_namesakes(const Json& trial) {
  const std::vector<std::string> others = context_.namesakes(name_of(trial), namespace_of(trial));
  if (others.empty() || !first_time(trial, "namesake")) return;
  writer_.event(trial, true, "RowsShared",
                "namespace " + others.front() +
                    " has a Trial of the same name: the observation log cannot tell their rows apart");
}

}  // namespace tacho
