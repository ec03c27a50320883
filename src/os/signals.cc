#include "os/signals.h"

#include <sys/signalfd.h>

namespace tacho {

SignalQueue::SignalQueue(std::span<const int> numbers) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : numbers) ::sigaddset(&set, number);
  fd_ = Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  for (const int number : {SIGPIPE, SIGXFSZ, SIGTTOU}) ::sigaddset(&set, number);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
}

std::optional<SignalEvent> SignalQueue::next() {
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return std::nullopt;
  return SignalEvent{static_cast<int>(info.ssi_signo), static_cast<pid_t>(info.ssi_pid), info.ssi_code == SI_KERNEL};
}

bool is_ignored(int number) {
  struct sigaction now {};
  return ::sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

void ignore_broken_pipes() {
  struct sigaction now {};
  if (::sigaction(SIGPIPE, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) std::signal(SIGPIPE, SIG_IGN);
}

void stop_self() {
  // SIGTSTP itself rather than SIGSTOP: the kernel does not let it stop a group that nobody could continue.
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTSTP);
  ::raise(SIGTSTP);
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
}

}  // namespace tacho
