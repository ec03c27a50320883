// burn_tree N ACTIVE_PERCENT TICK_MS US: N processes (the root is one of them), of which ACTIVE_PERCENT burn US every
// TICK_MS and the others sleep. Prints "ready PID" when all are there; lasts until its standard input ends or SIGTERM.
#include <poll.h>
#include <sys/prctl.h>

#include <csignal>
#include <vector>

#include "burner.h"

namespace {
volatile std::sig_atomic_t g_stop = 0;
void on_term(int) { g_stop = 1; }
}  // namespace

int main(int argc, char** argv) {
  using namespace tacho::burner;
  const int64_t count = number(argc, argv, 1, 10), percent = number(argc, argv, 2, 10);
  const int64_t tick_ms = number(argc, argv, 3, 100), us = number(argc, argv, 4, 100);
  const pid_t root = getpid();
  std::vector<pid_t> children;
  const int64_t active = count * percent / 100;
  for (int64_t i = 1; i < count; ++i) {
    const pid_t child = fork();
    if (child < 0) return 2;
    if (child > 0) {
      children.push_back(child);
      continue;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != root) _exit(0);
    if (i > active) {
      for (;;) pause();
    }
    sleep_ms(i * 7 % tick_ms);  // not all in the same instant
    for (;;) {
      burn_user_us(us);
      sleep_ms(tick_ms);
    }
  }
  struct sigaction action {};
  action.sa_handler = on_term;
  sigaction(SIGTERM, &action, nullptr);
  std::printf("ready %d\n", getpid());
  std::fflush(stdout);
  pollfd input{0, POLLIN, 0};
  char byte;
  while (g_stop == 0) {
    if (poll(&input, 1, -1) > 0 && read(0, &byte, 1) <= 0) break;
  }
  for (const pid_t child : children) kill(child, SIGKILL);
  wait_all();
  return finish("tree");
}
