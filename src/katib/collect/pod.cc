#include "katib/collect/pod.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/path.h"
#include "base/text.h"
#include "base/units.h"
#include "os/clock.h"
#include "os/directory.h"
#include "os/fd.h"
#include "os/process.h"
#include "os/sibling.h"
#include "procfs/pid_files.h"

namespace tacho {
namespace {

bool has(std::span<const pid_t> list, pid_t value) { return std::find(list.begin(), list.end(), value) != list.end(); }

// `tacho-katib collect --ready`, the start-up probe of the collector's own container: a first process like any other,
// and there before any trainer.
bool is_own_probe(std::string_view words) {
  const std::vector<std::string_view> all = split(words, '\0');
  if (all.size() < 3 || last_part(all[0]) != kKatibName || all[1] != "collect") return false;
  return std::any_of(all.begin() + 2, all.end(), [](std::string_view word) {
    return word == "--ready" || word == "-ready" || word.starts_with("--ready=") || word.starts_with("-ready=");
  });
}

// The runtime on its way to become a container's process, or a probe's: who it will be cannot be told yet.
bool is_runtime(std::string_view exe, std::string_view words) {
  const std::vector<std::string_view> all = split(words, '\0');
  const bool runc = exe.starts_with("/memfd:runc") || exe.starts_with("/memfd:crun") || last_part(exe) == "runc" ||
                    last_part(exe) == "crun";
  return runc && all.size() >= 2 && all[1] == "init";
}

// By the executable, which may be hidden from another user, and by the first word of the command line. Kernel threads,
// which have neither, are seen where the namespace is the machine's own.
bool is_ignored(const Roots& roots, pid_t pid, std::span<const std::string> programs) {
  const std::string folder = roots.proc + "/" + std::to_string(pid);
  std::string exe = read_link(folder + "/exe");
  if (exe.ends_with(" (deleted)")) exe.resize(exe.size() - 10);
  const std::string words = read_whole_file(folder + "/cmdline", 1u << 20).value_or("");
  if (exe.empty() && words.empty()) return true;
  const std::string_view first = std::string_view(words).substr(0, words.find('\0'));
  if (is_own_probe(words) || is_runtime(exe, words)) return true;
  return std::any_of(programs.begin(), programs.end(),
                     [&](const std::string& name) { return name == last_part(exe) || name == last_part(first); });
}

}  // namespace

std::optional<PodProcess> read_process(const Roots& roots, pid_t pid) {
  ReadBuffer buffer(1024);
  std::string_view text;
  const std::string path = roots.proc + "/" + std::to_string(pid) + "/stat";
  PidStat stat;
  if (!buffer.read_at(AT_FDCWD, path.c_str(), text) || !parse_pid_stat(text, stat)) return std::nullopt;
  return PodProcess{{stat.pid, stat.start_time}, stat.ppid, stat.group, stat.state == 'Z' || stat.state == 'X'};
}

std::vector<PodProcess> list_processes(const Roots& roots) {
  std::vector<PodProcess> out;
  const Fd folder(::open(roots.proc.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return out;
  NumericEntries entries(folder.get());
  for (int pid = 0; entries.next(pid);)
    if (const auto process = read_process(roots, pid)) out.push_back(*process);
  return out;
}

bool is_alive(const Roots& roots, const ProcessId& id) {
  const auto process = read_process(roots, id.pid);
  return process && process->id == id && !process->ended;
}

int64_t begin_ns_of(uint64_t start_time) {
  static const int64_t tick_ns = kNsPerSec / ::sysconf(_SC_CLK_TCK);
  return system_clock().realtime_ns() -
         (static_cast<int64_t>(boot_time_ticks()) - static_cast<int64_t>(start_time)) * tick_ns;
}

int64_t pod_begin_ns(const Roots& roots) {
  const auto pause = read_process(roots, 1);
  return pause && ::getppid() == 0 && ::getpid() != 1 ? begin_ns_of(pause->id.start_time) : 0;
}

std::vector<ProcessId> container_roots(const Roots& roots, std::span<const std::string> ignored_programs) {
  std::vector<ProcessId> out;
  for (const PodProcess& process : list_processes(roots)) {
    if (process.parent != 0 || process.id.pid == 1 || process.id.pid == ::getpid() || process.ended) continue;
    if (!is_ignored(roots, process.id.pid, ignored_programs)) out.push_back(process.id);
  }
  std::sort(out.begin(), out.end(), [](const ProcessId& a, const ProcessId& b) {
    return a.start_time != b.start_time ? a.start_time < b.start_time : a.pid < b.pid;
  });
  return out;
}

std::string command_line(const Roots& roots, pid_t pid) {
  std::string words = read_whole_file(roots.proc + "/" + std::to_string(pid) + "/cmdline", 4u << 20).value_or("");
  std::replace(words.begin(), words.end(), '\0', ' ');
  return words;
}

bool is_wrapper_command(std::string_view command_line, std::string_view folder) {
  constexpr std::string_view kEcho = "echo completed > ";
  while (folder.size() > 1 && folder.ends_with('/')) folder.remove_suffix(1);
  for (size_t at = command_line.find(kEcho); at != std::string_view::npos; at = command_line.find(kEcho, at + 1)) {
    std::string_view rest = command_line.substr(at + kEcho.size());
    if (!rest.starts_with(folder)) continue;
    rest.remove_prefix(folder.size());
    // /var/log/katib is no match for /var/log/katib2, nor for a folder below it.
    while (rest.starts_with('/')) rest.remove_prefix(1);
    const std::string_view name = rest.substr(0, rest.find_first_of(" \t\n;&|}"));
    const bool whole = name.empty() || name.find('/') == std::string_view::npos;
    if (whole && (rest.data() != command_line.data() + at + kEcho.size() + folder.size() || name.empty())) return true;
  }
  return false;
}

std::vector<ProcessId> descendants(const Roots& roots, const ProcessId& root, std::vector<pid_t>& groups) {
  const std::vector<PodProcess> all = list_processes(roots);
  std::vector<pid_t> family{root.pid};
  std::vector<ProcessId> out;
  const pid_t own_group = ::getpgrp();
  // A container has a mount namespace of its own: what is in it belongs to it, also a daemon that left group and
  // parent.
  const auto mounts_of = [&](pid_t pid) { return read_link(roots.proc + "/" + std::to_string(pid) + "/ns/mnt"); };
  const std::string mounts = mounts_of(root.pid);
  const bool own_mounts = !mounts.empty() && mounts != mounts_of(::getpid());
  const auto remember = [&](pid_t group) {
    if (group > 1 && group != own_group && !has(groups, group)) groups.push_back(group);
  };
  for (const PodProcess& process : all)
    if (process.id == root) remember(process.group);
  for (bool grown = true; grown;) {
    grown = false;
    for (const PodProcess& process : all) {
      const pid_t pid = process.id.pid;
      if (pid <= 1 || pid == ::getpid() || process.parent == 0 || has(family, pid)) continue;
      if (!has(family, process.parent) && !has(groups, process.group) && !(own_mounts && mounts_of(pid) == mounts))
        continue;
      family.push_back(pid);
      remember(process.group);
      grown = true;
      if (!process.ended) out.push_back(process.id);
    }
  }
  return out;
}

}  // namespace tacho
