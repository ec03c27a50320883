#include "export/metrics.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/units.h"
#include "base/writer.h"
#include "export/figures.h"
#include "export/shortest.h"

namespace tacho {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

std::string escaped(std::string_view value) {
  std::string text;
  for (const char c : valid_utf8(value)) {
    if (c == '\\' || c == '"') text += '\\', text += c;
    else if (c == '\n') text += "\\n";
    else text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  }
  return text;
}

std::string braces(Labels labels) {
  std::stable_sort(labels.begin(), labels.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  const auto twice = [](const auto& a, const auto& b) { return a.first == b.first; };
  labels.erase(std::unique(labels.begin(), labels.end(), twice), labels.end());
  std::string text;
  for (const auto& [name, value] : labels) (text += text.empty() ? "{" : ",") += name + "=\"" + escaped(value) + "\"";
  return text.empty() ? text : text + "}";
}

// One family after the other, in either format.
class Families {
 public:
  Families(std::string& out, MetricsFormat format, Labels labels)
      : out_(out), open_(format == MetricsFormat::openmetrics), labels_(std::move(labels)) {}

  void gauge(const char* name, const char* unit, const char* help, const std::optional<double>& value) {
    if (!value) return;
    head(name, "gauge", unit, help);
    line(name, {}, *value);
  }
  // Of one or two series, told apart by a label.
  void counter(const char* family, const char* unit, const char* help, const char* label,
               std::initializer_list<std::pair<const char*, std::optional<double>>> values) {
    if (std::none_of(values.begin(), values.end(), [](const auto& value) { return value.second.has_value(); })) return;
    const std::string total = std::string(family) + "_total";
    head(open_ ? family : total.c_str(), "counter", unit, help);
    for (const auto& [word, value] : values)
      if (value) line(total, *word != '\0' ? Labels{{label, word}} : Labels{}, *value);
  }
  void info(Labels labels) {
    if (open_) head("tacho_job", "info", "", "What the job is.");
    else head("tacho_job_info", "gauge", "", "What the job is.");
    line("tacho_job_info", std::move(labels), 1);
  }

 private:
  void head(std::string_view name, std::string_view type, std::string_view unit, std::string_view help) {
    const auto put = [&](std::string_view what, std::string_view text) {
      out_.append("# ").append(what).append(" ").append(name).append(" ").append(text).append("\n");
    };
    if (!open_) return put("HELP", help), put("TYPE", type);
    put("TYPE", type);
    if (!unit.empty()) put("UNIT", unit);
    put("HELP", help);
  }
  void line(std::string_view name, Labels labels, double value) {
    labels.insert(labels.end(), labels_.begin(), labels_.end());
    out_.append(name).append(braces(std::move(labels))).append(" ").append(shortest_decimal(value)).append("\n");
  }

  std::string& out_;
  bool open_;
  Labels labels_;
};

std::optional<double> seconds(int64_t realtime_ns) {
  if (realtime_ns <= 0) return std::nullopt;
  return seconds_by_ms(realtime_ns);  // as run.json has it
}

std::optional<double> rounded(const std::optional<double>& value, int decimals) {
  return value ? std::optional(as_fixed(*value, decimals)) : std::nullopt;
}

std::optional<double> as_double(const std::optional<int64_t>& value) {
  if (!value) return std::nullopt;
  return static_cast<double>(*value);
}

}  // namespace

MetricLabels job_info_labels(const Run& run) {
  MetricLabels labels{{"run_id", run.id}, {"tacho_version", run.version}};
  const auto put = [&](const char* name, const std::string& value) {
    if (!value.empty() && !is_hidden(run, name)) labels.emplace_back(name, value);
  };
  put("external_run_id", run.metadata.external_run_id);
  put("orchestrator", run.metadata.orchestrator);
  put("executor", run.metadata.executor);
  put("project_name", run.metadata.project_name);
  put("stage_name", run.metadata.stage_name);
  put("task_name", run.metadata.task_name);
  put("team", run.metadata.team);
  put("env", run.metadata.env);
  return labels;
}

// Jobs that go on side by side need different labels: the tasks of an array and of a step have them.
MetricLabels job_labels(const Run& run, bool with_task) {
  MetricLabels labels{{"job_name", JobFigures(run).job_label()}};
  const ScheduledJob& job = run.started_by.job;
  if (job.index && with_task) labels.emplace_back("index", std::to_string(*job.index));
  if (job.task && with_task) labels.emplace_back("task", std::to_string(*job.task));
  for (const auto& [name, value] : run.metric_labels) {
    std::string text = value;
    constexpr std::string_view kRunId = "{run_id}";
    for (size_t at = text.find(kRunId); at != std::string::npos; at = text.find(kRunId, at + run.id.size()))
      text.replace(at, kRunId.size(), run.id);
    labels.emplace_back(name, std::move(text));
  }
  return labels;
}

void JobMetrics::begin(const Schema& schema) {
  struct Wanted {
    std::string_view column;
    std::optional<double> JobMetrics::*target;
    double factor;
    bool is_sum;
  };
  const std::array wanted{
      Wanted{"process_utime", &JobMetrics::cpu_user_s, 1, true},
      Wanted{"process_stime", &JobMetrics::cpu_system_s, 1, true},
      Wanted{"process_memory_mib", &JobMetrics::memory_bytes, static_cast<double>(kMiB), false},
      Wanted{"process_disk_read_bytes", &JobMetrics::read_bytes, 1, true},
      Wanted{"process_disk_write_bytes", &JobMetrics::write_bytes, 1, true},
      Wanted{"process_children", &JobMetrics::processes, 1, false},
      Wanted{"cgroup_throttled_time", &JobMetrics::throttled_s, 1, true},
      Wanted{"cgroup_oom_kills", &JobMetrics::oom_kills, 1, true},
      Wanted{"process_gpu_usage", &JobMetrics::gpu_usage, 1, false},
      Wanted{"process_gpu_vram_mib", &JobMetrics::gpu_memory_bytes, static_cast<double>(kMiB), false},
      Wanted{"timestamp", &JobMetrics::update_time_s, 1, false},
  };
  for (const Wanted& want : wanted)
    for (size_t i = 0; i < schema.size(); ++i)
      if (schema[i].name == want.column)
        sources_.push_back({want.target, i, schema[i].decimals, want.factor, want.is_sum, {}});
}

void JobMetrics::add(const Row& row) {
  for (Source& source : sources_) {
    const double cell = row.cells[source.cell];
    std::optional<double>& target = this->*source.target;
    if (is_absent(cell)) {
      if (!source.is_sum) target.reset();
      continue;
    }
    target = as_fixed(cell, source.decimals) * source.factor;
    if (!source.is_sum) continue;
    source.sum.add(*target);
    target = source.sum.value();
  }
  if (memory_bytes) memory_peak_bytes = std::max(memory_peak_bytes.value_or(0), *memory_bytes);
}

std::string metrics_text(const Run& run, const JobMetrics& job, MetricsFormat format) {
  std::string text;
  const bool ended = run.outcome.state != RunState::running;
  Families families(text, format, job_labels(run, true));
  families.info(job_info_labels(run));
  families.gauge("tacho_job_running", "", "1 while the job runs, 0 after its end.", ended ? 0 : 1);
  if (ended && run.outcome.exit_code)
    families.gauge("tacho_job_exit_code", "", "Exit status of the job, 128+n for a signal.", *run.outcome.exit_code);
  families.gauge("tacho_job_start_time_seconds", "seconds", "When the job was started.",
                 seconds(run.outcome.started_realtime_ns));
  // From the start on: an alert on its age must see a tacho that was killed before its first row, too.
  families.gauge("tacho_job_update_time_seconds", "seconds", "When the figures were taken.",
                 job.update_time_s ? job.update_time_s : seconds(run.outcome.started_realtime_ns));
  if (ended)
    families.gauge("tacho_job_end_time_seconds", "seconds", "When the job ended.",
                   seconds(run.outcome.finished_realtime_ns));
  families.counter("tacho_job_cpu_seconds", "seconds", "CPU time of the job's process tree.", "mode",
                   {{"user", job.cpu_user_s}, {"system", job.cpu_system_s}});
  families.gauge("tacho_job_memory_bytes", "bytes", "Memory of the job's process tree.", job.memory_bytes);
  const auto peak =
      ended && run.totals.memory_peak_bytes ? as_double(run.totals.memory_peak_bytes) : job.memory_peak_bytes;
  families.gauge("tacho_job_memory_peak_bytes", "bytes", "Highest memory of the job's process tree so far.", peak);
  families.counter("tacho_job_disk_bytes", "bytes", "Bytes that the job read from and wrote to disks.", "direction",
                   {{"read", job.read_bytes}, {"write", job.write_bytes}});
  std::optional<double> processes = job.processes;
  if (processes) *processes += 1;
  families.gauge("tacho_job_processes", "", "Processes of the job.", ended ? std::optional<double>(0) : processes);
  const RequestedSize& asked = run.started_by.requested;
  families.gauge("tacho_job_cpu_request_cores", "cores", "Cores that were asked for.",
                 asked.cpus ? rounded(asked.cpus, 3) : rounded(run.limits.cpu_quota_cores, 4));
  families.gauge("tacho_job_memory_request_bytes", "bytes", "Memory that was asked for.",
                 as_double(asked.memory_bytes ? asked.memory_bytes : run.limits.memory_limit_bytes));
  families.counter("tacho_job_cpu_throttled_seconds", "seconds", "Time in which a quota kept the job from running.", "",
                   {{"", job.throttled_s}});
  families.counter("tacho_job_oom_kills", "", "Processes of the job that the kernel killed for want of memory.", "",
                   {{"", job.oom_kills}});
  families.gauge("tacho_job_gpu_usage", "", "GPUs that the job keeps busy, from 0 to their number.", job.gpu_usage);
  families.gauge("tacho_job_gpu_memory_bytes", "bytes", "GPU memory of the job.", job.gpu_memory_bytes);
  if (format == MetricsFormat::openmetrics) text += "# EOF\n";
  return text;
}

}  // namespace tacho
