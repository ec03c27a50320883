// burn_fork_storm N [ALIVE]: N orphans as fast as they can be made: each is forked by a child that ends at once, does
// next to nothing and ends. Never more than ALIVE of them live at a time. They add themselves to a ledger (what their
// exit costs is not in it).
#include <sched.h>

#include "burner.h"

int main(int argc, char** argv) {
  using namespace tacho::burner;
  const int64_t count = number(argc, argv, 1, 2000), most = number(argc, argv, 2, 200);
  Ledger* ledger = shared_ledger();
  for (int64_t i = 0; i < count; ++i) {
    while (ledger->alive.load() >= most) sched_yield();
    ++ledger->alive;
    const pid_t child = fork();
    if (child < 0) return 2;
    if (child == 0) {
      if (fork() != 0) _exit(0);
      ledger->add_self();
      --ledger->alive;
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  }
  while (ledger->alive.load() > 0) sched_yield();
  return finish("fork_storm", ledger);
}
