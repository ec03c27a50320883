#include "os/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstring>

namespace tacho {
namespace {

// struct linux_dirent64 of getdents64(2), which no user header declares.
struct EntryHead {
  uint64_t inode;
  int64_t offset;
  uint16_t length;
  uint8_t type;
};
constexpr size_t kNameOffset = 19;
static_assert(offsetof(EntryHead, type) == 18);

}  // namespace

KeptDirectory::KeptDirectory(std::string path, size_t buffer_bytes) : path_(std::move(path)), buffer_(buffer_bytes) {}

bool KeptDirectory::rewind() {
  if (fd_) return ::lseek(fd_.get(), 0, SEEK_SET) == 0;
  fd_ = Fd(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return static_cast<bool>(fd_);
}

int64_t KeptDirectory::fill() { return ::syscall(SYS_getdents64, fd_.get(), buffer_.data(), buffer_.size()); }

int64_t KeptDirectory::next_number(size_t& at) const {
  EntryHead head;
  std::memcpy(&head, buffer_.data() + at, sizeof(head));
  const char* name = buffer_.data() + at + kNameOffset;
  at += head.length;
  int64_t number = 0;
  // A pid has at most seven digits; eighteen keep any name from overflowing.
  for (int digits = 0; digits < 18; ++digits, ++name) {
    if (*name == '\0') return digits > 0 ? number : -1;
    if (*name < '0' || *name > '9') return -1;
    number = number * 10 + (*name - '0');
  }
  return -1;
}

std::optional<int64_t> KeptDirectory::count_numbers() {
  int64_t count = 0;
  if (!visit_numbers([&](int64_t) { ++count; })) return std::nullopt;
  return count;
}

}  // namespace tacho
