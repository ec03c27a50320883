#include "report/summary_text.h"

#include <algorithm>
#include <cmath>

#include "base/joined.h"
#include "base/text.h"
#include "base/time_text.h"
#include "base/units.h"
#include "codec/run_words.h"
#include "model/allocation.h"
#include "report/store/facts.h"
#include "report/store/human.h"

namespace tacho {
namespace {

constexpr std::string_view kDot = " · ";

struct Paint {
  bool on;
  std::string operator()(const char* code, std::string_view text) const {
    return on ? "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m" : std::string(text);
  }
};

bool failed(const Run& run) {
  return run.outcome.state == RunState::failed || run.outcome.state == RunState::interrupted;
}

const char* state_color(const Run& run) {
  return failed(run) ? "1;31" : run.outcome.state == RunState::running ? "1;33" : "1;32";
}

// "9.8 of 32 GiB", "512 MiB of 32 GiB", "9.8 GiB" when the whole is unknown.
std::string bytes_of(double part, double whole) {
  std::string text = bytes_text(part);
  if (is_absent(whole)) return text;
  const std::string limit = bytes_text(whole);
  if (text.substr(text.find(' ')) == limit.substr(limit.find(' '))) text.resize(text.find(' '));
  return text + " of " + limit;
}

std::string gpus_of(double used, double gpus) {
  // Two GPUs or more: how many of them were kept busy tells more than a percentage above 100.
  if (!is_absent(gpus) && gpus > 1) return number_text(used) + " of " + number_text(gpus) + " GPUs";
  return std::to_string(std::lround(std::clamp(used, 0.0, 1e9) * 100)) + "%";
}

// "ok 12m04s", "exit 3 after 12m04s".
std::string head(const Run& run, const RunFacts& facts) {
  const std::string words = outcome_words(run);
  if (is_absent(facts.duration_s)) return words;
  const bool plain = words == "ok" || words == "attached" || words == "watched" || words == "a file";
  return words + (plain ? " " : " after ") + duration_text(facts.duration_s);
}

std::string line(const Run& run, const RunFacts& facts, const std::string& shown_id, bool color,
                 std::string_view limited = {}) {
  const Paint paint{color};
  std::string text = "tacho: " + paint(state_color(run), head(run, facts));
  const auto part = [&](std::string_view name, const std::string& value) {
    text += paint("2", kDot);
    text += std::string(name) + " " + value;
  };
  if (!is_absent(facts.cpu_mean)) part("cpu", cores_text(facts.cpu_mean, facts.cores));
  if (!is_absent(facts.memory_peak_bytes)) part("memory peak", bytes_of(facts.memory_peak_bytes, facts.memory_bytes));
  if (!is_absent(facts.gpu_mean)) part("gpu", gpus_of(facts.gpu_mean, facts.gpus));
  if (!limited.empty()) text += paint("2", kDot) + std::string(limited);
  if (!shown_id.empty()) part("run", shown_id);
  return text;
}

// "name      value" lines.
class SummaryTable {
 public:
  explicit SummaryTable(bool color) : paint_{color} {}
  void add(std::string_view name, const std::string& value) {
    if (value.empty()) return;
    std::string label(name);
    label.resize(std::max<size_t>(label.size(), 10), ' ');  // a longer one moves its value
    text_ += "\n  " + paint_("2", label) + " " + harmless_text(value);
  }
  const std::string& text() const { return text_; }

