// burn_leaderless MIB MS: a process of MIB whose first thread ends at once; another one lives on for MS.
#include <pthread.h>

#include <cstring>
#include <thread>

#include "burner.h"

int main(int argc, char** argv) {
  using namespace tacho::burner;
  const auto bytes = static_cast<size_t>(number(argc, argv, 1, 100)) << 20;
  const int64_t ms = number(argc, argv, 2, 1000);
  void* block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) return 2;
  madvise(block, bytes, MADV_NOHUGEPAGE);
  std::memset(block, 1, bytes);
  std::thread([ms] {
    sleep_ms(ms);
    std::exit(finish("leaderless"));
  }).detach();
  pthread_exit(nullptr);
}
