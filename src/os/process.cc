#include "os/process.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/sched.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "base/text.h"
#include "base/units.h"
#include "os/child.h"
#include "os/clock.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/timespec.h"

namespace tacho {
namespace {

// clone3's arguments with the cgroup member (Linux 5.7), whatever the headers know.
struct CloneArguments {
  uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup;
};
constexpr uint64_t kClonePidfd = 0x00001000;
constexpr uint64_t kCloneIntoCgroup = 0x200000000ULL;

constexpr int kLookForStopMs = 20;

struct Forked {
  pid_t pid;
  int pidfd;
  bool in_cgroup;
};

// fork() with a pidfd and, if asked, straight into a cgroup. The child may only make system calls until exec. A plain
// copy of the address space is wanted rather than vfork: file pages are not copied, so the job's ru_maxrss starts near
// zero.
Forked fork_child(int cgroup_fd) {
  int pidfd = -1;
  CloneArguments arguments{};
  arguments.flags = kClonePidfd;
  arguments.pidfd = reinterpret_cast<uint64_t>(&pidfd);
  arguments.exit_signal = SIGCHLD;
  if (cgroup_fd >= 0) {
    arguments.flags |= kCloneIntoCgroup;
    arguments.cgroup = static_cast<uint64_t>(cgroup_fd);
    const long pid = ::syscall(SYS_clone3, &arguments, sizeof arguments);
    if (pid >= 0) return {static_cast<pid_t>(pid), pidfd, true};
    arguments.flags = kClonePidfd;
    arguments.cgroup = 0;
  }
  const long pid = ::syscall(SYS_clone3, &arguments, offsetof(CloneArguments, set_tid));
  if (pid >= 0) return {static_cast<pid_t>(pid), pidfd, false};
  if (errno != ENOSYS && errno != EPERM) return {-1, -1, false};
  const pid_t forked = ::fork();  // a kernel before 5.3, or a sandbox that hides clone3
  return {forked, forked > 0 ? open_pidfd(forked).release() : -1, false};
}

// Where execvp would find the program; looked up before the fork so that the child makes system calls only.
std::vector<std::string> program_candidates(const std::string& program) {
  // An empty name is no file at all; joined to a folder it would be that folder.
  if (program.empty() || program.find('/') != std::string::npos) return {program};
  const std::string path = environment_raw("PATH").value_or("/bin:/usr/bin");
  std::vector<std::string> candidates;
  for (const std::string_view folder : split(path, ':'))
    candidates.push_back(folder.empty() ? "./" + program : std::string(folder) + "/" + program);
  return candidates;
}

struct ExecPlan {
  std::vector<const char*> candidates;
  std::vector<char*> arguments, environment;
  std::vector<char*> shell_arguments;  // for a script without #!, as execvp does: sh FILE ARGS
  Inherited inherited;
  int go_fd = -1;        // readable end: wait here before exec, or −1
  int go_write_fd = -1;  // its other end, which the child must not hold open
  int error_fd = -1;     // exec's errno goes here
};

// Points into both.
ExecPlan plan_of(const SpawnOptions& options, const std::vector<std::string>& candidates) {
  ExecPlan plan;
  for (const std::string& candidate : candidates) plan.candidates.push_back(candidate.c_str());
  plan.arguments = exec_words(options.command);
  plan.shell_arguments = {const_cast<char*>("sh"), nullptr};
  plan.shell_arguments.insert(plan.shell_arguments.end(), plan.arguments.begin() + 1, plan.arguments.end());
  plan.environment = environment_without(options.remove_environment);
  for (const std::string& entry : options.add_environment)
    plan.environment.insert(plan.environment.end() - 1, const_cast<char*>(entry.c_str()));
  plan.inherited = options.inherited;
  return plan;
}

void inherit(const Inherited& inherited) {
  ::setrlimit(RLIMIT_NOFILE, &inherited.open_files);
  if (inherited.ignores_child_signal) ::signal(SIGCHLD, SIG_IGN);
  ::sigprocmask(SIG_SETMASK, &inherited.signal_mask, nullptr);
}

// Comes back with errno where no candidate could be run.
int try_exec(ExecPlan& plan) {
  int error = ENOENT;
  for (const char* file : plan.candidates) {
    ::execve(file, plan.arguments.data(), plan.environment.data());
    if (errno == ENOEXEC) {
      plan.shell_arguments[1] = const_cast<char*>(file);
      ::execve("/bin/sh", plan.shell_arguments.data(), plan.environment.data());
      error = ENOEXEC;
      break;
    }
    if (errno == EACCES) error = EACCES;  // go on looking, but remember, as execvp does
    if (errno != EACCES && errno != ENOENT && errno != ENOTDIR && errno != ESTALE && errno != ENODEV &&
        errno != ETIMEDOUT) {
      error = errno;
      break;
    }
  }
  return error;
}

[[noreturn]] void run_child(ExecPlan& plan) {
  inherit(plan.inherited);
  char go = 0;
  if (plan.go_write_fd >= 0) ::close(plan.go_write_fd);
  if (plan.go_fd >= 0)
    while (::read(plan.go_fd, &go, 1) < 0 && errno == EINTR) {}
  const int error = try_exec(plan);
  [[maybe_unused]] const ssize_t told = ::write(plan.error_fd, &error, sizeof error);
  ::_exit(error == ENOENT ? 127 : 126);
}

Error exec_error(const std::string& program, const std::vector<std::string>& candidates, int number) {
  Error error = system_error("cannot run", program, number);
  if (number == ENOENT || number == ENOTDIR) {
    error.code = Code::not_available;
    error.what = "command not found";
    error.hint = program.empty()                          ? "its name is empty"
                 : program.find('/') != std::string::npos ? "there is no such file"
                                                          : "is it installed and on PATH?";
    for (const std::string& file : candidates)
      if (!program.empty() && file_exists(file)) {
        error.what = "command cannot be started";
        error.hint = file + " is there, but what is to run it is not: look at its first line, or at file " + file;
        break;
      }
  } else {
    error.code = Code::denied;
    error.what = "command is not executable";
    struct stat info {};
    const bool is_folder = ::stat(program.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
    if (is_folder) error.hint = "it is a folder";
    else if (number == EACCES) error.hint = "permission denied; try chmod +x, or name a program";
  }
  return error;
}

}  // namespace

Inherited Inherited::save() {
  Inherited inherited;
  ::sigprocmask(SIG_SETMASK, nullptr, &inherited.signal_mask);
  ::getrlimit(RLIMIT_NOFILE, &inherited.open_files);
  inherited.ignores_child_signal = ::signal(SIGCHLD, SIG_DFL) == SIG_IGN;
  return inherited;
}

AsStarted::AsStarted() {
  ::sigprocmask(SIG_SETMASK, nullptr, &inherited.signal_mask);
  ::getrlimit(RLIMIT_NOFILE, &inherited.open_files);
  struct sigaction now {};
  inherited.ignores_child_signal = ::sigaction(SIGCHLD, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

Error become(const SpawnOptions& options) {
  const std::vector<std::string> candidates = program_candidates(options.command.at(0));
  ExecPlan plan = plan_of(options, candidates);
  inherit(plan.inherited);
  return exec_error(options.command[0], candidates, try_exec(plan));
}

Result<Child> spawn(const SpawnOptions& options) {
  int error_pipe[2] = {-1, -1}, go_pipe[2] = {-1, -1};
  if (::pipe2(error_pipe, O_CLOEXEC) != 0) return system_error("cannot make a pipe", "", errno);
  const Fd error_read(error_pipe[0]);
  Fd error_write(error_pipe[1]);
  if (options.before_exec && ::pipe2(go_pipe, O_CLOEXEC) != 0) return system_error("cannot make a pipe", "", errno);
  const Fd go_read(go_pipe[0]);
  Fd go_write(go_pipe[1]);

  const std::vector<std::string> candidates = program_candidates(options.command.at(0));
  ExecPlan plan = plan_of(options, candidates);
  plan.go_fd = go_read.get();
  plan.go_write_fd = go_write.get();
  plan.error_fd = error_write.get();

  const Forked forked = fork_child(options.cgroup_fd);
  if (forked.pid == 0) run_child(plan);
  if (forked.pid < 0) return system_error("cannot start a process", options.command[0], errno);
  Child child{forked.pid, Fd(forked.pidfd), forked.in_cgroup};
  if (options.before_exec) {
    options.before_exec(child.pid);
    go_write.reset();  // end of file is the sign to go
  }
  error_write.reset();
  pollfd started{error_read.get(), POLLIN, 0};
  while (options.stopped && ::poll(&started, 1, kLookForStopMs) <= 0)
    if (const auto stop = take_stop(child.pid)) options.stopped(child.pid, *stop);
  int number = 0;
  ssize_t got = 0;
  while ((got = ::read(error_read.get(), &number, sizeof number)) < 0 && errno == EINTR) {}
  if (got == static_cast<ssize_t>(sizeof number)) {
    int status = 0;
    while (::waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {}
    return exec_error(options.command[0], candidates, number);
  }
  return child;
}

Fd open_pidfd(pid_t pid) { return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))); }

std::optional<pid_t> next_ended() {
  siginfo_t info{};
  if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) != 0 || info.si_pid <= 0) return std::nullopt;
  return info.si_pid;
}

