// The job: a command that tacho starts, a process or cgroup that runs already, or nothing but the machine. It owns the
// signals: what reaches the job, what ends tacho, who is reaped. A shell sees of a job that is its grandchild what it
// would see of a child: when the command stops, tacho stops by the same signal, and SIGCONT goes on with both; a Ctrl-Z
// that the command ignores stops nobody. Not thread-safe.
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
  // Told of it just before, when it can still be looked at; may be empty.
  using Ending = std::function<void(pid_t)>;
  // Whether a process is part of the job.
  using Belongs = std::function<bool(pid_t)>;

  Job(Reaped reaped, Belongs belongs);  // blocks the signals that it handles from now on

  void on_ending(Ending ending) { ending_ = std::move(ending); }
  // Called just before tacho stops beside its job.
  void on_stopping(std::function<void()> stopping) { stopping_ = std::move(stopping); }

  struct Launch {
    std::vector<std::string> command;
    std::string run_folder;  // in its environment as TACHO_RUN; empty: it has none
    int cgroup_fd = -1;
    std::function<void(pid_t)> before_exec;
  };
  // Starts the command; its orphans come to tacho. The job never sees tacho's secrets.
  Status launch(const Launch& launch);
  // A signal that came before there was a command it could have reached, and that ends what does not handle it.
  std::optional<int> ended_before_start();
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
  // A command that makes itself the leader of a group is without tacho in the one that it leads already, which has the
  // terminal; with tacho it would be in the background there (timeout, an interactive shell that was stopped). Where
  // ours has the terminal, it is given to the job's. Nobody tells of that either.
  void lend_terminal();
  bool has_terminal() const { return static_cast<bool>(terminal_); }
  // Nothing in poll_set() tells of the end.
  bool must_be_asked() const;

  bool ended() const { return ended_; }
  bool in_a_hurry() const { return in_a_hurry_; }  // two Ctrl-C within two seconds after the end: skip the clean-up
  // INT, TERM, HUP and QUIT after the end, or so shortly before that the job ended because of it. What it survived is
  // its own.
  int end_requests() const { return end_requests_; }
  std::optional<Exit> exit() const { return exit_; }  // of our own child
  // To our own child; nothing once it was reaped, when its number may be another's.
  void signal(int number) const;
  // A stopped tacho is woken at this time (CLOCK_MONOTONIC), since it has something to do then: --timeout.
  void wake_at(int64_t monotonic_ns) { wake_at_ns_ = monotonic_ns; }

 private:
  void handle_signal(const SignalEvent& event);
  void count(const SignalEvent& event);
  void forward(const SignalEvent& event);
  void reap();
  void follow_stop(const std::optional<SignalEvent>& continued);
  void stop_with_job(pid_t job, int number);
  bool is_over() const { return ended_ || told_to_end_; }

  Inherited inherited_;
  SignalQueue signals_;
  Reaped reaped_;
  Ending ending_;
  std::function<void()> stopping_;
  Belongs belongs_;
  Child child_;
  bool own_child_ = false, ended_ = false, told_to_end_ = false;
  bool in_a_hurry_ = false;
  int end_requests_ = 0;
  int64_t last_interrupt_ns_, last_request_ns_, last_wish_ns_;  // Ctrl-C after the end; INT, and the others, before it
  int64_t wake_at_ns_ = INT64_MAX;
  Fd terminal_;      // of a shell's job that we lead
  pid_t waker_ = 0;  // the last one: its SIGCONT is not the job's
  std::optional<Exit> exit_;
  uint64_t start_time_ = 0;
  std::string cgroup_folder_;
  Fd cgroup_events_;
  std::array<pollfd, 2> poll_set_{};
};

}  // namespace tacho
