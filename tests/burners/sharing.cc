// burn_sharing fork|vfork|thread MIB HOLD_MS AFTER_MS: a process of MIB starts a child that holds on for HOLD_MS before
// it executes another program, which lasts AFTER_MS. By vfork, from its first or another thread, both run in the same
// memory until then; by fork in copies that share their pages. Touches nothing and forks nobody else.
#include <cstring>
#include <thread>

#include "burner.h"

int main(int argc, char** argv) {
  using namespace tacho::burner;
  if (argc < 2) return 2;
  const auto bytes = static_cast<size_t>(number(argc, argv, 2, 100)) << 20;
  const int64_t hold_ms = number(argc, argv, 3, 1000);
  const std::string after = std::to_string(static_cast<double>(number(argc, argv, 4, 1000)) / 1000);
  void* block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) return 2;
  madvise(block, bytes, MADV_NOHUGEPAGE);
  std::memset(block, 1, bytes);
  const auto start = [&] {
    const pid_t pid = std::strcmp(argv[1], "fork") == 0 ? fork() : vfork();  // NOLINT: what it is for
    if (pid != 0) return;
    sleep_ms(hold_ms);
    execlp("sleep", "sleep", after.c_str(), nullptr);
    _exit(127);
  };
  if (std::strcmp(argv[1], "thread") == 0) std::thread(start).join();
  else start();
  wait_all();
  return finish("sharing");
}
