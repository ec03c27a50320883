// The processes of a pod that shares one PID namespace: pid 1 is the pause process, and the first process of each
// container has parent 0. Reads /proc/PID/{stat,cmdline,exe}. Thread-safe (no state).
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "os/file.h"

namespace tacho {

// Pid and start time (clock ticks since boot) together are the identity of a process.
struct ProcessId {
  pid_t pid = 0;
  uint64_t start_time = 0;
  bool operator==(const ProcessId&) const = default;
};

struct PodProcess {
  ProcessId id;
  pid_t parent = 0, group = 0;
  bool ended = false;  // a zombie: its parent has not waited for it yet
};

// All processes, in no order; empty when /proc cannot be read.
std::vector<PodProcess> list_processes(const Roots& roots);
// Nothing when there is no such process.
std::optional<PodProcess> read_process(const Roots& roots, pid_t pid);
// The same process as then, and not a zombie.
bool is_alive(const Roots& roots, const ProcessId& id);

// When a process with this start time began, on the realtime clock.
int64_t begin_ns_of(uint64_t start_time);
// When this pod began: its pid 1, the pause process, is older than all else in it. 0 where this process is no
// container's first one, so that pid 1 may be anything.
int64_t pod_begin_ns(const Roots& roots);

// First processes of containers, oldest first, without pid 1, this process, the ignored programs, start-up probes of
// the collector and processes that the container runtime has not yet made a program of.
std::vector<ProcessId> container_roots(const Roots& roots, std::span<const std::string> ignored_programs);

// Whether a wrapper that writes its marker into `folder` is among the words of the command line: `echo completed >
// FOLDER` with the whole path, a trailing slash or /$$.pid aside.
bool is_wrapper_command(std::string_view command_line, std::string_view folder);
// /proc/PID/cmdline with blanks between the words.
std::string command_line(const Roots& roots, pid_t pid);

// Everything below `root`: children of children, processes in a process group of one of these (a launcher may have
// ended and left its workers to pid 1), and whoever shares its mount namespace when that is not ours (daemons; needs
// CAP_SYS_PTRACE or the same user). `groups` remembers groups from earlier calls. Neither `root` itself, nor first
// processes of other containers, nor this process.
std::vector<ProcessId> descendants(const Roots& roots, const ProcessId& root, std::vector<pid_t>& groups);

}  // namespace tacho
