#include "export/nextflow.h"

#include <cmath>
#include <cstdio>
#include <vector>

#include "base/text.h"
#include "base/time_text.h"
#include "base/units.h"

namespace tacho {
namespace {

constexpr std::string_view kFirstLine = "nextflow.trace/v2";

struct Entry {
  std::string_view key;
  std::string value;
};

// Tenths of a percent of one core, as many as Nextflow can read.
std::optional<int64_t> cpu_permille(const JobFigures& job) {
  const auto cores = job.cores();
  if (!cores) return std::nullopt;
  return std::min<int64_t>(half_up(1000 * *cores), 2147483647);
}

// In the order that Nextflow's own wrapper writes them; what was not measured is left out.
std::vector<Entry> trace_entries(const JobFigures& job) {
  const Totals& totals = job.run.totals;
  std::vector<Entry> entries;
  const auto put = [&](std::string_view key, std::optional<int64_t> value) {
    if (value) entries.push_back({key, std::to_string(*value)});
  };
  const auto kib = [](const std::optional<int64_t>& bytes) -> std::optional<int64_t> {
    if (!bytes) return std::nullopt;
    return half_up(static_cast<double>(*bytes) / 1024);
  };
  put("realtime", job.duration_ms);
  put("%cpu", cpu_permille(job));
  if (const auto& model = job.run.host.host_cpu_model; model && !is_hidden(job.run, "host_cpu_model")) {
    std::string text = one_line(*model);
    for (char& c : text)
      if (c == '=') c = ' ';
    entries.push_back({"cpu_model", std::move(text)});
  }
  put("rchar", totals.read_chars);
  put("wchar", totals.write_chars);
  put("syscr", totals.read_calls);
  put("syscw", totals.write_calls);
  put("read_bytes", totals.io_read_bytes);
  put("write_bytes", totals.io_write_bytes);
  if (totals.memory_peak_bytes && job.run.host.host_memory_mib && *job.run.host.host_memory_mib > 0)
    put("%mem", half_up(1000 * static_cast<double>(*totals.memory_peak_bytes) /
                        (static_cast<double>(*job.run.host.host_memory_mib) * static_cast<double>(kMiB))));
  put("vmem", kib(totals.virtual_peak_bytes));
  put("rss", kib(totals.memory_peak_bytes));
  put("peak_vmem", kib(totals.virtual_peak_bytes));
  put("peak_rss", kib(totals.memory_peak_bytes));
  put("vol_ctxt", totals.switches_voluntary);
  put("inv_ctxt", totals.switches_involuntary);
  return entries;
}

// "850ms", "12.3s", "1m 12s", "1d 2h 3m 4s", as Nextflow writes durations: rounded, so that 59.96 s are "60s".
std::string short_duration(int64_t ms) {
  if (ms < 1000) return std::to_string(ms) + "ms";
  if (ms < 60'000) {
    const int64_t tenths = half_up(static_cast<double>(ms) / 100);
    std::string text = std::to_string(tenths / 10);
    if (tenths % 10 != 0) text += "." + std::to_string(tenths % 10);
    return text + "s";
  }
  const int64_t seconds = half_up(static_cast<double>(ms) / 1000);
  const int64_t days = seconds / 86400, hours = seconds / 3600 % 24, minutes = seconds / 60 % 60;
  std::string text;
  const auto put = [&](int64_t number, const char* unit) {
    if (number > 0) text += (text.empty() ? "" : " ") + std::to_string(number) + unit;
  };
  put(days, "d");
  put(hours, "h");
  put(minutes, "m");
  put(seconds % 60, "s");
  return text;
}

// "3 GB" with units of 1024 and at most one decimal, halves to even; 0 is "0".
std::string short_bytes(const std::optional<int64_t>& bytes) {
  if (!bytes) return "-";
  if (*bytes == 0) return "0";
  constexpr std::string_view kUnits[] = {"B", "KB", "MB", "GB", "TB"};
  double value = static_cast<double>(*bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) value /= 1024, ++unit;
  const double tenths = std::nearbyint(value * 10);
  char text[32];
  std::snprintf(text, sizeof(text), std::fmod(tenths, 10) == 0 ? "%.0f" : "%.1f", tenths / 10);
  return std::string(text) + " " + std::string(kUnits[unit]);
}

std::string local_time(int64_t realtime_ns) {
  const std::string text = local_milliseconds(realtime_ns);
  return text.empty() ? "-" : text;
}

std::string_view status_word(const Outcome& outcome) {
  if (outcome.state == RunState::interrupted) return "ABORTED";
  if (outcome.state == RunState::running) return "RUNNING";
  return outcome.state == RunState::finished && outcome.exit_code.value_or(0) == 0 ? "COMPLETED" : "FAILED";
}

std::string first_characters(std::string_view text, size_t count) {
  size_t end = 0;
  for (; count > 0 && end < text.size(); --count) do
      ++end;
    while (end < text.size() && continues_character(text[end]));
  return std::string(text.substr(0, end));
}

std::string or_dash(std::string text) { return text.empty() ? "-" : one_line(text); }

}  // namespace

std::string nextflow_trace(const JobFigures& job, std::string_view before) {
  std::vector<Entry> entries = trace_entries(job);
  std::string text(kFirstLine);
  text += '\n';
  const auto put = [&](Entry& entry) {
    text.append(entry.key).append("=").append(entry.value).append("\n");
    entry.key = {};  // done
  };
  if (before.starts_with(kFirstLine) && before.substr(kFirstLine.size()).starts_with("\n")) {
    for (const std::string_view line : split(before.substr(kFirstLine.size() + 1), '\n')) {
      const std::string_view key = line.substr(0, line.find('='));
      if (key.size() == line.size()) continue;  // torn, or no pair
      bool ours = false;
      for (Entry& entry : trace_entries(job)) ours = ours || entry.key == key;
      for (Entry& entry : entries)
        if (!entry.key.empty() && entry.key == key) put(entry);
      if (!ours) text.append(line).append("\n");
    }
  }
  for (Entry& entry : entries)
    if (!entry.key.empty()) put(entry);
  return text;
}

std::string nextflow_tsv_header() {
  return "task_id\thash\tnative_id\tname\tstatus\texit\tsubmit\tduration\trealtime\t%cpu\tpeak_rss\tpeak_vmem\trchar\t"
         "wchar\n";
}

std::string nextflow_tsv_line(const JobFigures& job, int64_t task_number) {
  const Run& run = job.run;
  const std::string& name = run.metadata.task_name.empty() ? run.metadata.job_name : run.metadata.task_name;
  const std::string& id = run.started_by.job.raw_id;
  std::string percent = "-";
  if (const auto permille = cpu_permille(job))
    percent = std::to_string(*permille / 10) + "." + std::to_string(std::abs(*permille % 10)) + "%";
  const auto field = [](std::string text) { return "\t" + text; };
  return std::to_string(task_number) + field(or_dash(first_characters(run.metadata.external_run_id, 9))) +
         field(!id.empty()   ? one_line(id)
               : run.pid > 0 ? std::to_string(run.pid)
                             : "-") +
         field(or_dash(name)) + field(std::string(status_word(run.outcome))) +
         field(run.outcome.exit_code ? std::to_string(*run.outcome.exit_code) : "-") +
         field(local_time(run.outcome.started_realtime_ns)) + field(short_duration(job.duration_ms)) +
         field(short_duration(job.duration_ms)) + field(percent) + field(short_bytes(run.totals.memory_peak_bytes)) +
         field(short_bytes(run.totals.virtual_peak_bytes)) + field(short_bytes(run.totals.read_chars)) +
         field(short_bytes(run.totals.write_chars)) + "\n";
}

}  // namespace tacho
