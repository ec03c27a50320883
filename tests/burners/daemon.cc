// burn_daemon MS [LINGER_MS]: a double-forked daemon in its own session burns MS while the root waits on a pipe for it;
// after that it stays for LINGER_MS when the root is already gone. Nobody waits for the daemon: it writes its usage
// into a ledger.
#include "burner.h"

int main(int argc, char** argv) {
  using namespace tacho::burner;
  const int64_t ms = number(argc, argv, 1, 500), linger_ms = number(argc, argv, 2, 0);
  Ledger* ledger = shared_ledger();
  int ends[2];
  if (pipe(ends) != 0) return 2;
  const pid_t middle = fork();
  if (middle < 0) return 2;
  if (middle == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    close(ends[0]);
    burn_user_us(ms * 1000);
    ledger->add_self();
    close(ends[1]);
    if (linger_ms > 0) {
      for (int fd = 0; fd < 3; ++fd) close(fd);
      sleep_ms(linger_ms);
    }
    _exit(0);
  }
  close(ends[1]);
  waitpid(middle, nullptr, 0);
  char byte;
  while (read(ends[0], &byte, 1) > 0) {}
  return finish("daemon", ledger);
}
