#include "os/child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace tacho {
namespace {

void close_from_on_exec(unsigned first) {
#ifdef SYS_close_range
  // Closed on exec, so that an error can still be told (Linux 5.11; before, one by one).
  if (::syscall(SYS_close_range, first, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */) == 0) return;
#endif
  for (int fd = static_cast<int>(first); fd < 1024; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

}  // namespace

Fd high_copy(int fd) { return Fd(::fcntl(fd, F_DUPFD_CLOEXEC, 64)); }

std::vector<char*> exec_words(std::span<const std::string> words) {
  std::vector<char*> out;
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

void end_with_parent(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (::getppid() != parent) ::_exit(1);  // it has ended in between: the signal would never come
}

void settle_before_exec(std::span<const int> descriptors) {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (size_t i = 0; i < descriptors.size(); ++i) ::dup2(descriptors[i], static_cast<int>(i));
  // What tacho itself inherited and keeps for the job, and the locks of a spool, are none of this program's business:
  // one that stays would keep a pipe's reader waiting, or a run locked, after the job has ended.
  close_from_on_exec(static_cast<unsigned>(descriptors.size()));
}

void exec_failed(int error_fd) {
  const int error = errno;
  [[maybe_unused]] const ssize_t told = ::write(error_fd, &error, sizeof error);
  ::_exit(127);
}

}  // namespace tacho
