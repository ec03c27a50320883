#include "report/store/run_reader.h"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_view.h"
#include "base/text.h"
#include "base/time_text.h"
#include "base/units.h"
#include "codec/run_json.h"
#include "codec/run_words.h"
#include "os/file.h"
#include "os/line_file.h"
#include "report/store/csv_reader.h"
#include "report/store/facts.h"
#include "report/store/leaps.h"
#include "report/store/phases.h"

namespace tacho {
namespace {

using Json = nlohmann::ordered_json;  // for what is changed and written again

JsonView member(const JsonView& json, std::string_view key) { return json[key]; }

// Each sets the value and says so only when the type is right. A number beyond the type is as wrong as a text.
template <class T>
bool set(std::optional<T> known, T& value) {
  if (known) value = std::move(*known);
  return known.has_value();
}
bool read(const JsonView& json, std::string& value) { return set(json.string(), value); }
bool read(const JsonView& json, bool& value) { return set(json.boolean(), value); }
bool read(const JsonView& json, double& value) { return set(json.number(), value); }
template <class Int>
  requires std::integral<Int>
bool read(const JsonView& json, Int& value) {
  const auto wide = json.integer();
  if (!wide || !std::in_range<Int>(*wide)) return false;
  value = static_cast<Int>(*wide);
  return true;
}
template <class T>
void read(const JsonView& json, std::optional<T>& value) {
  if (T known{}; read(json, known)) value = std::move(known);
}
void read(const JsonView& json, std::vector<std::string>& values) {
  json.each_element([&](const JsonView& entry) {
    if (auto text = entry.string()) values.push_back(std::move(*text));
  });
}

// What tacho-deliver added: where the run was sent to, and what the service made of it.
// "cpu.mean 1.25": the numbers and words of an object of any shape, as far as a line takes them.
void list_values(const JsonView& json, const std::string& name, std::string& out) {
  constexpr size_t kLongest = 400;
  json.each_member([&](const JsonView& key, const JsonView& value) {
    list_values(value, name.empty() ? *key.string() : name + "." + *key.string(), out);
  });
  if ((json.is_number() || json.is_string() || json.boolean()) && out.size() < kLongest) {
    const std::string text = json.string().value_or(std::string(json.source()));
    out += ", " + valid_utf8(name.substr(0, kLongest)) + " " + valid_utf8(text.substr(0, kLongest));
  }
}

void read_deliveries(const JsonView& json, std::vector<std::string>& notes) {
  json.each_element([&](const JsonView& entry) {
    std::string to, run_id, status, error;
    int64_t rows = 0;
    read(member(entry, "to"), to);
    read(member(entry, "run_id"), run_id);
    const JsonView processing = member(entry, "processing");
    read(member(processing, "status"), status);
    read(member(processing, "error"), error);
    std::string note = "delivered to " + to + " as " + run_id;
    if (read(member(entry, "rows"), rows)) note += ", " + std::to_string(rows) + " rows";
    if (!status.empty()) note += ", processing " + status;
    if (!error.empty()) note += ": " + error;
    list_values(member(entry, "stats"), "", note);
    notes.push_back(std::move(note));
  });
}

// What somebody else wrote there may be no label.
void read_metric_labels(const JsonView& json, MetricLabels& labels) {
  json.each_member([&](const JsonView& name, const JsonView& value) {
    if (auto text = value.string())
      if (auto label = parse_metric_label(*name.string() + "=" + *text)) labels.push_back(std::move(*label));
  });
}

void read_host(const JsonView& json, Host& host) {
  read(member(json, "host_id"), host.host_id);
  read(member(json, "host_hostname"), host.host_hostname);
  read(member(json, "host_ip"), host.host_ip);
  read(member(json, "host_server_allocation"), host.host_server_allocation);
  read(member(json, "host_vcpus"), host.host_vcpus);
  read(member(json, "host_cpu_model"), host.host_cpu_model);
  read(member(json, "host_memory_mib"), host.host_memory_mib);
  read(member(json, "host_gpu_model"), host.host_gpu_model);
  read(member(json, "host_gpu_count"), host.host_gpu_count);
  read(member(json, "host_gpu_memory_mib"), host.host_gpu_memory_mib);
  member(json, "gpu_memory_mib").each_element([&](const JsonView& one) {
    host.gpu_memory_mib.push_back(one.integer());
  });
  read(member(json, "host_storage_gb"), host.host_storage_gb);
}

void read_started_by(const JsonView& json, StartedBy& by) {
  const JsonView detected = member(json, "detected");
  read(member(detected, "orchestrator"), by.orchestrator);
  read(member(detected, "executor"), by.executor);
  read(member(detected, "fields"), by.fields);
  const JsonView job = member(json, "job");
  read(member(job, "scheduler"), by.job.scheduler);
  read(member(job, "cluster"), by.job.cluster);
  read(member(job, "id"), by.job.id);
  read(member(job, "raw_id"), by.job.raw_id);
  read(member(job, "array"), by.job.array);
  read(member(job, "node"), by.job.node);
  read(member(job, "index"), by.job.index);
  read(member(job, "restart"), by.job.restart);
  read(member(job, "step"), by.job.step);
  read(member(job, "task"), by.job.task);
  read(member(job, "tasks"), by.job.tasks);
  read(member(job, "nodes"), by.job.nodes);
  const JsonView requested = member(json, "requested");
  read(member(requested, "cpus"), by.requested.cpus);
  read(member(requested, "memory_bytes"), by.requested.memory_bytes);
  read(member(requested, "gpus"), by.requested.gpus);
  read(member(requested, "time_s"), by.requested.time_s);
  read(member(requested, "source"), by.requested.source);
}

int64_t read_time(const JsonView& json) { return parse_iso_time(json.string().value_or("")).value_or(0); }

int64_t read_seconds(const JsonView& json) {
  double seconds = 0;
  read(json, seconds);
  return seconds > 0 && seconds < 9e9 ? as_ns(seconds) : 0;
}

void read_outcome(const JsonView& json, Outcome& outcome) {
  std::string state;
  read(member(json, "state"), state);
  outcome.state = parse_state(state).value_or(RunState::interrupted);
  read(member(json, "exit_code"), outcome.exit_code);
  read(member(json, "signal"), outcome.signal);
  read(member(json, "oom_killed"), outcome.oom_killed);
  read(member(json, "timed_out"), outcome.timed_out);
  outcome.started_realtime_ns = read_time(member(json, "started_at"));
  outcome.finished_realtime_ns = read_time(member(json, "finished_at"));
  outcome.duration_ns = read_seconds(member(json, "duration_s"));
}

void read_totals(const JsonView& json, Totals& totals) {
  read(member(json, "cpu_user_s"), totals.cpu_user_s);
  read(member(json, "cpu_system_s"), totals.cpu_system_s);
  read(member(json, "memory_peak_bytes"), totals.memory_peak_bytes);
  read(member(json, "largest_process_bytes"), totals.largest_process_bytes);
  read(member(json, "cgroup_memory_peak_bytes"), totals.cgroup_memory_peak_bytes);
  read(member(json, "io_read_bytes"), totals.io_read_bytes);
  read(member(json, "io_write_bytes"), totals.io_write_bytes);
  read(member(json, "oom_kills"), totals.oom_kills);
  read(member(json, "processes_seen"), totals.processes_seen);
  read(member(json, "virtual_peak_bytes"), totals.virtual_peak_bytes);
  read(member(json, "uss_peak_bytes"), totals.uss_peak_bytes);
  read(member(json, "read_chars"), totals.read_chars);
  read(member(json, "write_chars"), totals.write_chars);
  read(member(json, "read_calls"), totals.read_calls);
  read(member(json, "write_calls"), totals.write_calls);
  read(member(json, "switches_voluntary"), totals.switches_voluntary);
  read(member(json, "switches_involuntary"), totals.switches_involuntary);
}

void read_statistics(const JsonView& json, Kept kept, StoredRun& stored) {
  json.each_member([&](const JsonView& column, const JsonView& values) {
    if (kept == Kept::facts && !is_of_facts(column.source())) return;
    Statistics statistics;
    statistics.rows = stored.rows;
    values.each_member([&](const JsonView& name, const JsonView& value) {
      const std::string_view word = name.source();
      if (word == "mean") read(value, statistics.mean);
      else if (word == "max") read(value, statistics.max);
      else if (word == "min") read(value, statistics.min);
      else if (word == "sum" || word == "duration") read(value, statistics.sum);
    });
    stored.statistics.emplace_back(*column.string(), statistics);
  });
}

void read_phases(const JsonView& json, std::vector<Phase>& phases) {
  json.each_element([&](const JsonView& entry) {
    Phase phase;
    const bool timed = read(member(entry, "started"), phase.started_s) && read(member(entry, "ended"), phase.ended_s);
    if (!read(member(entry, "name"), phase.name) || !timed || phases.size() >= kMostMarks) return;
    read(member(entry, "cpu_s"), phase.cpu_s);
    read(member(entry, "cpu_mean"), phase.cpu_mean);
    read(member(entry, "memory_peak_mib"), phase.memory_peak_mib);
    read(member(entry, "disk_read_bytes"), phase.disk_read_bytes);
    read(member(entry, "disk_write_bytes"), phase.disk_write_bytes);
    read(member(entry, "gpu_mean"), phase.gpu_mean);
    phases.push_back(std::move(phase));
  });
}

// The phases of a run whose tacho died: nobody has told them yet.
void fold_phases_again(Json& json, const StoredRun& stored) {
  Run run = stored.run;
  run.outcome.finished_realtime_ns = 0;
  fold_phases(stored.folder, run);
  Writer text;
  JsonWriter writer(text);
  writer.object();
  write_phases(writer, run);
  writer.end_object();
  const Json folded = Json::parse(text.view(), nullptr, false);
  if (folded.is_object()) json.update(folded);
}

StoredRun from_json(const JsonView& json, Kept kept) {
  StoredRun stored;
  Run& run = stored.run;
  read(member(json, "id"), run.id);
  run.version.clear();
  read(member(json, "tacho_version"), run.version);
  read(member(json, "mode"), run.mode);
  read(member(json, "command"), run.command);
  read(member(json, "process_name"), run.process_name);
  read(member(json, "working_directory"), run.working_directory);
  read(member(json, "pid"), run.pid);
  read(member(json, "tracker_pid"), run.tracker_pid);
  read(member(json, "tracker_start_ticks"), run.tracker_start_ticks);
  if (std::string nested; read(member(json, "nested"), nested)) run.nested_pass = nested == "pass";
  const JsonView metadata = member(json, "metadata");
  for (const MetadataField& field : kMetadataFields) read(member(metadata, field.name), run.metadata.*field.member);
  read(member(metadata, "tags"), run.metadata.tags);
  read_metric_labels(member(json, "metric_labels"), run.metric_labels);
  read_started_by(json, run.started_by);
  read_host(member(json, "host"), run.host);
  const JsonView limits = member(json, "limits");
  read(member(limits, "cpu_quota_cores"), run.limits.cpu_quota_cores);
  read(member(limits, "cpuset_cpus"), run.limits.cpuset_cpus);
  read(member(limits, "memory_limit_bytes"), run.limits.memory_limit_bytes);
  read_outcome(member(json, "outcome"), run.outcome);
  run.interval_ns = read_seconds(member(json, "interval_s"));
  const JsonView energy = member(json, "energy");
  read(member(energy, "cpu_j"), run.energy.cpu_j);
  read(member(energy, "gpu_j"), run.energy.gpu_j);
  read(member(energy, "job_j"), run.energy.job_j);
  read(member(energy, "co2_g"), run.energy.co2_g);
  const JsonView method = member(json, "method");
  read(member(method, "cpu"), run.method.cpu);
  read(member(method, "memory"), run.method.memory);
  read(member(method, "io"), run.method.io);
  read(member(method, "gpu"), run.method.gpu);
  read(member(method, "waits"), run.method.waits);
  read_totals(member(json, "totals"), run.totals);
  read(member(json, "notes"), run.notes);
  read_deliveries(member(json, "delivery"), run.notes);
  read_phases(member(json, "phases"), run.phases);
  read(member(json, "marks_dropped"), run.marks_dropped);
  read(member(json, "samples"), stored.rows);
  read_statistics(member(json, "statistics"), kept, stored);
  return stored;
}

// The totals of run.json are as old as it is. What its rows add up to may be more, and is never too much.
void raise_totals(Json& totals, const CsvReader& reader, const Summary& summary) {
  if (!totals.is_object()) return;
  const auto sum_of = [&](std::string_view column) {
    for (size_t i = 1; i < reader.columns().size(); ++i)
      if (reader.columns()[i] == column && summary.column(i).rows > 0) return summary.column(i).sum;
    return kAbsent;
  };
  constexpr auto kSeconds = std::to_array<std::pair<const char*, std::string_view>>(
      {{"cpu_user_s", "process_utime"}, {"cpu_system_s", "process_stime"}});
  constexpr auto kBytes = std::to_array<std::pair<const char*, std::string_view>>(
      {{"io_read_bytes", "process_disk_read_bytes"}, {"io_write_bytes", "process_disk_write_bytes"}});
  const auto is_behind = [&](const char* key, double sum) {
    return totals.contains(key) && totals[key].is_number() && sum > totals[key].get<double>();
  };
  for (const auto& [key, column] : kSeconds)
    if (const double sum = sum_of(column); is_behind(key, sum)) totals[key] = std::round(sum * 1e4) / 1e4;
  for (const auto& [key, column] : kBytes)
    if (const double sum = sum_of(column); is_behind(key, sum)) totals[key] = std::llround(sum);
}

// Statistics of all rows that reached the disk, which may be a second's worth more than run.json knows of.
void fold_again(Json& json, const StoredRun& stored) {
  CsvReader reader;
  if (!reader.open(stored.folder + "/metrics.csv")) return;
  if (stored.run.outcome.started_realtime_ns > 0)
    reader.set_start(seconds_by_ms(stored.run.outcome.started_realtime_ns));
  Summary summary;
  summary.begin(reader.schema());
  const Leaps leaps(stored.folder + "/metrics.csv", stored.run, stored.rows);
  Row row;
  while (reader.next(row)) {
    if (row.index == 0 && row.interval_ns == 0) row.interval_ns = stored.run.interval_ns;
    leaps.take_from(row);
    summary.add(row);
  }
  if (summary.rows() == 0) return;
  Json statistics = Json::object();
  statistics["timestamp"] = {{"duration", summary.duration_s()}};
  for (size_t i = 1; i < reader.columns().size(); ++i) {
    const std::string& name = reader.columns()[i];
    Statistics values = summary.column(i);
    // High-water marks raise a maximum above every row.
    const double old_max = statistics_of(stored, name).max;
    if (!is_absent(old_max) && !(values.max >= old_max)) values.max = old_max;
    Json entry = Json::object();
    if (values.rows > 0) entry["mean"] = values.mean;
    if (!is_absent(values.max)) entry["max"] = values.max;
    if (values.rows > 0) entry["min"] = values.min;
    if (values.rows > 0 && is_per_interval(name)) entry["sum"] = values.sum;
    if (!entry.empty()) statistics[name] = std::move(entry);
  }
  json["statistics"] = std::move(statistics);
  json["samples"] = summary.rows();
  if (json.contains("totals")) raise_totals(json["totals"], reader, summary);
  if (json["outcome"].is_object()) json["outcome"]["duration_s"] = summary.duration_s();
}

}  // namespace

// A run whose tacho died still says that it is running. The lock on its rows tells, else its process id does.
bool is_abandoned(const StoredRun& stored) {
  if (stored.run.outcome.state != RunState::running) return false;
  const LockState lock = probe_lock(stored.folder + "/metrics.csv");
  if (lock != LockState::unknown) return lock == LockState::free;
  return stored.run.tracker_pid <= 0 || !file_exists("/proc/" + std::to_string(stored.run.tracker_pid));
}

Error damaged_run(Error error, const std::string& folder) {
  error.path = folder + "/run.json";
  error.hint = "its samples can still be read: tacho report " + folder + "/metrics.csv";
  return error;
}

Result<StoredRun> parse_run_text(std::string_view text, Kept kept) {
  thread_local JsonText json;  // keeps its memory: a list reads a hundred thousand of them
  if (!json.parse(text) || !json.root()["id"].is_string()) return Error{Code::invalid, "run.json is damaged", "", ""};
  return from_json(json.root(), kept);
}

Result<StoredRun> parse_run_json(std::string text, Kept kept) {
  auto stored = parse_run_text(text, kept);
  if (stored) stored->json = std::move(text);
  return stored;
}

void mark_interrupted(StoredRun& stored, bool refold) {
  Json json = Json::parse(stored.json, nullptr, false);
  if (json.is_discarded() || !json.is_object()) return;
  if (refold) fold_again(json, stored);
  if (refold) fold_phases_again(json, stored);
  const std::string word(state_word(RunState::interrupted));
  json["state"] = word;
  if (json["outcome"].is_object()) json["outcome"]["state"] = word;
  const std::string folder = stored.folder;
  std::string text = json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  if (auto again = parse_run_json(std::move(text))) stored = std::move(*again);
  stored.run.outcome.state = RunState::interrupted;
  stored.folder = folder;
}

}  // namespace tacho
