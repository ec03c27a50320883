// Processes: starting one exactly as we were started, watching and reaping it. Linux 5.3 (pidfd_open), 5.4 (waitid on a
// pidfd), 5.7 (CLONE_INTO_CGROUP); older kernels fall back where a function says so. Not thread-safe.
#pragma once
#include <sys/resource.h>
#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/fd.h"

namespace tacho {

// What the job inherits, saved before tacho changes its own.
struct Inherited {
  sigset_t signal_mask{};
  rlimit open_files{};
  bool ignores_child_signal = false;  // SIGCHLD was ignored: tacho must not be, or it could not reap
  static Inherited save();            // also sets SIGCHLD to its default
};

// How this process was started, kept to become another one in its place; changes nothing.
struct AsStarted {
  AsStarted();
  Inherited inherited;
};

struct Child {
  pid_t pid = -1;
  Fd pidfd;                // empty on kernels without pidfds
  bool in_cgroup = false;  // started inside the given cgroup
};

struct SpawnOptions {
  std::vector<std::string> command;
  std::vector<std::string> remove_environment;  // variables the job must not see
  std::vector<std::string> add_environment;     // NAME=value
  Inherited inherited;
  int cgroup_fd = -1;                      // start inside this cgroup v2 folder where the kernel allows it
  std::function<void(pid_t)> before_exec;  // runs in tacho while the child waits; may be empty
  // The child was stopped by this signal (Ctrl-Z) before it became the command; may be empty. Waits for its SIGCONT
  // after it.
  std::function<void(pid_t, int)> stopped;
};

// Starts the command with our stdin, stdout, stderr, folder, umask, process group, limits and signal set-up. Error
// codes: not_available (127: not found) and denied (126: not executable) come with the exec error; io when no process
// could be made.
Result<Child> spawn(const SpawnOptions& options);

// Becomes the command, with the limits and signals of `inherited`; comes back only with why it cannot be, as spawn().
Error become(const SpawnOptions& options);

// A pidfd of a process that is not our child; empty where the kernel has none.
Fd open_pidfd(pid_t pid);

struct Exit {
  pid_t pid = 0;
  int status = 0;  // as from wait4
  rusage usage{};
};
// A child that has ended and waits to be reaped; nothing when there is none.
std::optional<pid_t> next_ended();
// Reaps one ended child, whichever or this one; nothing when none has ended.
std::optional<Exit> reap_one(pid_t child = -1);
// The signal that stopped our child since this was asked last; nothing when none did, or when it has been continued.
std::optional<int> take_stop(pid_t child);
// Waits for the end of a child that is about to end, and reaps it: nobody else may (a PID 1 that does not reap). False
// when it takes longer.
bool reap_soon(pid_t child, int64_t limit_ns);
// The exit status a shell would give: code, or 128+signal.
int shell_status(int wait_status);

// Orphans of the job come to us instead of to init.
bool become_subreaper();
// As many open files as the hard limit allows; returns the limit in force.
uint64_t raise_open_files();
// CPU time of a process by its clock, in ns: any pid may be asked, nothing is opened. −1 when it is gone.
int64_t process_cpu_ns(pid_t pid);
// Whether both run in the very same memory, as a child does between vfork and exec; nothing where that is not told (no
// CONFIG_KCMP, a sandbox, a process of another user).
std::optional<bool> share_memory(pid_t one, pid_t other);
// The time since boot in clock ticks, as /proc/PID/stat gives the start of a process.
uint64_t boot_time_ticks();
// This process's anonymous resident memory, which a forked child inherits as its first high-water mark.
int64_t own_anonymous_bytes();

// Whether a process can be looked up by its number in this /proc. Where the namespace was left without mounting proc
// anew (unshare --pid), numbers there are those of other processes.
enum class ProcView { ours, foreign, missing };
ProcView proc_view(const std::string& proc);
// For a person: what is wrong and what to do; ok() when it is ours.
Status check_proc_view(const std::string& proc);

}  // namespace tacho
