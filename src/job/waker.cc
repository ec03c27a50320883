#include "job/waker.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "os/fd.h"
#include "os/process.h"
#include "os/timespec.h"

namespace tacho {
namespace {

constexpr int kLookEveryMs = 100;

// The state letter of an open /proc/PID/stat; 0 when the process is gone. System calls only.
char state_in(int stat_fd) {
  char text[512];
  const ssize_t got = ::pread(stat_fd, text, sizeof text, 0);
  if (got <= 0) return 0;
  const void* const end = ::memrchr(text, ')', static_cast<size_t>(got));  // the name before it may have one too
  const char* const state = end != nullptr ? static_cast<const char*>(end) + 2 : text + got;
  return state < text + got ? *state : '\0';
}

bool is_stop(char state) { return state == 'T' || state == 't'; }

int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return as_ns(now);
}

Fd open_stat(pid_t pid) {
  char path[40];
  std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(pid));
  return Fd(::open(path, O_RDONLY | O_CLOEXEC));
}

// Other threads may hold locks: system calls only.
[[noreturn]] void watch(pid_t parent, int stat_fd, int64_t wake_at_ns) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (::getppid() != parent) ::_exit(0);  // it has ended in between: the signal would never come
  ::setsid();
  ::prctl(PR_SET_NAME, "tacho-waker", 0, 0, 0);
  // The job's pipes must not seem open because of us.
  ::dup2(stat_fd, 0);
#ifdef SYS_close_range
  if (::syscall(SYS_close_range, 1u, ~0u, 0u) != 0)
#endif
    for (int fd = 1; fd < 1024; ++fd) ::close(fd);
  // Again and again, since the parent may not have stopped yet; once it runs, it ends us.
  for (;; ::poll(nullptr, 0, kLookEveryMs)) {
    if (is_stop(state_in(0)) && now_ns() < wake_at_ns) continue;
    if (::getppid() != parent) ::_exit(0);
    ::kill(parent, SIGCONT);
  }
}

}  // namespace

Waker::Waker(pid_t job, int64_t wake_at_ns) {
  const Fd stat = open_stat(job);
  if (!stat || proc_view("/proc") != ProcView::ours) return;
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) watch(parent, stat.get(), wake_at_ns);
  if (pid_ < 0) pid_ = 0;
}

Waker::~Waker() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);  // not reaped yet, so the number is still its own
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {}
}

bool is_stopped(pid_t pid) {
  const Fd stat = open_stat(pid);
  return stat && is_stop(state_in(stat.get()));
}

}  // namespace tacho
