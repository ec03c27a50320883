#include "codec/run_json.h"

#include <algorithm>

#include "base/time_text.h"
#include "base/units.h"
#include "codec/run_json_parts.h"
#include "codec/run_words.h"
#include "model/allocation.h"

namespace tacho {
namespace {

// Writes the fields of one object and leaves out what is hidden or unknown.
class Fields {
 public:
  Fields(JsonWriter& json, const Run& run) : json_(json), run_(run) {}

  // `other` is the seed's name of the same field: either hides it.
  bool shows(std::string_view name, std::string_view other = {}) const {
    return !is_hidden(run_, name) && (other.empty() || !is_hidden(run_, other));
  }
  void text(std::string_view name, std::string_view value, std::string_view other = {}) {
    if (!value.empty() && shows(name, other)) json_.key(name).value(value);
  }
  void text(std::string_view name, const std::optional<std::string>& value, std::string_view other = {}) {
    if (value) text(name, std::string_view(*value), other);
  }
  void integer(std::string_view name, const std::optional<int64_t>& value, std::string_view other = {}) {
    if (value && shows(name, other)) json_.key(name).integer(*value);
  }
  void number(std::string_view name, const std::optional<double>& value, int decimals) {
    if (value && shows(name)) json_.key(name).number(*value, decimals);
  }

