#include "katib/read/rotation.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "os/fd.h"
#include "os/file.h"

namespace tacho {
namespace {

struct Facts {
  std::pair<uint64_t, uint64_t> device;
  uint64_t inode = 0, links = 0;
  std::pair<int64_t, uint32_t> born;
};

std::optional<Facts> facts_of(int folder, const char* path, int flags) {
  struct statx info {};
  if (::statx(folder, path, flags, STATX_BASIC_STATS | STATX_BTIME, &info) != 0) return std::nullopt;
  if ((info.stx_mask & STATX_BTIME) == 0 || !S_ISREG(info.stx_mode)) return std::nullopt;
  return Facts{{info.stx_dev_major, info.stx_dev_minor},
               info.stx_ino,
               info.stx_nlink,
               {info.stx_btime.tv_sec, info.stx_btime.tv_nsec}};
}

// ".1", ".12", "-20261115", "-2026-11-15T09:30": what a rotation adds, but no ".gz" and no ".bak".
bool is_rotation_suffix(std::string_view text) {
  if (text.size() < 2 || (text[0] != '.' && text[0] != '-')) return false;
  return std::all_of(text.begin() + 1, text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || c == '-' || c == ':' || c == 'T'; }) &&
         text.back() >= '0' && text.back() <= '9';
}

// A log that was copied and then removed is in its copy, too.
bool begins_alike(int fd, const std::string& path) {
  std::array<char, 4096> mine{}, other{};
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const ssize_t have = ::pread(fd, mine.data(), mine.size(), 0);
  const ssize_t got = file ? ::pread(file.get(), other.data(), other.size(), 0) : -1;
  return have >= 0 && got >= have && std::equal(mine.begin(), mine.begin() + have, other.begin());
}

}  // namespace

std::optional<std::string> rotated_after(int fd, const std::string& path) {
  const auto mine = facts_of(fd, "", AT_EMPTY_PATH), now = facts_of(AT_FDCWD, path.c_str(), 0);
  if (!mine || !now || (mine->inode == now->inode && mine->device == now->device)) return std::nullopt;
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  const std::string_view name = std::string_view(path).substr(folder.size());
  std::optional<std::string> found;
  std::pair<int64_t, uint32_t> born = now->born;
  list_directory(folder.empty() ? "." : folder, [&](std::string_view entry) {
    if (!entry.starts_with(name) || !is_rotation_suffix(entry.substr(name.size()))) return;
    const std::string candidate = folder + std::string(entry);
    const auto facts = facts_of(AT_FDCWD, candidate.c_str(), AT_SYMLINK_NOFOLLOW);
    if (!facts || facts->device != mine->device || facts->born <= mine->born || facts->born >= born) return;
    if (mine->links == 0 && begins_alike(fd, candidate)) return;
    found = candidate;
    born = facts->born;
  });
  return found;
}

}  // namespace tacho
