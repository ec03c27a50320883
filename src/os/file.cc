#include "os/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/path.h"
#include "base/text.h"
#include "os/environment.h"
#include "os/line_file.h"
#include "os/output_target.h"
#include "os/owned_folder.h"

namespace tacho {
namespace {

// Half the smallest page: no record but one of mountinfo is longer, and mounts are read by read_whole_file.
constexpr size_t kSurelyTheEnd = 2048;

Error too_large(const std::string& path) { return {Code::invalid, "file is too large", path, ""}; }

}  // namespace

Roots Roots::from_environment() {
  Roots roots;
  roots.proc = environment_or("TACHO_PROCFS_ROOT", "/proc");
  roots.sys = environment_or("TACHO_SYSFS_ROOT", "/sys");
  roots.etc = environment_or("TACHO_ETC_ROOT", "/etc");
  return roots;
}

Error system_error(std::string_view what, std::string_view path, int error_number) {
  Code code = Code::io;
  if (error_number == ENOENT || error_number == ENODEV || error_number == ENOTDIR || error_number == ENOSYS ||
      error_number == EOPNOTSUPP)
    code = Code::not_available;
  else if (error_number == ESRCH) code = Code::gone;
  else if (error_number == EACCES || error_number == EPERM) code = Code::denied;
  return {code, std::string(what), std::string(path), std::strerror(error_number)};
}

bool ReadBuffer::read(int fd, std::string_view& text) {
  size_t filled = 0;
  for (;;) {
    const ssize_t got = ::pread(fd, data_.data() + filled, data_.size() - filled, static_cast<off_t>(filled));
    if (got < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    filled += static_cast<size_t>(got);
    // A file of many records (diskstats, net/dev, mountinfo …) is handed out a page at a time, ended where the next
    // record no longer fits: only a read that ends well before that is the end of the file, and saves asking again.
    if (got == 0 || (static_cast<size_t>(got) < kSurelyTheEnd && filled < data_.size())) break;
    if (filled == data_.size()) data_.resize(data_.size() * 2);
  }
  text = {data_.data(), filled};
  return true;
}

Result<std::string_view> ReadBuffer::read(int fd) {
  std::string_view text;
  if (!read(fd, text)) return system_error("cannot read", "", errno);
  return text;
}

bool ReadBuffer::read_at(int dir_fd, const char* path, std::string_view& text) {
  const Fd fd(::openat(dir_fd, path, O_RDONLY | O_CLOEXEC));
  return fd && read(fd.get(), text);
}

// With very few descriptors the job's start and the outputs come first: files are then opened for each reading.
static bool few_descriptors() {
  static const bool few = [] {
    rlimit limit{};
    return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max < 64;
  }();
  return few;
}

bool KeptFile::read(ReadBuffer& buffer, std::string_view& text) {
  if (!fd_) fd_ = Fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd_) return false;
  if (buffer.read(fd_.get(), text)) {
    if (few_descriptors()) fd_.reset();
    return true;
  }
  const int saved = errno;
  fd_.reset();
  errno = saved;
  return false;
}

// O_NOFOLLOW or 0. Looked at before it is opened, and again since it may have been replaced in between.
static Result<Fd> open_if_regular(const std::string& path, int nofollow) {
  const Error other{Code::invalid, "this is not a plain file", path, "it is left alone"};
  struct stat facts {};
  if (::fstatat(AT_FDCWD, path.c_str(), &facts, nofollow != 0 ? AT_SYMLINK_NOFOLLOW : 0) != 0)
    return system_error("cannot open", path, errno);
  if (!S_ISREG(facts.st_mode)) return other;
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | nofollow));
  if (!fd || ::fstat(fd.get(), &facts) != 0) return system_error("cannot open", path, errno);
  if (!S_ISREG(facts.st_mode)) return other;
  return fd;
}

Result<Fd> open_regular_file(const std::string& path) { return open_if_regular(path, 0); }
Result<Fd> open_plain_file(const std::string& path) { return open_if_regular(path, O_NOFOLLOW); }

Status read_pieces(const std::string& path, const std::function<bool(std::string_view piece)>& take) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return system_error("cannot open", path, errno);
  std::array<char, 16 * 1024> piece;
  for (;;) {
    const ssize_t got = ::read(fd.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("cannot read", path, errno);
    if (got == 0 || !take({piece.data(), static_cast<size_t>(got)})) return ok();
  }
}

