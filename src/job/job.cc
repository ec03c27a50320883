#include "job/job.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "os/cgroup_folder.h"
#include "os/file.h"
#include "procfs/cgroup_files.h"
#include "procfs/pid_files.h"

namespace tacho {
namespace {

constexpr int kSignals[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1,
                            SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH, SIGCHLD};

uint64_t start_time_of(pid_t pid) {
  PidStat stat;
  const auto text = read_whole_file("/proc/" + std::to_string(pid) + "/stat", 1 << 16);
  return text && parse_pid_stat(*text, stat) && stat.state != 'Z' ? stat.start_time : 0;
}

}  // namespace

Job::Job(Reaped reaped, Belongs belongs)
    : inherited_(Inherited::save()), signals_(kSignals), reaped_(std::move(reaped)), belongs_(std::move(belongs)),
      hangup_ignored_(is_ignored(SIGHUP)) {}

Status Job::launch(const Launch& launch) {
  become_subreaper();
  SpawnOptions options;
  options.command = launch.command;
  options.remove_environment = {"SENTINEL_API_TOKEN", "SENTINEL_API_KEY"};
  options.inherited = inherited_;
  options.cgroup_fd = launch.cgroup_fd;
  options.before_exec = launch.before_exec;
  auto child = spawn(options);
  if (!child) return child.error();
  child_ = std::move(*child);
  own_child_ = true;
  return ok();
}

Status Job::attach(pid_t pid) {
  if (Status status = check_proc_view("/proc"); !status) return status;
  if (pid == ::getpid()) return Error{Code::invalid, "this is tacho itself", std::to_string(pid), "name the process to record"};
  start_time_ = start_time_of(pid);
  if (start_time_ == 0)
    return Error{Code::gone, "there is no process", std::to_string(pid), "look it up with ps or pgrep"};
  // /proc shows a thread under its number too, with the CPU time of that thread alone and no word of its end.
  const auto status = read_whole_file("/proc/" + std::to_string(pid) + "/status", 1 << 16);
  const std::optional<int64_t> process = status ? parse_keyed(*status, "Tgid:") : std::nullopt;
  if (process && *process != pid)
    return Error{Code::invalid, "this is a thread of process " + std::to_string(*process), std::to_string(pid),
                 "attach to the process: --pid " + std::to_string(*process)};
  child_.pid = pid;
  child_.pidfd = open_pidfd(pid);
  return ok();
}

Status Job::attach_cgroup(const std::string& folder) {
  if (!file_exists(folder + "/cgroup.procs"))
    return Error{Code::invalid, "there is no such cgroup", folder, "name a folder below /sys/fs/cgroup"};
  cgroup_folder_ = folder;
  cgroup_events_ = Fd(::open((folder + "/cgroup.events").c_str(), O_RDONLY | O_CLOEXEC));
  return ok();
}

std::span<pollfd> Job::poll_set() {
  poll_set_[0] = {signals_.fd(), POLLIN, 0};
  // Our own child is seen by SIGCHLD, reaped and accounted for in one place.
  if (!own_child_ && child_.pidfd) poll_set_[1] = {child_.pidfd.get(), POLLIN, 0};
  else if (cgroup_events_) poll_set_[1] = {cgroup_events_.get(), POLLPRI, 0};
  else return {poll_set_.data(), 1};
  return poll_set_;
}

bool Job::handle_events() {
  if (poll_set_[0].revents != 0)
    while (const auto event = signals_.next()) handle_signal(*event);
  if (poll_set_[1].revents != 0) {
    if (!cgroup_folder_.empty()) check_alive();
    else ended_ = true;
  }
  poll_set_[0].revents = poll_set_[1].revents = 0;
  return ended_ || told_to_end_;
}

void Job::check_alive() {
  if (!cgroup_folder_.empty()) {
    const auto events = read_whole_file(cgroup_folder_ + "/cgroup.events", 1 << 16);
    if (events) {
      ended_ = parse_keyed(*events, "populated") == 0;
    } else {
      bool empty = true;
      const bool there = visit_cgroup_procs(cgroup_folder_, [&](std::string_view procs) { empty = empty && procs.empty(); });
      ended_ = !there || empty;
    }
  } else if (!own_child_ && child_.pid > 0 && !child_.pidfd) {
    ended_ = start_time_of(child_.pid) != start_time_;
  }
}

bool Job::must_be_asked() const {
  if (!cgroup_folder_.empty()) return !cgroup_events_;
  return !own_child_ && child_.pid > 0 && !child_.pidfd;
}

void Job::handle_signal(const SignalEvent& event) {
  if (event.number == SIGCHLD) return reap();
  if (event.number == SIGINT) ++interrupts_;
  const bool end = event.number == SIGINT || event.number == SIGTERM || event.number == SIGQUIT ||
                   (event.number == SIGHUP && !hangup_ignored_);
  if (end) ++end_requests_;
  if (own_child_) {
    if (!ended_) forward(event);
  } else if (end) {
    told_to_end_ = true;
  }
  if (event.number == SIGTSTP) stop_self();
}

// What the terminal sends goes to the whole foreground group, and so does a job's own `kill 0`: the job has it already
// unless it left our group.
void Job::forward(const SignalEvent& event) {
  const bool to_the_group = event.from_terminal || event.sender == child_.pid || (belongs_ && belongs_(event.sender));
  if (to_the_group && ::getpgid(child_.pid) == ::getpgrp()) return;
  ::kill(child_.pid, event.number);
}

void Job::reap() {
  while (const auto exit = reap_one()) {
    if (reaped_) reaped_(*exit);
    if (own_child_ && exit->pid == child_.pid) {
      exit_ = *exit;
      ended_ = true;
    }
  }
}

}  // namespace tacho
