// burn_oom MAX_MIB: touches memory until it is killed, for use inside a memory-limited cgroup. Ends by itself with 3 at
// MAX_MIB, so that it cannot hurt a machine without a limit.
#include "burner.h"

int main(int argc, char** argv) {
  using namespace tacho::burner;
  const int64_t most = number(argc, argv, 1, 256);
  for (int64_t mib = 0; mib < most; ++mib) {
    void* block = mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) return 2;
    auto* byte = static_cast<volatile char*>(block);
    for (size_t i = 0; i < 1 << 20; i += 4096) byte[i] = 1;
    if (mib % 16 == 0) sleep_ms(5);
  }
  return 3;
}