static Result<std::string> read_to_end(const Fd& fd, const std::string& path, size_t limit) {
  std::string text;
  std::array<char, 64 * 1024> chunk;  // not filled beforehand: most files have a line
  for (;;) {
    if (text.size() >= limit) return too_large(path);
    const ssize_t got = ::read(fd.get(), chunk.data(), chunk.size());
    if (got < 0 && errno != EINTR) return system_error("cannot read", path, errno);
    if (got == 0) return text;
    if (got > 0) text.append(chunk.data(), static_cast<size_t>(got));
  }
}

Result<std::string> read_whole_file(const std::string& path, size_t limit) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return system_error("cannot open", path, errno);
  return read_to_end(fd, path, limit);
}

static Result<std::string> read_opened(const Result<Fd>& fd, const std::string& path, size_t limit) {
  struct stat facts {};
  if (!fd) return fd.error();
  if (::fstat(fd->get(), &facts) != 0) return system_error("cannot read", path, errno);
  if (facts.st_size > 0 && static_cast<size_t>(facts.st_size) >= limit) return too_large(path);
  return read_to_end(*fd, path, limit);
}

Result<std::string> read_regular_file(const std::string& path, size_t limit) {
  return read_opened(open_regular_file(path), path, limit);
}

Result<std::string> read_plain_file(const std::string& path, size_t limit) {
  return read_opened(open_plain_file(path), path, limit);
}

std::string read_first_line(const std::string& path) {
  const auto text = read_whole_file(path, 1 << 20);
  if (!text) return {};
  return std::string(trim(std::string_view(*text).substr(0, text->find('\n'))));
}

bool close_on_exec(int fd) { return ::fcntl(fd, F_SETFD, FD_CLOEXEC) == 0; }

std::string real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(path.c_str(), nullptr), &std::free);
  return resolved ? resolved.get() : path;
}

Status write_all(int fd, std::string_view text, size_t* written) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t put = ::write(fd, text.data() + done, text.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) {
      if (written != nullptr) *written = done;
      return system_error("cannot write", "", errno);
    }
    done += static_cast<size_t>(put);
  }
  if (written != nullptr) *written = done;
  return ok();
}

bool is_special_file(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

Status write_output(const std::string& path, std::string_view text, mode_t mode, int patience_ms) {
  if (path != "-" && !is_special_file(path)) {
    const auto target = output_target(path);
    return target ? write_file_atomically(*target, text, false, mode) : Status(target.error());
  }
  auto out = LineFile::open(path, mode);
  return out ? out->write(text, patience_ms) : Status(out.error());
}

Status write_file_atomically(const std::string& path, std::string_view text, bool sync, mode_t mode) {
  // Hidden: who lists the folder for files of some ending must not meet one that is half written.
  const std::string temporary =
      parent_folder(path) + (last_part(path).starts_with('.') ? "/" : "/.") + temporary_name(last_part(path));
  Fd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!fd) return system_error("cannot write", path, errno);
  Status status = write_all(fd.get(), text);
  if (status && sync && ::fsync(fd.get()) != 0) status = system_error("cannot write", path, errno);
  fd.reset();
  if (status && ::rename(temporary.c_str(), path.c_str()) != 0) status = system_error("cannot write", path, errno);
  if (!status) {
    ::unlink(temporary.c_str());
    Error error = status.error();
    error.path = path;
    return error;
  }
  return ok();
}

Status make_directories(const std::string& path, mode_t mode) {
  if (struct stat info{}; ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return ok();
  for (size_t at = 1; at != std::string::npos;) {
    at = path.find('/', at + 1);
    const std::string part = path.substr(0, at);
    if (::mkdir(part.c_str(), mode) != 0 && errno != EEXIST) {
      const int saved = errno;
      struct stat info {};
      if (::stat(part.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
        return system_error("cannot make the folder", part, saved);
    }
  }
  return ok();
}

int64_t link_count(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 ? static_cast<int64_t>(info.st_nlink) : -1;
}

bool file_exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

bool same_file(const std::string& a, const std::string& b) {
  struct stat first {};
  struct stat second {};
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

std::string read_link(const std::string& path) {
  std::string target(4096, '\0');
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  target.resize(length > 0 ? static_cast<size_t>(length) : 0);
  return target;
}

bool list_directory(const std::string& path, const std::function<void(std::string_view name)>& visit) {
  DIR* dir = ::opendir(path.c_str());
  if (dir == nullptr) return false;
  while (const dirent* entry = ::readdir(dir)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") visit(name);
  }
  ::closedir(dir);
  return true;
}

}  // namespace tacho
