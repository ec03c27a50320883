#include <cmath>

#include "base/writer.h"
#include "cromwell/analyze_output.h"

namespace tacho {
namespace {

constexpr size_t kPutAt = 64 * 1024;
constexpr std::array kResourceKeys = {"cpu", "memory_gb", "disk_gb"}, kSeriesKeys = {"cores", "memory_gb", "disk_gb"};

void put_range(JsonWriter& json, const char* key, const ValueRange& range) {
  json.key(key).object();
  json.key("min").number(range.least, 6).key("max").number(range.most, 6);
  json.end_object();
}

void put_money(JsonWriter& json, const Money& money, const std::string& currency) {
  json.key("money").object();
  json.key("currency").value(currency);
  json.key("spent").number(money.spent_of > 0 ? money.spent : kNotKnown, 6);
  json.key("saved").number(money.saved_of > 0 ? money.saved : kNotKnown, 6);
  json.key("attempts_with_cost").integer(static_cast<int64_t>(money.spent_of));
  json.end_object();
}

void put_fit(JsonWriter& json, const char* key, const ResourceFit& fit) {
  json.key(key);
  if (!fit.is_known()) {
    json.null();
    return;
  }
  json.object().key("kind").value(fit.is_line() ? "line" : "constant");
  json.key("r2").number(fit.r2(), 6);
  json.key("intercept").number(fit.is_line() ? fit.line().intercept : kNotKnown, 9);
  json.key("slope").number(fit.is_line() ? fit.line().slope : kNotKnown, 9);
  json.key("constant").number(fit.constant(), 2);
  json.key("why_no_formula");
  if (fit.is_line()) json.null();
  else json.value(fit.why_constant());
  json.end_object();
}

void put_attempt(JsonWriter& json, const CallAttempt& attempt, const AttemptTable& table) {
  const NameTable& names = table.names();
  const auto whole_or_null = [&](const char* key, int64_t value) {
    json.key(key);
    if (value < 0) json.null();
    else json.integer(value);
  };
  const auto share = [&](const char* key, float value) { json.key(key).number(value < 0 ? kNotKnown : value, 3); };
  json.object()
      .key("workflow_id")
      .value(names[attempt.workflow])
      .key("workflow_name")
      .value(names[attempt.workflow_name]);
  json.key("shard").integer(attempt.shard).key("attempt").integer(attempt.attempt);
  json.key("status").value(names[attempt.status]).key("image").value(names[attempt.image]);
  json.key("cpu_platform").value(names[attempt.platform]);
  json.key("preemptible").value(attempt.preemptible).key("preempted").value(attempt.preempted);
  json.key("rows").integer(static_cast<int64_t>(attempt.samples));
  whole_or_null("rows_missing", attempt.missing_rows);
  json.key("duration_s").number(attempt.measured_s, 3).key("metadata_duration_s").number(attempt.call_s, 3);
  json.key("input_gb").number(attempt.input_gb, 9);
  json.key("requested").object();
  for (const Resource of : kResources)
    json.key(kResourceKeys[static_cast<size_t>(of)]).number(requested_of(attempt, of), 6);
  json.end_object();
  json.key("cores_mean").number(attempt.cores_mean, 6).key("cores_p95").number(attempt.cores_p95, 6);
  json.key("cores_max").number(attempt.cores_max, 6);
  json.key("memory_peak_gb").number(attempt.memory_peak, 6).key("memory_p95_gb").number(attempt.memory_p95, 6);
  json.key("disk_peak_gb").number(attempt.disk_peak(), 6).key("disk_p95_gb").number(attempt.disk_p95, 6);
  json.key("disks").array();
  for (const DiskUse& disk : attempt.disks) {
    json.object().key("mount").value(names[disk.mount]).key("type").value(names[disk.type]);
    json.key("requested_gb").number(disk.requested_gb, 6).key("peak_gb").number(disk.peak_gb, 6);
    json.key("read_iops").number(disk.read_iops, 3).key("write_iops").number(disk.write_iops, 3).end_object();
  }
  json.end_array();
  whole_or_null("oom_kills", attempt.oom_kills);
  share("psi_cpu_max", attempt.psi_cpu), share("psi_mem_max", attempt.psi_memory), share("psi_io_max", attempt.psi_io);
  share("gpu_used_percent_max", attempt.gpu_percent), share("gpu_mem_peak_gb", attempt.gpu_memory_gb);
  json.end_object();
}

// Samples by percent of what was asked for, in steps of bin_percent; the last one is open.
void put_shares(JsonWriter& json, const UseShares& shares) {
  json.key("distribution").object().key("bin_percent").integer(UseShares::kStepPercent);
  for (const Resource of : kResources) {
    json.key(kResourceKeys[static_cast<size_t>(of)]).array();
    for (const uint32_t count : shares.counts(of)) json.integer(count);
    json.end_array();
  }
  json.end_object();
}

void put_values(JsonWriter& json, const WorkflowSeries::Values& values) {
  json.object();
  for (size_t i = 0; i < kResourceKeys.size(); ++i) {
    json.key(kSeriesKeys[i]).array();
    for (const float value : values[i]) json.number(std::isnan(value) ? kNotKnown : value, 3);
    json.end_array();
  }
  json.end_object();
}

void put_series(JsonWriter& json, const WorkflowSeries& series, const AttemptTable& table) {
  json.key("series").object().key("start").value(series.start());
  json.key("step_s").integer(series.step_us() / 1'000'000);
  json.key("used"), put_values(json, series.used());
  json.key("requested"), put_values(json, series.asked());
  json.key("attempts").array();
  for (const WorkflowSeries::Line& line : series.lines()) {
    const CallAttempt& attempt = table.attempts()[line.attempt];
    json.object().key("workflow_id").value(table.names()[attempt.workflow]);
    json.key("task").value(table.names()[attempt.task]);
    json.key("shard").integer(attempt.shard).key("attempt").integer(attempt.attempt);
    json.key("used"), put_values(json, line.used);
    json.end_object();
  }
  json.end_array().end_object();
}

void put_task(JsonWriter& json, const TaskReport& task, const AttemptTable& table, const AnalyzeReport& report) {
  const auto count = [&](const char* key, size_t value) { json.key(key).integer(static_cast<int64_t>(value)); };
  const auto texts = [&](const char* key, const std::vector<std::string>& lines) {
    json.key(key).array();
    for (const std::string& line : lines) json.value(line);
    json.end_array();
  };
  json.key("task").value(table.names()[task.task]);
  texts("workflows", task.workflows);
  count("attempts", task.attempts.size()), count("measured", task.measured), count("succeeded", task.succeeded);
  count("failed", task.failed), count("preempted", task.preempted), count("without_input_size", task.unsized);
  json.key("oom_kills").integer(task.oom_kills).key("rows_missing").integer(task.missing_rows);
  json.key("hours").number(task.hours, 6);
  put_range(json, "input_gb", task.input_gb);
  texts("input_files", table.files_of(task.task));
  json.key("requested").object();
  for (size_t i = 0; i < kResourceKeys.size(); ++i) put_range(json, kResourceKeys[i], task.requested[i]);
  json.key("disk_type");
  if (task.disk_type.empty()) json.null();
  else json.value(task.disk_type);
  json.end_object();
  json.key("used").object();
  for (size_t i = 0; i < kResourceKeys.size(); ++i) {
    json.key(kResourceKeys[i]).object();
    if (i == 0) json.key("mean").number(task.cores_mean, 6);
    json.key("p95").number(task.used[i].p95, 6).key("peak").number(task.used[i].peak, 6).end_object();
  }
  json.end_object();
  put_shares(json, task.shares);
  json.key("fit").object();
  for (size_t i = 0; i < kResourceKeys.size(); ++i) put_fit(json, kResourceKeys[i], task.fits[i]);
  json.end_object();
  texts("wdl", task.wdl);
  texts("advice", task.advice);
  if (report.has_money) put_money(json, task.money, report.currency);
}

void put_count(JsonWriter& json, const char* key, const TableCount& count) {
  json.key(key).object().key("rows").integer(static_cast<int64_t>(count.rows));
  json.key("bad_lines").integer(static_cast<int64_t>(count.bad)).key("first_bad").array();
  for (const std::string& fault : count.faults) json.value(fault);
  json.end_array().end_object();
}

}  // namespace

void write_analyze_json(const AnalyzeReport& report, const AttemptTable& table, const AnalyzeInputs& inputs,
                        const std::function<void(std::string_view)>& put) {
  Writer out;
  JsonWriter json(out);
  const auto flush = [&](size_t at) {
    if (out.view().size() < at) return;
    put(out.view());
    out.clear();
  };
  json.object().key("tasks").array();
  for (const TaskReport& task : report.tasks) {
    json.object();
    put_task(json, task, table, report);
    json.key("attempt_list").array();
    for (const uint32_t index : task.attempts) {
      put_attempt(json, table.attempts()[index], table);
      flush(kPutAt);
    }
    json.end_array().end_object();
  }
  json.end_array().key("workflows").array();
  for (const WorkflowReport& workflow : report.workflows) {
    json.object().key("workflow").value(workflow.name);
    json.key("tasks").integer(static_cast<int64_t>(workflow.tasks));
    json.key("attempts").integer(static_cast<int64_t>(workflow.attempts)).key("hours").number(workflow.hours, 6);
    if (report.has_money) put_money(json, workflow.money, report.currency);
    json.end_object();
    flush(kPutAt);
  }
  json.end_array();
  if (report.has_money) put_money(json, report.money, report.currency);
  if (report.series) put_series(json, *report.series, table);
  json.key("tables").object();
  put_count(json, "runtime", inputs.runtime);
  put_count(json, "metrics", inputs.metrics);
  put_count(json, "metadata", inputs.metadata);
  json.end_object();
  json.key("metrics_repeated").integer(static_cast<int64_t>(inputs.repeated));
  json.key("metrics_unmatched").integer(static_cast<int64_t>(inputs.unmatched));
  json.key("notes").array();
  for (const std::string& note : report.notes) json.value(note);
  json.end_array().end_object();
  out.put('\n');
  flush(0);
}

}  // namespace tacho
