// A companion: this same program, or one that does its work, started beside us for what must not happen here. It is an
// exec rather than a bare fork, because other threads may hold any lock at the moment of a fork and because the memory
// of this process, secrets included, is none of its business. It has a session of its own, so that neither Ctrl-C nor
// the job's `kill 0` reaches it, no descriptor but its ends of the channels, and the kernel kills it when the thread
// that started it ends, however that happens (PR_SET_PDEATHSIG). Starting and ending are for one thread; packets for
// any.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/fd.h"

namespace tacho {

struct CompanionOptions {
  std::string program;                 // a path; empty: this same program
  std::vector<std::string> arguments;  // the first is its name, as ps shows it
  std::vector<std::string> remove_environment;
  size_t channels = 1;  // SOCK_SEQPACKET; become 3, 4, … in the companion
};

struct Companion {
  pid_t pid = -1;
  std::vector<Fd> channels;  // our ends
};

// Does not wait for anything: a program that cannot be started is seen as a channel whose other side is gone.
Result<Companion> start_companion(const CompanionOptions& options);
// Reaps it when it has ended. True when it is gone, whoever reaped it. For the thread that reaps our children.
bool companion_ended(pid_t pid);
// For one that companion_ended() has just found alive, so that its number cannot be another's yet.
void kill_companion(pid_t pid);
// In the companion, first of all; name is a literal of at most 15 letters.
void settle_as_companion(const char* name);

inline constexpr int64_t kNoDeadline = INT64_MAX;
// One packet made of two parts. False when the other side is gone or did not take it before deadline_ns
// (CLOCK_MONOTONIC).
bool send_packet(int fd, std::span<const std::byte> head, std::span<const std::byte> rest, int64_t deadline_ns);
// The size of what was received; 0 when the other side is gone, −1 when nothing came before the deadline.
ssize_t receive_packet(int fd, std::span<std::byte> buffer, int64_t deadline_ns);

}  // namespace tacho