std::optional<Exit> reap_one(pid_t child) {
  Exit exit;
  do { exit.pid = ::wait4(child, &exit.status, WNOHANG | __WALL, &exit.usage); } while (exit.pid < 0 && errno == EINTR);
  if (exit.pid <= 0) return std::nullopt;
  return exit;
}

std::optional<int> take_stop(pid_t child) {
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED | WNOHANG) != 0 || info.si_pid != child)
    return std::nullopt;
  return info.si_status;
}

bool reap_soon(pid_t child, int64_t limit_ns) {
  const int64_t deadline_ns = system_clock().monotonic_ns() + limit_ns;
  const Fd pidfd = open_pidfd(child);
  for (;;) {
    const pid_t got = ::waitpid(child, nullptr, WNOHANG | __WALL);
    if (got != 0 && !(got < 0 && errno == EINTR)) return true;
    const int64_t now_ns = system_clock().monotonic_ns();
    if (now_ns >= deadline_ns) return false;
    pollfd ended{pidfd.get(), POLLIN, 0};
    system_clock().wait({&ended, pidfd ? 1u : 0u}, pidfd ? deadline_ns : std::min(deadline_ns, now_ns + kNsPerMs));
  }
}

int shell_status(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

bool become_subreaper() { return ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0; }

uint64_t raise_open_files() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit raised{limit.rlim_max, limit.rlim_max};
  return ::setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur;
}

