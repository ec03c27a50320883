// burn_signals EXIT_CODE: prints "ready PID", then one line for every signal it gets ("INT from PID code CODE"); TERM
// ends it with EXIT_CODE. Signals are blocked and waited for, so none is lost between two lines.
#include <sys/ioctl.h>
#include <sys/signalfd.h>

#include <csignal>

#include "burner.h"

namespace {
struct Name {
  int number;
  const char* name;
};
constexpr Name kNames[] = {{SIGINT, "INT"},   {SIGTERM, "TERM"}, {SIGHUP, "HUP"},
                           {SIGQUIT, "QUIT"}, {SIGUSR1, "USR1"}, {SIGUSR2, "USR2"},
                           {SIGTSTP, "TSTP"}, {SIGCONT, "CONT"}, {SIGWINCH, "WINCH"}};
void nothing(int) {}
}  // namespace

int main(int argc, char** argv) {
  const int exit_code = static_cast<int>(tacho::burner::number(argc, argv, 1, 7));
  sigset_t all;
  sigemptyset(&all);
  for (const auto& entry : kNames) {
    sigaddset(&all, entry.number);
    std::signal(entry.number, nothing);
  }
  sigprocmask(SIG_BLOCK, &all, nullptr);
  const int fd = signalfd(-1, &all, 0);
  if (fd < 0) return 2;
  std::printf("ready %d\n", getpid());
  std::fflush(stdout);
  for (;;) {
    signalfd_siginfo info{};
    if (read(fd, &info, sizeof info) != sizeof info) return 2;
    for (const auto& entry : kNames) {
      if (info.ssi_signo != static_cast<uint32_t>(entry.number)) continue;
      std::printf("%s from %u code %d", entry.name, info.ssi_pid, info.ssi_code);
      winsize size{};
      if (entry.number == SIGWINCH && ioctl(0, TIOCGWINSZ, &size) == 0) {
        std::printf(" size %dx%d", size.ws_col, size.ws_row);
      }
      std::printf("\n");
      std::fflush(stdout);
    }
    if (info.ssi_signo == SIGTERM) return exit_code;
  }
}
