// burn_neighbours N FORKS: N processes that sleep, none of the job's, and FORKS new ones a second that end at once.
// Prints "ready PID"; lasts until its standard input ends.
#include <poll.h>
#include <sys/prctl.h>

#include <csignal>
#include <vector>

#include "burner.h"

int main(int argc, char** argv) {
  using namespace tacho::burner;
  const int64_t count = number(argc, argv, 1, 2000), forks = number(argc, argv, 2, 100);
  const pid_t root = getpid();
  std::vector<pid_t> children;
  for (int64_t i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child < 0) break;  // as many as may be
    if (child > 0) {
      children.push_back(child);
      continue;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == root) pause();
    _exit(0);
  }
  std::printf("ready %d %zu\n", getpid(), children.size());
  std::fflush(stdout);
  pollfd input{0, POLLIN, 0};
  const int pause_ms = forks > 0 ? static_cast<int>(1000 / forks) : -1;
  while (poll(&input, 1, pause_ms) <= 0) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    if (child > 0) waitpid(child, nullptr, 0);
  }
  for (const pid_t child : children) kill(child, SIGKILL);
  wait_all();
  return finish("neighbours");
}
