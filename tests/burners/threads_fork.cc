// burn_threads_fork THREADS N MS: every thread but the leader forks N children that burn MS each, and waits for them.
#include <thread>
#include <vector>

#include "burner.h"

int main(int argc, char** argv) {
  using namespace tacho::burner;
  const int64_t threads = number(argc, argv, 1, 3), count = number(argc, argv, 2, 5), ms = number(argc, argv, 3, 30);
  std::vector<std::thread> pool;
  for (int64_t i = 0; i < threads; ++i) {
    pool.emplace_back([count, ms] {
      for (int64_t n = 0; n < count; ++n) {
        const pid_t child = fork();
        if (child == 0) {
          burn_user_us(ms * 1000);
          _exit(0);
        }
        if (child > 0) waitpid(child, nullptr, 0);
      }
    });
  }
  for (auto& thread : pool) thread.join();
  return finish("threads_fork");
}
