// burn_cpu THREADS MS: each thread burns MS of user CPU time.
#include <thread>
#include <vector>

#include "burner.h"

int main(int argc, char** argv) {
  using namespace tacho::burner;
  const int64_t threads = number(argc, argv, 1, 1), ms = number(argc, argv, 2, 1000);
  std::vector<std::thread> pool;
  for (int64_t i = 1; i < threads; ++i) pool.emplace_back([ms] { burn_user_us(ms * 1000); });
  burn_user_us(ms * 1000);
  for (auto& thread : pool) thread.join();
  return finish("cpu");
}
