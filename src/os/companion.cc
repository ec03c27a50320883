#include "os/companion.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "os/child.h"
#include "os/clock.h"
#include "os/environment.h"
#include "os/file.h"

namespace tacho {
namespace {

struct CompanionPlan {
  pid_t parent;
  const char* program;
  std::vector<char*> arguments, environment;
  std::vector<int> descriptors;  // 0, 1, 2, then the channels; all far above their place
};

// Between fork and exec: system calls only.
[[noreturn]] void run_companion(CompanionPlan& plan) {
  ::setsid();
  end_with_parent(plan.parent);
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGTERM, SIG_DFL);
  settle_before_exec(plan.descriptors);
  ::execve(plan.program, plan.arguments.data(), plan.environment.data());
  ::_exit(127);
}

Error too_few_descriptors() {
  return {Code::io, "too few descriptors for a process beside tacho", "", "raise ulimit -n"};
}

// True when the descriptor is ready, or may be: the caller tries and finds out.
bool wait_for(int fd, short events, int64_t deadline_ns) {
  pollfd ready{fd, events, 0};
  return system_clock().wait({&ready, 1}, deadline_ns) > 0 || system_clock().monotonic_ns() < deadline_ns;
}

}  // namespace

Result<Companion> start_companion(const CompanionOptions& options) {
  Companion companion;
  std::vector<Fd> theirs;
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int i = 0; i < 3; ++i) theirs.push_back(high_copy(null.get()));
  for (size_t i = 0; i < options.channels; ++i) {
    int ends[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return too_few_descriptors();
    const Fd ours(ends[0]), other(ends[1]);
    // Ours too: with a closed stderr a low one would be taken for it.
    companion.channels.push_back(high_copy(ours.get()));
    theirs.push_back(high_copy(other.get()));
    if (!companion.channels.back()) return too_few_descriptors();
  }

  CompanionPlan plan;
  plan.parent = ::getpid();
  plan.program = options.program.empty() ? "/proc/self/exe" : options.program.c_str();
  for (const Fd& end : theirs) {
    if (!end) return too_few_descriptors();
    plan.descriptors.push_back(end.get());
  }
  plan.arguments = exec_words(options.arguments);
  plan.environment = environment_without(options.remove_environment);

  companion.pid = ::fork();
  if (companion.pid == 0) run_companion(plan);
  if (companion.pid < 0) return system_error("cannot start a process", options.arguments.at(0), errno);
  return companion;
}

bool companion_ended(pid_t pid) {
  pid_t got = 0;
  do { got = ::waitpid(pid, nullptr, WNOHANG | __WALL); } while (got < 0 && errno == EINTR);
  return got != 0;
}

void kill_companion(pid_t pid) { ::kill(pid, SIGKILL); }

void settle_as_companion(const char* name) {
  ::prctl(PR_SET_NAME, name, 0, 0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);  // again: exec of a program with capabilities takes it away
  // What crashes here is not the user's to look into, and a dump would lie in the job's folder.
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
}

bool send_packet(int fd, std::span<const std::byte> head, std::span<const std::byte> rest, int64_t deadline_ns) {
  iovec parts[2] = {{const_cast<std::byte*>(head.data()), head.size()},
                    {const_cast<std::byte*>(rest.data()), rest.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  for (;;) {
    if (::sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return true;
    if (errno != EINTR && errno != EAGAIN) return false;
    if (!wait_for(fd, POLLOUT, deadline_ns)) return false;
  }
}

ssize_t receive_packet(int fd, std::span<std::byte> buffer, int64_t deadline_ns) {
  for (;;) {
    const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT | MSG_TRUNC);
    if (got > static_cast<ssize_t>(buffer.size())) return 0;  // not one of ours
    if (got >= 0) return got;
    if (errno != EINTR && errno != EAGAIN) return 0;
    if (!wait_for(fd, POLLIN, deadline_ns)) return -1;
  }
}

}  // namespace tacho
