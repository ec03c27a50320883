#include "os/signals.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cstdio>

namespace tacho {

SignalQueue::SignalQueue(std::span<const int> numbers, IgnoredSignals ignored) {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigemptyset(&ignored_);
  for (const int number : numbers) {
    const bool means_nothing = number != SIGCHLD && is_ignored(number);
    if (means_nothing) ::sigaddset(&ignored_, number);
    if (!means_nothing || ignored == IgnoredSignals::told) ::sigaddset(&set, number);
  }
  fd_ = Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  for (const int number : {SIGPIPE, SIGXFSZ, SIGTTOU}) ::sigaddset(&set, number);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
}

std::optional<SignalEvent> SignalQueue::next() {
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return std::nullopt;
  const int number = static_cast<int>(info.ssi_signo);
  return SignalEvent{number, static_cast<pid_t>(info.ssi_pid), info.ssi_code == SI_KERNEL,
                     ::sigismember(&ignored_, number) == 1};
}

bool is_ignored(int number) {
  struct sigaction now {};
  return ::sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

void ignore_broken_pipes() {
  struct sigaction now {};
  if (::sigaction(SIGPIPE, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) std::signal(SIGPIPE, SIG_IGN);
}

bool stop_by(int number) {
  struct sigaction before {
  }, plain{};
  plain.sa_handler = SIG_DFL;
  const bool is_changed = number != SIGSTOP && ::sigaction(number, &plain, &before) == 0;
  sigset_t set, mask;
  ::sigemptyset(&set);
  ::sigaddset(&set, number);
  ::sigprocmask(SIG_BLOCK, &set, &mask);
  // One that continued us before is over; it would be taken for the end of this stop.
  sigset_t go_on;
  ::sigemptyset(&go_on);
  ::sigaddset(&go_on, SIGCONT);
  const timespec at_once{};
  const bool is_blocked = ::sigismember(&mask, SIGCONT) == 1;
  if (is_blocked) ::sigtimedwait(&go_on, nullptr, &at_once);
  ::raise(number);
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  if (is_changed) ::sigaction(number, &before, nullptr);
  sigset_t pending;
  ::sigpending(&pending);
  return !is_blocked || ::sigismember(&pending, SIGCONT) == 1;
}

void end_by(int number) {
  if (::getpid() == 1) return;
  std::fflush(nullptr);
  // Both: a limit of 0 does not keep a dump from a program that the kernel pipes it to.
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  ::signal(number, SIG_DFL);
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, number);
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
  ::kill(::getpid(), number);
}

}  // namespace tacho