 private:
  Paint paint_;
  std::string text_;
};

template <class Text>
std::string when(double value, Text text) {
  return is_absent(value) ? std::string() : text(value);
}

std::string limits_text(const Run& run) {
  std::string quota, cpuset, memory;
  if (run.limits.cpu_quota_cores) quota = number_text(*run.limits.cpu_quota_cores) + " cores of CPU time";
  if (run.limits.cpuset_cpus && run.limits.cpuset_cpus != run.host.host_vcpus)
    cpuset = std::to_string(*run.limits.cpuset_cpus) + " CPUs to run on";
  if (run.limits.memory_limit_bytes)
    memory = bytes_text(static_cast<double>(*run.limits.memory_limit_bytes)) + " of memory";
  return joined({quota, cpuset, memory});
}

std::string joules_text(double joules) {
  if (joules < 1e3) return number_text(joules) + " J";
  return joules < 1e6 ? number_text(joules / 1e3) + " kJ" : number_text(joules / 1e6) + " MJ";
}

// Nothing where nothing was measured.
std::string energy_text(const Energy& energy) {
  const auto part = [](const std::optional<double>& value, const char* before, const char* behind) {
    return value ? before + joules_text(*value) + behind : std::string();
  };
  return joined({part(energy.cpu_j, "", " by CPUs and their memory"), part(energy.gpu_j, "", " by GPUs"),
                 part(energy.job_j, "of that ", " for the job"),
                 energy.co2_g ? number_text(*energy.co2_g) + " g of CO2" : ""});
}

// Named as in run.json; whoever hides the one does not want the other.
std::string machine_text(const Run& run, std::string_view allocation) {
  if (allocation.empty() || is_hidden(run, "host_server_allocation") || is_hidden(run, "host_allocation")) return {};
  return std::string(allocation) + " (" + std::string(allocation_reason(allocation)) + ")";
}

// "job" of job_name, "team", "external run id": every one that was given.
template <class Lines>
void add_metadata(Lines& lines, const Run& run) {
  for (const MetadataField& field : kMetadataFields) {
    if (is_hidden(run, field.name)) continue;
    std::string title(field.name.ends_with("_name") ? field.name.substr(0, field.name.size() - 5) : field.name);
    std::replace(title.begin(), title.end(), '_', ' ');
    lines.add(title, run.metadata.*field.member);
  }
  if (is_hidden(run, "tags")) return;
  std::string tags;
  for (const std::string& tag : run.metadata.tags) tags += (tags.empty() ? "" : ", ") + tag;
  lines.add("tags", tags);
}

std::string full(const Run& run, const RunFacts& facts, int64_t rows, const std::string& folder,
                 const std::string& shown_id, bool color, std::string_view limited) {
  const Paint paint{color};
  const auto bytes = [](const char* what) { return [what](double v) { return bytes_text(v) + " " + what; }; };
  const auto seconds = [](const char* what) { return [what](double v) { return duration_text(v) + " " + what; }; };
  SummaryTable table(color);
  table.add("command", command_text(run, 200));
  table.add("process", run.process_name);
  add_metadata(table, run);
  table.add("folder", is_hidden(run, "working_directory") ? "" : run.working_directory);
  table.add("started", local_time_text(run.outcome.started_realtime_ns));
  table.add("samples",
            std::to_string(rows) + (run.interval_ns > 0 ? ", one every " + interval_text(run.interval_ns) : ""));
  table.add("cpu", joined({when(facts.cpu_mean, [&](double v) { return cores_text(v, facts.cores) + " on average"; }),
                           when(facts.cpu_max, [](double v) { return "at most " + number_text(v); }),
                           when(facts.cpu_user_s, seconds("user")), when(facts.cpu_system_s, seconds("system"))}));
  table.add("memory",
            joined({when(facts.memory_peak_bytes, [&](double v) { return "peak " + bytes_of(v, facts.memory_bytes); }),
                    when(facts.memory_mean_bytes, bytes("on average"))}));
  table.add("disk",
            joined({when(facts.disk_read_bytes, bytes("read")), when(facts.disk_write_bytes, bytes("written"))}));
  table.add("network",
            joined({when(facts.net_recv_bytes, bytes("received")), when(facts.net_sent_bytes, bytes("sent")),
                    is_absent(facts.net_recv_bytes) || run.mode == kModeWatch ? "" : "by the whole machine"}));
  table.add(
      "gpu",
      joined({when(facts.gpu_mean, [&](double v) { return gpus_of(v, facts.gpus) + " on average"; }),
              when(facts.vram_peak_bytes, [&](double v) { return "memory peak " + bytes_of(v, facts.vram_bytes); })}));
  table.add("energy", energy_text(run.energy));
  table.add("verdict", std::string(limited));
  table.add("limits", limits_text(run));
  table.add("machine", machine_text(run, facts.allocation));
  table.add("measured", joined({run.method.cpu.empty() ? "" : "cpu by " + run.method.cpu,
                                run.method.memory.empty() ? "" : "memory by " + run.method.memory,
                                run.method.io.empty() ? "" : "disk by " + run.method.io,
                                run.method.gpu.empty() || run.method.gpu == "none" ? "" : "gpu by " + run.method.gpu}));
  for (const std::string& note : run.notes) table.add("note", note);
  table.add("files", folder);
  table.add("run", shown_id);
  return "tacho: " + paint(state_color(run), head(run, facts)) + table.text();
}

RunFacts facts_of(const Run& run, const Summary& summary) {
  return tacho::facts_of(run, summary.duration_s(), [&](std::string_view name) { return summary.column(name); });
}

}  // namespace

std::string outcome_words(const Run& run) {
  const Outcome& outcome = run.outcome;
  const std::string memory = outcome.oom_killed.value_or(false) ? " (out of memory)" : "";
  if (outcome.state == RunState::running) return "running";
  if (outcome.state == RunState::interrupted) return "interrupted";
  if (outcome.timed_out) return "timed out";
  if (outcome.signal) {
    const std::string_view name = signal_word(*outcome.signal);
    return "killed by " + (name.empty() ? "signal " + std::to_string(*outcome.signal) : std::string(name)) + memory;
  }
  if (outcome.exit_code.value_or(0) != 0) return "exit " + std::to_string(*outcome.exit_code) + memory;
  if (outcome.state == RunState::failed) return "failed" + memory;
  if (run.mode == kModeAttach) return "attached";
  if (run.mode == kModeWatch) return "watched";
  if (run.mode.empty()) return "a file";  // which does not tell how it ended
  return "ok";
}

std::string command_text(const Run& run, size_t limit) {
  if (is_hidden(run, "command")) return {};
  std::string text;
  for (const std::string& word : run.command) {
    if (text.size() > limit) break;
    if (!text.empty()) text += ' ';
    text += shell_word(word);
  }
  text = harmless_text(text);
  if (text.size() <= limit) return text;
  return std::string(start_of(text, limit)) + "…";
}

std::string summary_line(const Run& run, const Summary& summary, bool color, std::string_view limited) {
  return line(run, facts_of(run, summary), run.id, color, limited);
}
std::string summary_line(const StoredRun& stored, bool color) {
  return line(stored.run, tacho::facts_of(stored), stored.shown_id(), color);
}

std::string summary_full(const Run& run, const Summary& summary, bool color, std::string_view limited) {
  return full(run, facts_of(run, summary), summary.rows(), "", run.id, color, limited);
}
std::string summary_full(const StoredRun& stored, bool color, std::string_view limited) {
  return full(stored.run, tacho::facts_of(stored), stored.rows, stored.folder, stored.shown_id(), color, limited);
}

}  // namespace tacho
