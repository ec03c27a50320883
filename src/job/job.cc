#include "job/job.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/units.h"
#include "job/process_identity.h"
#include "job/waker.h"
#include "os/cgroup_folder.h"
#include "os/clock.h"
#include "os/environment.h"
#include "os/file.h"
#include "procfs/cgroup_files.h"
#include "procfs/pid_files.h"

namespace tacho {
namespace {

constexpr int kSignals[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,   SIGUSR1,  SIGUSR2, SIGTSTP,
                            SIGTTIN, SIGTTOU, SIGCONT, SIGWINCH,  SIGCHLD,  SIGALRM, SIGPROF,
                            SIGIO,   SIGPWR,  SIGXCPU, SIGVTALRM, SIGSTKFLT};

// Those that end whoever does not know them, and that we know nothing of: meant for the job, which would otherwise live
// on without us.
bool is_foreign(int number) {
  return number == SIGALRM || number == SIGPROF || number == SIGIO || number == SIGPWR || number == SIGXCPU ||
         number == SIGVTALRM || number == SIGSTKFLT || number >= SIGRTMIN;
}

std::vector<int> all_signals() {
  std::vector<int> all(std::begin(kSignals), std::end(kSignals));
  for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) all.push_back(number);
  return all;
}

constexpr int64_t kTwice_ns = 2 * kNsPerSec;
// How long after a signal a job may take to end because of it: a Ctrl-C is for now, and an orchestrator that sends TERM
// kills half a minute later.
constexpr int64_t kInterrupted_ns = 2 * kNsPerSec, kTerminated_ns = 60 * kNsPerSec;
constexpr int64_t kLongAgo_ns = INT64_MIN / 2;

bool is_end(int number) { return number == SIGINT || number == SIGTERM || number == SIGQUIT || number == SIGHUP; }
bool is_stop(int number) { return number == SIGTSTP || number == SIGTTIN || number == SIGTTOU; }

// All of a group that it leads: Ctrl-Z stopped all of it, and a shell's SIGCONT reaches only ours.
// One that became another user's, as sudo does, takes no signal of ours.
void send(pid_t job, int number) {
  static bool told = false;
  if (::kill(job, number) == 0 || errno != EPERM || std::exchange(told, true)) return;
  log::warn("the job belongs to another user now and takes no signal from tacho, which waits for its end");
}

void go_on(pid_t job) { ::kill(::getpgid(job) == job ? -job : job, SIGCONT); }

// Who sent the SIGCONT that is pending; nothing when none is.
std::optional<pid_t> take_continue() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGCONT);
  const timespec at_once{};
  siginfo_t info{};
  if (::sigtimedwait(&set, &info, &at_once) != SIGCONT) return std::nullopt;
  return info.si_pid;
}

}  // namespace

Job::Job(Reaped reaped, Belongs belongs)
    : inherited_(Inherited::save()),
      signals_(all_signals(), IgnoredSignals::told),
      reaped_(std::move(reaped)),
      belongs_(std::move(belongs)),
      last_interrupt_ns_(kLongAgo_ns),
      last_request_ns_(kLongAgo_ns),
      last_wish_ns_(kLongAgo_ns) {}

std::optional<int> Job::ended_before_start() {
  while (const auto event = signals_.next()) {
    if (event->ignored) continue;
    const bool is_users = event->number == SIGUSR1 || event->number == SIGUSR2;
    if (is_end(event->number) || is_users || is_foreign(event->number)) return event->number;
    if (is_stop(event->number)) stop_by(event->number);
  }
  return std::nullopt;
}

Status Job::launch(const Launch& launch) {
  become_subreaper();
  SpawnOptions options;
  options.command = launch.command;
  options.remove_environment = secret_variables();
  options.remove_environment.emplace_back(kRunFolderVariable);  // of a run around this one
  options.remove_environment.emplace_back(kHookedTaskVariable);
  if (!launch.run_folder.empty())
    options.add_environment.push_back(std::string(kRunFolderVariable) + "=" + launch.run_folder);
  options.inherited = inherited_;
  options.cgroup_fd = launch.cgroup_fd;
  options.before_exec = launch.before_exec;
  options.stopped = [this](pid_t pid, int number) { stop_with_job(pid, number); };
  auto child = spawn(options);
  if (!child) return child.error();
  child_ = std::move(*child);
  own_child_ = true;
  if (::getpgrp() == ::getpid()) terminal_ = Fd(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC));
  return ok();
}

void Job::lend_terminal() {
  if (!terminal_ || !own_child_ || ended_) return;
  const pid_t ours = ::getpgrp(), group = ::getpgid(child_.pid);
  if (group != child_.pid || group == ours || ::getsid(child_.pid) != ::getsid(0) ||
      ::tcgetpgrp(terminal_.get()) != ours)
    return;
  // SIGTTIN may have stopped some of them by now.
  if (::tcsetpgrp(terminal_.get(), group) == 0) ::kill(-group, SIGCONT);
}

Status Job::attach(pid_t pid) {
  if (Status status = check_proc_view("/proc"); !status) return status;
  if (pid == ::getpid())
    return Error{Code::invalid, "this is tacho itself", std::to_string(pid), "name the process to record"};
  start_time_ = process_start_ticks(pid);
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
  if (poll_set_[0].revents != 0) {
    bool child_news = false;
    std::optional<SignalEvent> continued;
    // All of them before the news of the child: what came before its end did not come after.
    while (const auto event = signals_.next()) {
      if (event->number == SIGCHLD) child_news = true;
      else if (event->number == SIGCONT) continued = event;
      else handle_signal(*event);
    }
    if (child_news) reap();
    if (own_child_ && !ended_) follow_stop(continued);
  }
  if (poll_set_[1].revents != 0) {
    if (!cgroup_folder_.empty()) check_alive();
    else ended_ = true;
  }
  poll_set_[0].revents = poll_set_[1].revents = 0;
  return is_over();
}

