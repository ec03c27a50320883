// burn_ignore_sigchld N MS: N children, one after the other, burn MS each while SIGCHLD is ignored: the kernel reaps
// them and their time reaches nobody's rusage. They write it into a ledger.
#include <csignal>

#include "burner.h"

int main(int argc, char** argv) {
  using namespace tacho::burner;
  const int64_t count = number(argc, argv, 1, 10), ms = number(argc, argv, 2, 50);
  std::signal(SIGCHLD, SIG_IGN);
  Ledger* ledger = shared_ledger();
  for (int64_t i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child < 0) return 2;
    if (child == 0) {
      burn_user_us(ms * 1000);
      ledger->add_self();
      _exit(0);
    }
    wait(nullptr);  // comes back with ECHILD when the last child is gone
  }
  return finish("ignore_sigchld", ledger);
}