 private:
  JsonWriter& json_;
  const Run& run_;
};

void write_strings(JsonWriter& json, const std::vector<std::string>& values) {
  json.array();
  for (const std::string& value : values) json.value(value);
  json.end_array();
}

void write_metadata(JsonWriter& json, Fields& fields, const Metadata& metadata) {
  json.key("metadata").object();
  for (const MetadataField& field : kMetadataFields) fields.text(field.name, std::string_view(metadata.*field.member));
  if (fields.shows("tags")) {
    json.key("tags");
    write_strings(json, metadata.tags);
  }
  json.end_object();
}

void write_host(JsonWriter& json, Fields& fields, const Host& host) {
  json.key("host").object();
  fields.text("host_id", host.host_id);
  fields.text("host_hostname", host.host_hostname, "host_name");
  fields.text("host_ip", host.host_ip);
  fields.text("host_server_allocation", host.host_server_allocation, "host_allocation");
  fields.integer("host_vcpus", host.host_vcpus);
  fields.text("host_cpu_model", host.host_cpu_model);
  fields.integer("host_memory_mib", host.host_memory_mib);
  fields.text("host_gpu_model", host.host_gpu_model);
  fields.integer("host_gpu_count", host.host_gpu_count);
  fields.integer("host_gpu_memory_mib", host.host_gpu_memory_mib, "host_gpu_vram_mib");
  if (!host.gpu_memory_mib.empty() && fields.shows("host_gpu_memory_mib", "host_gpu_vram_mib")) {
    json.key("gpu_memory_mib").array();
    for (const std::optional<int64_t>& one : host.gpu_memory_mib) one ? json.integer(*one) : json.null();
    json.end_array();
  }
  fields.number("host_storage_gb", host.host_storage_gb, 3);
  json.end_object();
}

// As the user gave them, so that tacho export says what -o said.
void write_metric_labels(JsonWriter& json, const Run& run) {
  if (run.metric_labels.empty()) return;
  json.key("metric_labels").object();
  for (const auto& [name, value] : run.metric_labels) json.key(name).value(value);
  json.end_object();
}

// An object is written only when it has something in it.
void write_started_by(JsonWriter& json, Fields& fields, const StartedBy& by) {
  if (by.detected()) {
    json.key("detected").object();
    fields.text("orchestrator", std::string_view(by.orchestrator));
    fields.text("executor", std::string_view(by.executor));
    json.key("fields");
    write_strings(json, by.fields);
    json.end_object();
  }
  if (by.job.known()) {
    // What the executor calls the job is what external_run_id tells.
    const bool named = fields.shows("external_run_id");
    json.key("job").object();
    fields.text("scheduler", std::string_view(by.job.scheduler));
    fields.text("cluster", std::string_view(by.job.cluster));
    if (named) fields.text("id", std::string_view(by.job.id));
    if (named) fields.text("raw_id", std::string_view(by.job.raw_id));
    if (named) fields.text("array", std::string_view(by.job.array));
    fields.integer("index", by.job.index);
    fields.integer("restart", by.job.restart);
    fields.integer("step", by.job.step);
    fields.integer("task", by.job.task);
    fields.integer("tasks", by.job.tasks);
    if (fields.shows("host_hostname", "host_name")) fields.text("node", std::string_view(by.job.node));
    fields.integer("nodes", by.job.nodes);
    json.end_object();
  }
  if (by.requested.known()) {
    json.key("requested").object();
    fields.number("cpus", by.requested.cpus, 3);
    fields.integer("memory_bytes", by.requested.memory_bytes);
    fields.integer("gpus", by.requested.gpus);
    fields.number("time_s", by.requested.time_s, 3);
    fields.text("source", std::string_view(by.requested.source));
    json.end_object();
  }
}

void write_outcome(JsonWriter& json, const Outcome& outcome, const Summary& summary) {
  const auto optional = [&](const char* name, const std::optional<int>& value) {
    json.key(name);
    value ? json.integer(*value) : json.null();
  };
  json.key("outcome").object();
  json.key("state").value(state_word(outcome.state));
  optional("exit_code", outcome.exit_code);
  optional("signal", outcome.signal);
  json.key("signal_name");
  if (const std::string_view name = outcome.signal ? signal_word(*outcome.signal) : std::string_view{}; !name.empty())
    json.value(name);
  else json.null();
  json.key("oom_killed");
  outcome.oom_killed ? json.value(*outcome.oom_killed) : json.null();
  json.key("timed_out").value(outcome.timed_out);
  const auto time = [&](const char* name, int64_t realtime_ns) {
    json.key(name);
    realtime_ns > 0 ? json.value(IsoTime(realtime_ns).view()) : json.null();
  };
  time("started_at", outcome.started_realtime_ns);
  time("finished_at", outcome.finished_realtime_ns);
  // Until the end is known, the rows tell how long the run is: a killed tacho leaves that behind.
  const double measured_s = as_seconds(outcome.duration_ns);
  json.key("duration_s").number(outcome.duration_ns > 0 ? measured_s : summary.duration_s(), 3);
  json.end_object();
}

void write_totals(JsonWriter& json, Fields& fields, const Totals& totals) {
  json.key("totals").object();
  fields.number("cpu_user_s", totals.cpu_user_s, 4);
  fields.number("cpu_system_s", totals.cpu_system_s, 4);
  fields.integer("memory_peak_bytes", totals.memory_peak_bytes);
  fields.integer("largest_process_bytes", totals.largest_process_bytes);
  fields.integer("cgroup_memory_peak_bytes", totals.cgroup_memory_peak_bytes);
  fields.integer("io_read_bytes", totals.io_read_bytes);
  fields.integer("io_write_bytes", totals.io_write_bytes);
  fields.integer("oom_kills", totals.oom_kills);
  fields.integer("processes_seen", totals.processes_seen);
  fields.integer("virtual_peak_bytes", totals.virtual_peak_bytes);
  fields.integer("uss_peak_bytes", totals.uss_peak_bytes);
  fields.integer("read_chars", totals.read_chars);
  fields.integer("write_chars", totals.write_chars);
  fields.integer("read_calls", totals.read_calls);
  fields.integer("write_calls", totals.write_calls);
  fields.integer("switches_voluntary", totals.switches_voluntary);
  fields.integer("switches_involuntary", totals.switches_involuntary);
  json.end_object();
}

void write_energy(JsonWriter& json, const Energy& energy) {
  const auto word = [&](const char* name, const std::string& value) {
    json.key(name);
    value.empty() ? json.null() : json.value(value);
  };
  json.key("energy").object();
  json.key("cpu_j").number(energy.cpu_j.value_or(kAbsent), 3);
  json.key("gpu_j").number(energy.gpu_j.value_or(kAbsent), 3);
  json.key("job_j").number(energy.job_j.value_or(kAbsent), 3);
  json.key("method").object();
  word("cpu", energy.cpu_method);
  word("gpu", energy.gpu_method);
  json.end_object();
  word("job_share", energy.job_share);
  if (energy.carbon_intensity) json.key("co2_g").number(energy.co2_g.value_or(kAbsent), 6);
  json.end_object();
}

void write_statistics(JsonWriter& json, const Run& run, const Summary& summary) {
  const Schema& schema = summary.schema();
  json.key("statistics").object();
  for (size_t i = 0; i < schema.size(); ++i) {
    const Column& column = schema[i];
    const Statistics statistics = summary.column(i);
    if (is_hidden(run, column.name)) continue;
    if (column.position == 1) {
      json.key("timestamp").object().key("duration").number(summary.duration_s(), 3).end_object();
      continue;
    }
    if (statistics.rows == 0 && is_absent(statistics.max)) continue;
    const auto put = [&](const char* name, double value, int decimals) {
      if (!is_absent(value)) json.key(name).number(value, decimals);
    };
    json.key(column.name).object();
    put("mean", mean_between(statistics, column.decimals), std::max(2, column.decimals));
    put("max", statistics.max, column.decimals);
    put("min", statistics.min, column.decimals);
    if (column.rule == Rule::delta) put("sum", statistics.sum, column.decimals);
    json.end_object();
  }
  json.end_object();
}

}  // namespace

void write_run_identity(JsonWriter& json, const Run& run, const Summary& summary, Writer* padded) {
  Fields fields(json, run);
  json.key("id").value(run.id);
  json.key("tacho_version").value(run.version);
  json.key("mode").value(run.mode);
  const std::string_view state = state_word(run.outcome.state);
  json.key("state").value(state);
  if (padded != nullptr) padded->put_spaces(kLongestStateWord - state.size());
  if (!run.command.empty() && fields.shows("command")) {
    json.key("command");
    write_strings(json, run.command);
  }
  if (fields.shows("command")) fields.text("process_name", std::string_view(run.process_name));
  fields.text("working_directory", std::string_view(run.working_directory));
  if (run.pid > 0 && fields.shows("pid")) json.key("pid").integer(run.pid);
  if (run.tracker_pid > 0) json.key("tracker_pid").integer(run.tracker_pid);
  if (run.tracker_start_ticks > 0)
    json.key("tracker_start_ticks").integer(static_cast<int64_t>(run.tracker_start_ticks));
  if (run.nested_pass) json.key("nested").value("pass");
  write_metadata(json, fields, run.metadata);
  write_metric_labels(json, run);
  write_started_by(json, fields, run.started_by);
  write_host(json, fields, run.host);
  json.key("limits").object();
  fields.number("cpu_quota_cores", run.limits.cpu_quota_cores, 4);
  fields.integer("cpuset_cpus", run.limits.cpuset_cpus);
  fields.integer("memory_limit_bytes", run.limits.memory_limit_bytes);
  json.end_object();
  json.key("interval_s").number(as_seconds(run.interval_ns), 3);
  json.key("columns").array();
  for (const Column& column : summary.schema()) json.value(column.name);
  json.end_array();
}

void write_run_measured(JsonWriter& json, const Run& run, const Summary& summary) {
  Fields fields(json, run);
  write_outcome(json, run.outcome, summary);
  json.key("samples").integer(summary.rows());
  json.key("method").object();
  fields.text("cpu", std::string_view(run.method.cpu));
  fields.text("memory", std::string_view(run.method.memory));
  fields.text("io", std::string_view(run.method.io));
  fields.text("gpu", std::string_view(run.method.gpu));
  fields.text("waits", std::string_view(run.method.waits));
  json.end_object();
  write_totals(json, fields, run.totals);
  write_energy(json, run.energy);
  if (run.outcome.state != RunState::running) {
    const std::string_view guess =
        guess_allocation([&](std::string_view column) { return summary.column(column).mean; });
    if (fields.shows("host_server_allocation", "host_allocation")) fields.text("allocation", guess);
  }
  json.key("notes");
  write_strings(json, run.notes);
}

void write_phases(JsonWriter& json, const Run& run) {
  json.key("phases").array();
  for (const Phase& phase : run.phases) {
    json.object();
    json.key("name").value(phase.name);
    json.key("started").number(phase.started_s, 3);
    json.key("ended").number(phase.ended_s, 3);
    json.key("seconds").number(phase.ended_s - phase.started_s, 3);
    json.key("cpu_s").number(phase.cpu_s, 4);
    json.key("cpu_mean").number(phase.cpu_mean, 4);
    json.key("memory_peak_mib").number(phase.memory_peak_mib, 3);
    json.key("disk_read_bytes").number(phase.disk_read_bytes, 0);
    json.key("disk_write_bytes").number(phase.disk_write_bytes, 0);
    json.key("gpu_mean").number(phase.gpu_mean, 4);
    json.end_object();
  }
  json.end_array();
  json.key("marks_dropped").integer(run.marks_dropped);
}

void write_run_json(Writer& out, const Run& run, const Summary& summary) {
  JsonWriter json(out, true);
  json.object();
  write_run_identity(json, run, summary);
  write_run_measured(json, run, summary);
  write_phases(json, run);
  write_statistics(json, run, summary);
  json.end_object();
  out.put('\n');
}

}  // namespace tacho