int64_t process_cpu_ns(pid_t pid) {
  // The kernel's encoding of "scheduler clock of process pid" (clock_getcpuclockid without its extra system call).
  const auto id = static_cast<clockid_t>((~static_cast<unsigned>(pid) << 3) | 2u);
  timespec time{};
  if (::clock_gettime(id, &time) != 0) return -1;
  return as_ns(time);
}

std::optional<bool> share_memory(pid_t one, pid_t other) {
  const long order = ::syscall(SYS_kcmp, one, other, KCMP_VM, 0, 0);
  if (order < 0) return std::nullopt;
  return order == 0;
}

uint64_t boot_time_ticks() {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  static const auto ticks_per_second = static_cast<uint64_t>(::sysconf(_SC_CLK_TCK));
  return static_cast<uint64_t>(time.tv_sec) * ticks_per_second +
         static_cast<uint64_t>(time.tv_nsec) * ticks_per_second / static_cast<uint64_t>(kNsPerSec);
}

int64_t own_anonymous_bytes() {
  const auto text = read_whole_file("/proc/self/status", 1 << 16);
  if (!text) return 0;
  const size_t at = text->find("RssAnon:");
  if (at == std::string::npos) return 0;
  return std::strtoll(text->c_str() + at + 8, nullptr, 10) * 1024;
}

ProcView proc_view(const std::string& proc) {
  if (!file_exists(proc + "/self/stat")) return ProcView::missing;
  const std::string self = read_link(proc + "/self");  // "4711", by the numbers of that /proc
  return self.empty() || self == std::to_string(::getpid()) ? ProcView::ours : ProcView::foreign;
}

Status check_proc_view(const std::string& proc) {
  switch (proc_view(proc)) {
    case ProcView::ours: return ok();
    case ProcView::foreign:
      return Error{Code::invalid, proc + " is of another PID namespace: the job's processes cannot be found in it", "",
                   "mount it anew inside the namespace: mount -t proc proc /proc, or unshare --mount-proc"};
    case ProcView::missing: break;
  }
  return Error{Code::invalid, proc + " is not mounted, or does not show tacho: almost nothing can be measured", "",
               "mount -t proc proc /proc"};
}

}  // namespace tacho
