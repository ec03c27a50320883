// burn_io FILE WRITE_KIB READ_KIB [HOLD_MS]: writes and reads exactly that much, past the page cache where the file
// system allows it (O_DIRECT), else through it with fsync and a dropped cache. The truth is the kernel's own
// /proc/self/io at the end; "direct" says which way was taken.
#include <fcntl.h>

#include <algorithm>
#include <cstring>

#include "burner.h"

namespace {
using namespace tacho::burner;
constexpr size_t kBlock = 64 << 10;

int open_file(const char* path, int flags, bool* direct) {
  const int fd = open(path, flags | O_DIRECT, 0644);
  *direct = fd >= 0;
  return fd >= 0 ? fd : open(path, flags, 0644);
}

// "read_bytes: 323932160"
int64_t io_counter(const char* key) {
  FILE* file = std::fopen("/proc/self/io", "r");
  char line[128];
  int64_t value = -1;
  while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr) {
    if (std::strncmp(line, key, std::strlen(key)) == 0) value = std::strtoll(line + std::strlen(key), nullptr, 10);
  }
  if (file != nullptr) std::fclose(file);
  return value;
}
}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const size_t write_bytes = static_cast<size_t>(number(argc, argv, 2, 0)) << 10;
  const size_t read_bytes = static_cast<size_t>(number(argc, argv, 3, 0)) << 10;
  void* block = nullptr;
  if (posix_memalign(&block, 4096, kBlock) != 0) return 2;
  std::memset(block, 'x', kBlock);
  bool direct = false;
  if (write_bytes > 0) {
    const int fd = open_file(argv[1], O_RDWR | O_CREAT | O_TRUNC, &direct);
    if (fd < 0) return 2;
    for (size_t done = 0; done < write_bytes; done += kBlock) {
      if (write(fd, block, std::min(kBlock, write_bytes - done)) < 0) return 2;
    }
    if (fsync(fd) != 0) return 2;
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
  }
  if (read_bytes > 0) {
    const int fd = open_file(argv[1], O_RDONLY, &direct);
    if (fd < 0) return 2;
    posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    for (size_t done = 0; done < read_bytes; done += kBlock) {
      if (read(fd, block, std::min(kBlock, read_bytes - done)) < 0) return 2;
    }
    close(fd);
  }
  sleep_ms(number(argc, argv, 4, 0));
  Truth truth("io");
  truth.add("asked_write_bytes", static_cast<int64_t>(write_bytes));
  truth.add("asked_read_bytes", static_cast<int64_t>(read_bytes));
  truth.add("write_bytes", io_counter("write_bytes:"));
  truth.add("read_bytes", io_counter("read_bytes:"));
  truth.raw("direct", direct ? "true" : "false");
  truth.add_usage();
  truth.print();
  return 0;
}
