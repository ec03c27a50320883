// burn_stop_cont MS STOP_MS: burns MS, is stopped for STOP_MS by its child (SIGSTOP, then SIGCONT), burns MS again.
#include <csignal>

#include "burner.h"

int main(int argc, char** argv) {
  using namespace tacho::burner;
  const int64_t ms = number(argc, argv, 1, 100), stop_ms = number(argc, argv, 2, 300);
  burn_user_us(ms * 1000);
  const pid_t root = getpid();
  const int64_t before_ns = clock_ns(CLOCK_MONOTONIC);
  if (fork() == 0) {
    kill(root, SIGSTOP);
    sleep_ms(stop_ms);
    kill(root, SIGCONT);
    _exit(0);
  }
  wait_all();
  const int64_t stopped_ms = (clock_ns(CLOCK_MONOTONIC) - before_ns) / 1'000'000;
  burn_user_us(ms * 1000);
  Truth truth("stop_cont");
  truth.add("stopped_ms", stopped_ms);
  truth.add_usage();
  truth.print();
  return 0;
}
