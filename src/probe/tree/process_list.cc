#include "probe/tree/process_list.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/text.h"
#include "base/units.h"
#include "os/process.h"
#include "procfs/pid_files.h"

namespace tacho {
namespace {

constexpr size_t kLongestName = 256;

std::array<char, 32> file_of(pid_t pid, const char* file) {
  std::array<char, 32> path{};
  std::snprintf(path.data(), path.size(), "%d/%s", pid, file);
  return path;
}

}  // namespace

ProcessList::ProcessList(const std::string& proc)
    : proc_fd_(::open(proc.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), root_(proc) {}

void ProcessList::list_all() {
  pids_.clear();
  list_directory(root_, [this](std::string_view name) {
    if (const auto pid = parse_int<pid_t>(name); pid && *pid > 0) pids_.push_back(*pid);
  });
  std::sort(pids_.begin(), pids_.end());
}

bool ProcessList::update(std::span<const pid_t> only, int64_t now_ns) {
  if (!proc_fd_) return false;
  if (only.empty()) list_all();
  else pids_.assign(only.begin(), only.end());
  next_.clear();
  size_t old = 0;
  for (const pid_t pid : pids_) {
    while (old < processes_.size() && processes_[old].pid < pid) ++old;
    if (old < processes_.size() && processes_[old].pid == pid) next_.push_back(std::move(processes_[old++]));
    else next_.emplace_back().pid = pid;
    next_.back().seen = false;
    look_at(next_.back(), now_ns);
    if (!next_.back().seen) next_.pop_back();
  }
  std::swap(processes_, next_);
  stamp_ns_ = now_ns;
  return true;
}

void ProcessList::look_at(ListedProcess& process, int64_t now_ns) {
  const int64_t clock_ns = process_cpu_ns(process.pid);
  const bool known = process.clock_ns >= 0;
  if (known && clock_ns == process.clock_ns) {
    process.cpu_cores = 0;
    if (process.io_bytes >= 0) process.io_bytes_per_s = 0, process.io_stamp_ns = now_ns;  // who did not run did no I/O
    process.seen = true;
    return;
  }
  const uint64_t start_time = process.start_time;
  if (clock_ns < 0 || !read_stat(process)) return;
  process.seen = true;
  const bool same = known && start_time == process.start_time && clock_ns > process.clock_ns && now_ns > stamp_ns_;
  process.cpu_cores =
      same ? static_cast<double>(clock_ns - process.clock_ns) / static_cast<double>(now_ns - stamp_ns_) : -1;
  if (!same) process.io_bytes = -1;
  process.clock_ns = clock_ns;
  read_io(process, now_ns);
}

bool ProcessList::read_stat(ListedProcess& process) {
  std::string_view text;
  PidStat stat;
  if (!buffer_.read_at(proc_fd_.get(), file_of(process.pid, "stat").data(), text) || !parse_pid_stat(text, stat))
    return false;
  const bool renamed = stat.comm != process.comm || stat.start_time != process.start_time;
  process.parent = stat.ppid;
  process.start_time = stat.start_time;
  process.rss_bytes = stat.rss_pages * ::sysconf(_SC_PAGESIZE);
  if (renamed) {
    process.comm = stat.comm;
    read_command(process);
  }
  return true;
}

void ProcessList::read_command(ListedProcess& process) {
  std::string_view text;
  process.name.clear();
  if (buffer_.read_at(proc_fd_.get(), file_of(process.pid, "cmdline").data(), text)) {
    process.name = text.substr(0, kLongestName);
    while (!process.name.empty() && process.name.back() == '\0') process.name.pop_back();
    std::replace(process.name.begin(), process.name.end(), '\0', ' ');
  }
  if (process.name.empty()) process.name = "[" + process.comm + "]";
}

void ProcessList::read_io(ListedProcess& process, int64_t now_ns) {
  std::string_view text;
  PidIo io;
  if (!buffer_.read_at(proc_fd_.get(), file_of(process.pid, "io").data(), text) || !parse_pid_io(text, io)) {
    process.io_bytes_per_s = -1;
    process.io_bytes = -1;
    return;
  }
  const int64_t bytes = io.read_bytes + io.write_bytes;
  const double seconds = static_cast<double>(now_ns - process.io_stamp_ns) / static_cast<double>(kNsPerSec);
  const bool known = process.io_bytes >= 0 && bytes >= process.io_bytes && seconds > 0;
  process.io_bytes_per_s = known ? static_cast<double>(bytes - process.io_bytes) / seconds : -1;
  process.io_bytes = bytes;
  process.io_stamp_ns = now_ns;
}

}  // namespace tacho
