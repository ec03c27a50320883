// The job: a command that tacho starts, a process or cgroup that runs already, or nothing but the machine. It owns the
// signals: what reaches the job, what ends tacho, who is reaped. Not thread-safe.
#pragma once
#include <poll.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/process.h"
#include "os/signals.h"

namespace tacho {

class Job {
 public:
  // Told of every process that tacho reaps, before anything else happens.
  using Reaped = std::function<void(const Exit&)>;
  // Whether a process is part of the job.
  using Belongs = std::function<bool(pid_t)>;

  Job(Reaped reaped, Belongs belongs);  // blocks the signals that it handles from now on

  struct Launch {
    std::vector<std::string> command;
    int cgroup_fd = -1;
    std::function<void(pid_t)> before_exec;
  };
  // Starts the command; its orphans come to tacho. The job never sees tacho's secrets.
  Status launch(const Launch& launch);
  bool in_cgroup() const { return child_.in_cgroup; }
  // Watches a process that is not ours.
  Status attach(pid_t pid);
  // Watches a cgroup: ends when it is empty or gone. events_path: cgroup.events (v2), else procs_path is looked at.
  Status attach_cgroup(const std::string& folder);

  pid_t pid() const { return child_.pid > 0 ? child_.pid : 0; }
  std::span<pollfd> poll_set();
  // Handles signals and ended children after a wait; true once the job ended or tacho was told to end.
  bool handle_events();
  // For kernels without pidfd and v1 cgroups: looks whether an attached job still lives. Called at every tick.
  void check_alive();
  // Nothing in poll_set() tells of the end.
  bool must_be_asked() const;

  bool ended() const { return ended_; }
  bool told_to_end() const { return told_to_end_; }        // INT or TERM without a command of our own
  bool in_a_hurry() const { return interrupts_ >= 2; }     // a second Ctrl-C: skip the clean-up
  int end_requests() const { return end_requests_; }       // INT, TERM, HUP and QUIT so far
  std::optional<Exit> exit() const { return exit_; }       // of our own child

 private:
  void handle_signal(const SignalEvent& event);
  void forward(const SignalEvent& event);
  void reap();

  Inherited inherited_;
  SignalQueue signals_;
  Reaped reaped_;
  Belongs belongs_;
  Child child_;
  bool own_child_ = false, ended_ = false, told_to_end_ = false;
  bool hangup_ignored_ = false;  // nohup: the end of the terminal ends nothing
  int interrupts_ = 0, end_requests_ = 0;
  std::optional<Exit> exit_;
  uint64_t start_time_ = 0;
  std::string cgroup_folder_;
  Fd cgroup_events_;
  std::array<pollfd, 2> poll_set_{};
};

}  // namespace tacho
