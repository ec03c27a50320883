// burn_new_session MS: leaves tacho's session and process group: itself where it may (setsid), and a child that is a
// session leader with a child of its own. Each burns MS and is waited for.
#include "burner.h"

int main(int argc, char** argv) {
  using namespace tacho::burner;
  const int64_t ms = number(argc, argv, 1, 100);
  setsid();
  const pid_t child = fork();
  if (child < 0) return 2;
  if (child == 0) {
    setsid();
    if (fork() == 0) {
      setpgid(0, 0);
      burn_user_us(ms * 1000);
      _exit(0);
    }
    burn_user_us(ms * 1000);
    wait_all();
    _exit(0);
  }
  burn_user_us(ms * 1000);
  wait_all();
  return finish("new_session");
}
