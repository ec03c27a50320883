// burn_memory MIB HOLD_MS AFTER_MS: touches MIB for HOLD_MS, frees it and goes on for AFTER_MS.
#include "burner.h"

int main(int argc, char** argv) {
  using namespace tacho::burner;
  const int64_t mib = number(argc, argv, 1, 100), hold_ms = number(argc, argv, 2, 50);
  const auto bytes = static_cast<size_t>(mib) << 20;
  sleep_ms(number(argc, argv, 4, 0));
  void* block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) return 2;
  madvise(block, bytes, MADV_NOHUGEPAGE);
  auto* byte = static_cast<volatile char*>(block);
  for (size_t i = 0; i < bytes; i += 4096) byte[i] = 1;
  sleep_ms(hold_ms);
  munmap(block, bytes);
  sleep_ms(number(argc, argv, 3, 0));
  Truth truth("memory");
  truth.add("touched_bytes", mib << 20);
  truth.add_usage();
  truth.print();
  return 0;
}
