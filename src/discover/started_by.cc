#include "discover/started_by.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "base/text.h"
#include "discover/starter_values.h"
#include "os/environment.h"
#include "procfs/pid_files.h"

namespace tacho {
namespace {

constexpr int kAncestors = 4;
constexpr size_t kCommandLimit = 64 * 1024;
constexpr size_t kEnvironmentLimit = 4 << 20;

// A pipe is not waited for, a device or folder not read.
std::string plain_file_start(const std::string& path, size_t limit) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  std::string text;
  std::array<char, 16 * 1024> chunk;  // most of these files are small
  while (text.size() < limit) {
    const ssize_t got = ::read(fd.get(), chunk.data(), std::min(chunk.size(), limit - text.size()));
    if (got <= 0) break;
    text.append(chunk.data(), static_cast<size_t>(got));
  }
  return text;
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (const std::string_view word : split(text, '\0')) words.emplace_back(word);
  if (!words.empty() && words.back().empty()) words.pop_back();
  return words;
}

CommandLines command_lines_above(const Roots& roots, pid_t pid) {
  CommandLines lines;
  for (int i = 0; i < kAncestors && pid > 0; ++i) {
    const std::string folder = roots.proc + "/" + std::to_string(pid);
    const auto text = plain_file_start(folder + "/cmdline", kCommandLimit);
    lines.push_back(words_of(text));
    PidStat stat;
    if (!parse_pid_stat(plain_file_start(folder + "/stat", 4096), stat) || stat.ppid == pid) break;
    pid = static_cast<pid_t>(stat.ppid);
  }
  return lines;
}

// Eight files, which only those need who were started by nothing that a variable tells of.
std::function<const CommandLines&()> read_once(std::function<CommandLines()> read) {
  return [read = std::move(read), lines = std::make_shared<std::optional<CommandLines>>()]() -> const CommandLines& {
    if (!*lines) *lines = read();
    return **lines;
  };
}

pid_t parent_of(const Roots& roots, pid_t pid) {
  PidStat stat;
  const std::string text = plain_file_start(roots.proc + "/" + std::to_string(pid) + "/stat", 4096);
  return parse_pid_stat(text, stat) ? static_cast<pid_t>(stat.ppid) : 0;
}

constexpr std::array kTexts{
    &Metadata::job_name,       &Metadata::project_name, &Metadata::stage_name, &Metadata::task_name,
    &Metadata::team,           &Metadata::env,          &Metadata::language,   &Metadata::external_run_id,
    &Metadata::container_image};

template <class T>
void fill(std::optional<T>& target, const std::optional<T>& value) {
  if (!target) target = value;
}

void fill_size(RequestedSize& target, const RequestedSize& other) {
  if (target.source.empty()) target.source = other.source;
  fill(target.cpus, other.cpus);
  fill(target.memory_bytes, other.memory_bytes);
  fill(target.gpus, other.gpus);
  fill(target.time_s, other.time_s);
}

bool has_key(const std::vector<std::string>& tags, std::string_view tag) {
  const std::string_view key = tag.substr(0, tag.find('=') + 1);
  return std::any_of(tags.begin(), tags.end(), [&](const std::string& other) { return other.starts_with(key); });
}

}  // namespace

std::string stored_value(std::string_view raw) {
  std::string text = valid_utf8(raw.substr(0, 4 * kLongestValue));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  text.resize(start_of(text, kLongestValue).size());
  return text;
}

std::optional<int64_t> Variables::number(const std::string& name) const {
  const auto value = parse_int<int64_t>(trim(surroundings_.variable(name)));
  return value && *value >= 0 ? value : std::nullopt;
}

std::optional<int64_t> Variables::attempt(const std::string& name) const {
  const auto value = number(name);
  return value && *value > 0 ? std::optional(*value - 1) : std::nullopt;
}

JobSurroundings own_surroundings(const Roots& roots) {
  return {[](const std::string& name) { return environment_or(name.c_str()); }, plain_file_start,
          read_once([roots] { return command_lines_above(roots, ::getppid()); })};
}

bool is_prolog_of_task(pid_t pid) {
  return pid > 0 && environment_or("SLURM_TASK_PID") == std::to_string(pid) && !environment_or("SLURM_JOB_ID").empty();
}

JobSurroundings surroundings_of(const Roots& roots, pid_t pid) {
  const auto all = std::make_shared<const std::string>(
      plain_file_start(roots.proc + "/" + std::to_string(pid) + "/environ", kEnvironmentLimit));
  const auto variable = [all](const std::string& name) -> std::string {
    for (std::string_view rest = *all; !rest.empty();) {
      const std::string_view word = take_part(rest, '\0');
      if (word.size() > name.size() && word[name.size()] == '=' && word.starts_with(name))
        return std::string(word.substr(name.size() + 1));
    }
    return {};
  };
  const auto own = [](const std::string& name) { return environment_or(name.c_str()); };
  const bool is_ahead = variable("SLURM_JOB_ID").empty() && is_prolog_of_task(pid);
  return {is_ahead ? std::function<std::string(const std::string&)>(own) : variable, plain_file_start,
          read_once([roots, pid] { return command_lines_above(roots, parent_of(roots, pid)); })};
}

Starter find_starter(const JobSurroundings& surroundings) {
  const Variables variables(surroundings);
  auto orchestrator = find_orchestrator(variables);
  const auto executor = find_executor(variables);
  Starter found = orchestrator ? std::move(*orchestrator) : Starter{};
  found.started_by.executor = found.metadata.executor;  // what a CI system calls its runner, where nothing else is
  if (!executor) return found;
  for (const auto member : kTexts)
    if ((found.metadata.*member).empty()) found.metadata.*member = executor->metadata.*member;
  found.metadata.executor = found.started_by.executor = executor->started_by.executor;
  for (const std::string& tag : executor->metadata.tags)
    if (!has_key(found.metadata.tags, tag)) found.metadata.tags.push_back(tag);
  ScheduledJob job = executor->started_by.job;
  fill(job.restart, found.started_by.job.restart);
  found.started_by.job = std::move(job);
  fill_size(found.started_by.requested, executor->started_by.requested);
  return found;
}

void apply_starter(const Starter& starter, Metadata& metadata, StartedBy& started_by) {
  RequestedSize asked = started_by.requested;  // the user's own
  started_by = starter.started_by;
  const auto take = [&](std::string Metadata::*member, const char* name) {
    if (!(metadata.*member).empty() || (starter.metadata.*member).empty()) return;
    metadata.*member = starter.metadata.*member;
    started_by.fields.emplace_back(name);
  };
  take(&Metadata::orchestrator, "orchestrator");
  take(&Metadata::executor, "executor");
  take(&Metadata::job_name, "job_name");
  take(&Metadata::project_name, "project_name");
  take(&Metadata::stage_name, "stage_name");
  take(&Metadata::task_name, "task_name");
  take(&Metadata::env, "env");
  take(&Metadata::external_run_id, "external_run_id");
  take(&Metadata::container_image, "container_image");
  for (const std::string& tag : starter.metadata.tags) {
    if (has_key(metadata.tags, tag)) continue;
    metadata.tags.push_back(tag);
    if (std::find(started_by.fields.begin(), started_by.fields.end(), "tags") == started_by.fields.end())
      started_by.fields.emplace_back("tags");
  }
  if (!asked.known()) return;
  asked.source = "user";
  fill_size(asked, starter.started_by.requested);
  started_by.requested = asked;
}

}  // namespace tacho
