#include "cli/fail_open.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/log.h"
#include "cli/commands.h"
#include "job/process_identity.h"
#include "os/environment.h"
#include "os/file.h"
#include "procfs/pid_files.h"
#include "report/store/store.h"

namespace tacho {
namespace {

constexpr int kMostAncestors = 4096;

pid_t parent_of(pid_t pid) {
  const auto text = read_whole_file("/proc/" + std::to_string(pid) + "/stat", 1 << 16);
  PidStat stat;
  return text && parse_pid_stat(*text, stat) ? stat.ppid : 0;
}

bool is_ancestor(pid_t pid) {
  pid_t up = ::getppid();
  for (int hops = 0; up > 0 && up != pid && hops < kMostAncestors; ++hops) up = parent_of(up);
  return up == pid && pid > 0;
}

}  // namespace

bool wants_to_pass(const ParsedLine& line) {
  const auto word = value_of(line, "nested");
  return word.value_or(environment("TACHO_NESTED")) == "pass";
}

bool is_inside_passing_run() {
  const std::string folder = environment_or(kRunFolderVariable);
  if (folder.empty()) return false;
  const auto stored = read_stored(folder);
  if (!stored || !stored->run.nested_pass) return false;
  const Run& run = stored->run;
  return run.tracker_pid > 0 && run.tracker_start_ticks > 0 &&
         process_start_ticks(run.tracker_pid) == run.tracker_start_ticks && is_ancestor(run.tracker_pid);
}

std::vector<std::string> command_left_open(std::span<const std::string> arguments, bool by_settings) {
  const bool by_variable = environment_on("TACHO_FAIL_OPEN");
  if (const auto line = parse_arguments(arguments, kRun, Words::command)) {
    const bool is_named = value_of(*line, "fail-open").has_value();
    const bool open = is_named ? is_set(*line, "fail-open") : by_settings || by_variable;
    return open ? line->words : std::vector<std::string>{};
  }
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  const bool open = by_variable || std::find(arguments.begin(), dashes, "--fail-open") != dashes;
  if (!open || dashes == arguments.end()) return {};
  return {dashes + 1, arguments.end()};
}

int become_command(const std::vector<std::string>& command, const AsStarted& as_started) {
  std::fflush(nullptr);
  SpawnOptions options;
  options.command = command;
  options.remove_environment = secret_variables();
  options.remove_environment.emplace_back(kHookedTaskVariable);
  options.inherited = as_started.inherited;
  const Error error = become(options);
  log::error(error.message());
  return error.code == Code::not_available ? 127 : 126;
}

}  // namespace tacho
