#include "os/directory.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace tacho {
namespace {

// struct linux_dirent64 (getdents64(2)): ino 8, off 8, reclen 2, type 1, name.
constexpr int kNextPlaceAt = 8, kRecordLengthAt = 16, kNameAt = 19;

}  // namespace

NumericEntries::NumericEntries(int dir_fd) : fd_(dir_fd) { ::lseek(fd_, 0, SEEK_SET); }

NumericEntries::NumericEntries(int dir_fd, int64_t place, size_t bytes)
    : fd_(dir_fd), bytes_(std::min(bytes, sizeof buffer_)) {
  if (::lseek(fd_, place, SEEK_SET) != place) fd_ = -1;
}

bool NumericEntries::next(int& number) {
  for (;;) {
    if (at_ >= filled_) {
      filled_ = static_cast<int>(::syscall(SYS_getdents64, fd_, buffer_, bytes_));
      at_ = 0;
      if (filled_ <= 0) return false;
    }
    const char* record = buffer_ + at_;
    uint16_t length = 0;
    std::memcpy(&length, record + kRecordLengthAt, sizeof length);
    at_ += length;
    int64_t value = 0;
    const char* digit = record + kNameAt;
    if (*digit < '0' || *digit > '9') continue;
    for (; *digit >= '0' && *digit <= '9' && value < INT32_MAX; ++digit) value = value * 10 + (*digit - '0');
    if (*digit != '\0' || value > INT32_MAX) continue;
    number = static_cast<int>(value);
    std::memcpy(&inode_, record, sizeof inode_);
    std::memcpy(&next_place_, record + kNextPlaceAt, sizeof next_place_);
    return true;
  }
}

}  // namespace tacho
