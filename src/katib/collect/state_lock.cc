#include "katib/collect/state_lock.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/log.h"
#include "os/clock.h"
#include "os/file.h"

namespace tacho {
namespace {

constexpr int kLookAgainMs = 200;  // nobody tells when a lock is let go

// Nothing is ever written into it, so that whoever may read it can lock it: an earlier collector may have run as
// another user.
Fd open_lock(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0644));
  struct stat there {};
  // The trainer may have put something else there, or a second name of a file of others.
  if (file && (::fstat(file.get(), &there) != 0 || !S_ISREG(there.st_mode) || there.st_nlink != 1))
    file.reset(), errno = EINVAL;
  return file;
}

}  // namespace

Result<StateLock> StateLock::take(const std::string& state, int64_t wait_ns, int stop_fd) {
  StateLock out;
  if (state.empty()) return out;
  const std::string path = state + ".lock";
  const auto without = [&](int why) {
    log::warn(system_error("the state is not locked against a second collector", path, why));
    return StateLock();
  };
  out.fd_ = open_lock(path);
  if (!out.fd_) return without(errno);
  const int64_t deadline_ns = system_clock().monotonic_ns() + wait_ns;
  for (bool told = false; ::flock(out.fd_.get(), LOCK_EX | LOCK_NB) != 0;) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return without(errno);
    if (system_clock().monotonic_ns() >= deadline_ns)
      return Error{Code::io, "another collector works with the same state file", state,
                   "end that one, or give this one a --state of its own"};
    if (!told) log::warn("another collector works with the state file " + state + "; waiting until it ends");
    told = true;
    pollfd stop{stop_fd, POLLIN, 0};
    if (::poll(&stop, 1, kLookAgainMs) > 0)
      return Error{Code::io, "asked to end while another collector works with the same state file", state, ""};
  }
  return out;
}

}  // namespace tacho
