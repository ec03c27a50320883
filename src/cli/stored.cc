#include "cli/stored.h"

#include "base/text.h"
#include "base/units.h"

namespace tacho {
namespace {

const Statistics* find(const StoredRun& stored, std::string_view column) {
  for (const auto& [name, statistics] : stored.statistics)
    if (name == column) return &statistics;
  return nullptr;
}

bool plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-./=:,+@%^").find(c) != std::string_view::npos || (c & 0x80) != 0;
}

// As one would type it; control characters do not reach the terminal.
std::string quoted(std::string_view word) {
  bool all_plain = !word.empty();
  for (const char c : word) all_plain = all_plain && plain(c);
  if (all_plain) return valid_utf8(word);
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'') out += "'\\''";
    else out += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c;
  }
  return valid_utf8(out + "'");
}

}  // namespace

double mean_cores(const StoredRun& stored) {
  for (const char* column : {"process_cpu_usage", "system_cpu_usage"})
    if (const Statistics* found = find(stored, column); found != nullptr && !is_absent(found->mean)) return found->mean;
  return kAbsent;
}

double memory_peak_bytes(const StoredRun& stored) {
  if (stored.run.totals.memory_peak_bytes) return static_cast<double>(*stored.run.totals.memory_peak_bytes);
  for (const char* column : {"process_memory_mib", "system_memory_used_mib"})
    if (const Statistics* found = find(stored, column); found != nullptr && !is_absent(found->max))
      return found->max * static_cast<double>(kMiB);
  return kAbsent;
}

std::string state_word(const Outcome& outcome) {
  if (outcome.state == RunState::running) return "running";
  if (outcome.state == RunState::interrupted) return "interrupted";
  if (outcome.timed_out) return "timeout";
  if (outcome.oom_killed.value_or(false)) return "oom";
  if (outcome.signal) return "signal " + std::to_string(*outcome.signal);
  if (outcome.state == RunState::finished) return "ok";
  return outcome.exit_code ? "failed " + std::to_string(*outcome.exit_code) : "failed";
}

std::string what_ran(const Run& run) {
  std::string text;
  for (const std::string& word : run.command) (text += text.empty() ? "" : " ") += quoted(word);
  if (!text.empty()) return text;
  if (!run.metadata.job_name.empty()) return valid_utf8(run.metadata.job_name);
  return run.pid != 0 ? "pid " + std::to_string(run.pid) : run.mode == "watch" ? "machine" : run.mode;
}

}  // namespace tacho