void Job::check_alive() {
  lend_terminal();
  if (!cgroup_folder_.empty()) {
    const auto events = read_whole_file(cgroup_folder_ + "/cgroup.events", 1 << 16);
    if (events) {
      ended_ = parse_keyed(*events, "populated") == 0;
    } else {
      bool empty = true;
      const bool there =
          visit_cgroup_procs(cgroup_folder_, [&](std::string_view procs) { empty = empty && procs.empty(); });
      ended_ = !there || empty;
    }
  } else if (!own_child_ && child_.pid > 0 && !child_.pidfd) {
    ended_ = process_start_ticks(child_.pid) != start_time_;
  }
}

bool Job::must_be_asked() const {
  if (!cgroup_folder_.empty()) return !cgroup_events_;
  return !own_child_ && child_.pid > 0 && !child_.pidfd;
}

void Job::handle_signal(const SignalEvent& event) {
  if (is_end(event.number) && !event.ignored) count(event);
  if (own_child_ && !ended_) return forward(event);
  if (!own_child_ && (is_end(event.number) || is_foreign(event.number)) && !event.ignored) told_to_end_ = true;
  if (is_stop(event.number) && !event.ignored) stop_by(event.number);  // there is no command that could
}

void Job::count(const SignalEvent& event) {
  const int64_t now_ns = system_clock().monotonic_ns();
  if (!is_over()) {
    (event.number == SIGINT ? last_wish_ns_ : last_request_ns_) = now_ns;
    return;
  }
  ++end_requests_;
  if (event.number != SIGINT) return;
  in_a_hurry_ = in_a_hurry_ || now_ns - last_interrupt_ns_ <= kTwice_ns;
  last_interrupt_ns_ = now_ns;
}

// What the terminal sends goes to the whole foreground group, and so does a job's own `kill 0`: the job has it already
// unless it left our group. The kernel stops the whole group of whoever touches the terminal from the background; a job
// that left it did not.
// A terminal that hangs up tells the leader of its session alone, which the command would be without us.
void Job::forward(const SignalEvent& event) {
  // A timer from before our exec (alarm 60; exec tacho …) was set for the job; our own limit of CPU time is not its.
  if (is_foreign(event.number) && event.from_terminal)
    return event.number == SIGXCPU ? void() : send(child_.pid, event.number);
  const bool to_the_leader =
      event.from_terminal && (event.number == SIGHUP || event.number == SIGCONT) && ::getsid(0) == ::getpid();
  if (to_the_leader) return send(child_.pid, event.number);
  const bool to_the_group = event.from_terminal || event.sender == child_.pid || (belongs_ && belongs_(event.sender));
  if (to_the_group && ::getpgid(child_.pid) == ::getpgrp()) return;
  if (event.from_terminal && (event.number == SIGTTIN || event.number == SIGTTOU)) return;
  send(child_.pid, event.number);
}

void Job::signal(int number) const {
  if (own_child_ && !ended_) send(child_.pid, number);
}

void Job::reap() {
  for (;;) {
    const auto ended = ending_ ? next_ended() : std::nullopt;
    if (ended) ending_(*ended);
    const auto exit = reap_one(ended.value_or(-1));
    if (!exit) return;
    if (reaped_) reaped_(*exit);
    if (own_child_ && exit->pid == child_.pid) {
      exit_ = *exit;
      ended_ = true;
      if (terminal_ && ::tcgetpgrp(terminal_.get()) == exit->pid) ::tcsetpgrp(terminal_.get(), ::getpgrp());
      const int64_t now_ns = system_clock().monotonic_ns();
      if (now_ns - last_wish_ns_ <= kInterrupted_ns || now_ns - last_request_ns_ <= kTerminated_ns) ++end_requests_;
    }
  }
}

void Job::follow_stop(const std::optional<SignalEvent>& continued) {
  const auto stop = take_stop(child_.pid);
  if (!continued) {
    if (stop) stop_with_job(child_.pid, *stop);
    return;
  }
  if (continued->sender == waker_ && waker_ != 0) return;
  // Stopped and continued together (SIGSTOP to the group): the news of the job's stop is old, for a stop signal to us
  // would have taken the SIGCONT away. The job has its own SIGCONT, or gets it now.
  if (!stop) forward(*continued);
  else if (is_stopped(child_.pid)) go_on(child_.pid);
}

// In the order in which a shell does it: the job is stopped, then we are.
void Job::stop_with_job(pid_t job, int number) {
  if (stopping_) stopping_();
  for (;;) {
    bool was_stopped = false;
    {
      const Waker waker(job, wake_at_ns_);
      waker_ = waker.pid();
      was_stopped = stop_by(number);
    }
    const auto continued_by = take_continue();
    if (continued_by && *continued_by == waker_ && waker_ != 0)
      return;  // the job goes on or has ended, or the time has come
    if (continued_by) lend_terminal();
    // A stop that has no effect on our group would have none on the job either, were it not in a group of its own. One
    // that touched the terminal from there would do so again at once.
    const bool has_no_effect = !was_stopped && number == SIGTSTP;
    if (!(continued_by || has_no_effect) || !is_stopped(job)) return;
    // It went on already and was stopped once more, or it was not reached by what continued us.
    const auto again = take_stop(job);
    if (!again) return go_on(job);
    number = *again;
  }
}

}  // namespace tacho
