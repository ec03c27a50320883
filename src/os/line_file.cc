#include "os/line_file.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/path.h"
#include "base/units.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/output_target.h"

namespace tacho {
namespace {

Error open_error(const std::string& path, int error_number) {
  Error error = system_error("cannot open the output", path, error_number);
  error.code = Code::invalid;
  if (error_number == ENOENT || error_number == ENOTDIR)
    error.hint = "there is no such folder; make it first: mkdir -p " + parent_folder(path);
  else if (error_number == EISDIR) error.hint = "it is a folder; name a file in it";
  else if (error_number == EACCES || error_number == EPERM || error_number == EROFS)
    error.hint += "; choose a place that you may write to";
  else if (error_number == ENXIO) error.hint = "nothing reads this pipe; start its reader first";
  return error;
}

// A FIFO without a reader refuses a non-blocking writer; `reader < fifo &` may need a moment to start. `path` is
// opened, since what it leads to may have no name (/dev/stdout); only where nothing is there yet, the target's is made.
int open_patiently(const std::string& path, const std::string& target, mode_t mode) {
  constexpr int kTries = 50, kFlags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  for (int i = 0;; ++i) {
    int fd = ::open(path.c_str(), kFlags);
    if (fd < 0 && errno == ENOENT) fd = ::open(target.c_str(), kFlags | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
    if (fd >= 0 || (errno != ENXIO && errno != EEXIST) || i == kTries) return fd;
    ::poll(nullptr, 0, 20);
  }
}

// Whether nobody put something else in its place since it was looked at.
Status check_unchanged(const struct stat& opened, const std::string& path) {
  const auto target = output_target(path);
  if (!target) return target.error();
  struct stat named {};
  const bool has_no_name = path.starts_with("/dev/") || path.starts_with("/proc/");  // or has none any more
  if (!has_no_name &&
      (::stat(target->c_str(), &named) != 0 || named.st_dev != opened.st_dev || named.st_ino != opened.st_ino))
    return Error{Code::denied, "somebody changes the output's place", path, "choose a folder of your own"};
  return ok();
}

// A place that is only held for a closed descriptor (os/standard_streams.h) is not.
bool is_writable(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  return flags >= 0 && (flags & O_PATH) == 0 && (flags & O_ACCMODE) != O_RDONLY;
}

}  // namespace

Result<Fd> open_to_append(const std::string& path, mode_t mode) {
  const auto target = output_target(path);
  if (!target) return target.error();
  Fd file(open_patiently(path, *target, mode));
  struct stat info {};
  if (!file || ::fstat(file.get(), &info) != 0) return open_error(path, errno);
  if (S_ISREG(info.st_mode))
    if (const Status unchanged = check_unchanged(info, path); !unchanged) return unchanged.error();
  return file;
}

Result<LineFile> LineFile::inherited(int fd, const std::string& path) {
  LineFile file;
  file.path_ = path;
  struct stat info {};
  if (::fstat(fd, &info) != 0) return open_error(path, errno);
  if (S_ISFIFO(info.st_mode) || ::isatty(fd) == 1) {
    const std::string name = "/proc/self/fd/" + std::to_string(fd);
    file.fd_ = Fd(::open(name.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    file.kind_ = Kind::stream;
    if (file.fd_) return file;
  }
  file.fd_ = Fd(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (!file.fd_) return open_error(path, errno);
  const bool streams = S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode) || ::isatty(fd) == 1;
  file.kind_ = streams ? Kind::polled : Kind::blocking;
  return file;
}

Result<LineFile> LineFile::open(const std::string& path, mode_t mode) {
  // Whoever names stdout wants the rows there. That stderr is closed is no reason to refuse: nobody asked for it by
  // name.
  if (path == "-" && !is_writable(STDOUT_FILENO))
    return Error{Code::invalid, "an output should go to stdout, which is closed or only for reading", path,
                 "leave stdout open; rows can go to a file instead: -o metrics.csv"};
  if (path == "-") return inherited(STDOUT_FILENO, path);
  if (path == "stderr:") return inherited(STDERR_FILENO, path);
  auto fd = open_to_append(path, mode);
  if (!fd) return fd.error();
  LineFile file;
  file.path_ = path;
  file.fd_ = std::move(*fd);
  struct stat info {};
  if (::fstat(file.fd_.get(), &info) != 0) return open_error(path, errno);
  file.kind_ = S_ISREG(info.st_mode) ? Kind::regular : Kind::stream;
  file.has_old_ = file.kind_ == Kind::regular && info.st_size > 0;
  return file;
}

Status LineFile::empty() {
  if (!has_old_) return ok();
  if (::ftruncate(fd_.get(), 0) != 0) return system_error("cannot write", path_, errno);
  has_old_ = false;
  return ok();
}

Result<LineFile> LineFile::create(const std::string& path, mode_t mode) {
  LineFile file;
  file.path_ = path;
  file.fd_ = Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_APPEND | O_CLOEXEC, mode));
  if (!file.fd_) return open_error(path, errno);
  return file;
}

Status LineFile::write(std::string_view text, int wait_ms) {
  if (const Status emptied = empty(); !emptied) return emptied;
  if (kind_ == Kind::regular) return write_regular(text);
  if (kind_ != Kind::blocking) return write_stream(text, wait_ms);
  // Other writers share this file, so what was torn cannot be cut off: its rest goes first.
  if (!rest_.empty()) {
    size_t done = 0;
    const Status status = write_all(fd_.get(), rest_, &done);
    rest_.erase(0, done);
    if (!status) return system_error("cannot write", path_, errno);
  }
  size_t done = 0;
  if (write_all(fd_.get(), text, &done)) return ok();
  const int saved = errno;
  if (done > 0) rest_.assign(text.substr(done));
  return system_error("cannot write", path_, saved);
}

Status LineFile::write_regular(std::string_view text) {
  size_t done = 0;
  if (write_all(fd_.get(), text, &done)) return ok();
  const int saved = errno;
  struct stat info {};
  // The size is asked for, not remembered: somebody may have truncated the file meanwhile.
  if (done > 0 && ::fstat(fd_.get(), &info) == 0)
    if (::ftruncate(fd_.get(), std::max<off_t>(0, info.st_size - static_cast<off_t>(done))) != 0)
      return system_error("cannot cut off a torn line", path_, errno);
  return system_error("cannot write", path_, saved);
}

bool LineFile::send(std::string_view text, int64_t deadline_ns, size_t& done) {
  while (done < text.size()) {
    const int64_t left_ms = (deadline_ns - system_clock().monotonic_ns()) / kNsPerMs;
    pollfd ready{fd_.get(), POLLOUT, 0};
    if (kind_ == Kind::polled && ::poll(&ready, 1, static_cast<int>(std::max<int64_t>(0, left_ms))) <= 0) {
      errno = EAGAIN;
      return false;
    }
    // A pipe that polls as writable takes PIPE_BUF bytes without blocking.
    const size_t piece = kind_ == Kind::polled ? std::min<size_t>(text.size() - done, PIPE_BUF) : text.size() - done;
    const ssize_t put = ::write(fd_.get(), text.data() + done, piece);
    if (put > 0) {
      done += static_cast<size_t>(put);
    } else if (put < 0 && errno == EAGAIN && left_ms > 0) {
      ::poll(&ready, 1, static_cast<int>(left_ms));
    } else if (put == 0 || errno != EINTR) {
      return false;
    }
  }
  return true;
}

Status LineFile::write_stream(std::string_view text, int wait_ms) {
  // A reader that stood still at the last line is not waited for again at every line.
  const int64_t deadline_ns = system_clock().monotonic_ns() + (stalled_ && wait_ms <= kWaitMs ? 0 : wait_ms) * kNsPerMs;
  size_t done = 0;
  bool sent = true;
  if (!rest_.empty()) {
    sent = send(rest_, deadline_ns, done);
    rest_.erase(0, done);
    done = 0;
  }
  sent = sent && send(text, deadline_ns, done);
  const int saved = sent ? 0 : errno;
  if (!sent && done > 0) rest_.assign(text.substr(done));
  stalled_ = saved == EAGAIN;
  // A line whose rest is kept is delayed, not lost.
  if (sent || (stalled_ && done > 0)) return ok();
  if (!stalled_) return system_error("cannot write", path_, saved);
  return Error{Code::io, "an output does not take more lines, some are dropped", path_,
               "its reader is too slow or stopped"};
}

bool LineFile::lock() {
  // A reader that looks at the lock holds it for microseconds.
  for (int i = 0; i < 10; ++i) {
    if (::flock(fd_.get(), LOCK_EX | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK && errno != EINTR) return false;
    ::poll(nullptr, 0, 1);
  }
  return false;
}

LockState probe_lock(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return LockState::unknown;
  if (::flock(fd.get(), LOCK_SH | LOCK_NB) == 0) return LockState::free;
  return errno == EWOULDBLOCK ? LockState::held : LockState::unknown;
}

}  // namespace tacho
