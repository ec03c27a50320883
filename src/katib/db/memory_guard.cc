#include "katib/db/memory_guard.h"

#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/units.h"
#include "discover/cgroups.h"
#include "os/clock.h"
#include "os/file.h"
#include "procfs/scan.h"

namespace tacho {
namespace {

// A fast client makes a gigabyte a second of headers.
constexpr int64_t kLookNs = 20 * kNsPerMs;
constexpr int64_t kNoteNs = kNsPerSec;
// Who sent less is not the one.
constexpr uint64_t kInnocentBytes = 64 * 1024;

std::optional<ino_t> inode_of(int fd) {
  struct stat about {};
  if (::fstat(fd, &about) != 0 || !S_ISSOCK(about.st_mode)) return std::nullopt;
  return about.st_ino;
}

uint64_t received_by(int fd) {
  // The beginning of the kernel's tcp_info, whose header cannot stand beside libc's, which ends before it.
  struct {
    std::array<char, 128> others;
    uint64_t bytes_received;
  } info{};
  socklen_t size = sizeof info;
  return ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 ? info.bytes_received : 0;
}

// Resident and not of a file.
int64_t anonymous_bytes() {
  const Result<std::string> text = read_whole_file("/proc/self/statm");
  int64_t all = 0, resident = 0, shared = 0;
  if (!text) return 0;
  Scanner scan(*text);
  if (!scan.number(all) || !scan.number(resident) || !scan.number(shared)) return 0;
  return (resident - shared) * ::sysconf(_SC_PAGESIZE);
}

}  // namespace

int64_t memory_for_clients() {
  const Roots roots;
  const int64_t machine = ::sysconf(_SC_PHYS_PAGES) * ::sysconf(_SC_PAGESIZE);
  const int64_t allowed = find_limits(roots, find_cgroups(roots, 0), 0, machine).memory_limit_bytes.value_or(machine);
  return (machine > 0 ? std::min(allowed, machine) : allowed) / 2;
}

MemoryGuard::MemoryGuard(int64_t limit_bytes) : limit_bytes_(limit_bytes), stop_(::eventfd(0, EFD_CLOEXEC)) {
  if (limit_bytes_ > 0 && stop_) thread_ = std::thread([this] { run(); });
}

MemoryGuard::~MemoryGuard() {
  if (!thread_.joinable()) return;
  ::eventfd_write(stop_.get(), 1);
  thread_.join();
}

void MemoryGuard::add(const Fd& client) {
  const std::optional<ino_t> inode = inode_of(client.get());
  const std::lock_guard lock(mutex_);
  std::erase_if(connections_, [&](const Connection& one) { return one.fd == client.get(); });
  if (inode) connections_.push_back({client.get(), *inode, 0});
}

void MemoryGuard::run() {
  std::array<pollfd, 1> fds = {{{stop_.get(), POLLIN, 0}}};
  while (system_clock().wait(fds, system_clock().monotonic_ns() + kLookNs) == 0) look();
}

void MemoryGuard::look() {
  const std::lock_guard lock(mutex_);
  if (connections_.empty()) return;
  const int64_t now_ns = system_clock().monotonic_ns();
  const int64_t resident = anonymous_bytes();
  if (resident <= limit_bytes_ / 2) {
    if (now_ns - noted_ns_ >= kNoteNs) note_received();
    return;
  }
  if (resident <= limit_bytes_) return;
  if (in_use() > limit_bytes_) return close_greatest();
  // What was freed has not been given back yet.
  if (now_ns - std::exchange(trimmed_ns_, now_ns) >= kNoteNs) ::malloc_trim(0);
}

int64_t MemoryGuard::in_use() {
  const struct mallinfo2 heap = ::mallinfo2();
  return static_cast<int64_t>(heap.uordblks + heap.hblkhd);
}

void MemoryGuard::note_received() {
  noted_ns_ = system_clock().monotonic_ns();
  std::erase_if(connections_, [](const Connection& one) { return inode_of(one.fd) != one.inode; });
  for (Connection& one : connections_) one.received_before = received_by(one.fd);
}

void MemoryGuard::close_greatest() {
  std::erase_if(connections_, [](const Connection& one) { return inode_of(one.fd) != one.inode; });
  size_t greatest = connections_.size();
  uint64_t most = kInnocentBytes;
  for (size_t i = 0; i < connections_.size(); ++i) {
    const uint64_t received = received_by(connections_[i].fd) - connections_[i].received_before;
    if (received <= most) continue;
    greatest = i;
    most = received;
  }
  if (greatest == connections_.size()) return;
  // A reset: after a shutdown the kernel would go on to take what its client sends, for nobody.
  const sockaddr nobody{AF_UNSPEC, {}};
  ::connect(connections_[greatest].fd, &nobody, sizeof nobody);
  connections_.erase(connections_.begin() + static_cast<std::ptrdiff_t>(greatest));
  log::warn("more than " + std::to_string(limit_bytes_ / kMiB) +
            " MiB of memory are in use: the connection that sent most is closed; --memory SIZE allows more");
}

}  // namespace tacho
