#include "katib/collect/shared_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "os/fd.h"
#include "os/file.h"
#include "os/timespec.h"

namespace tacho {

Result<std::string> read_shared_file(const std::string& path, size_t limit) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  struct stat info {};
  if (!file || ::fstat(file.get(), &info) != 0) return system_error("cannot open", path, errno);
  if (!S_ISREG(info.st_mode)) return Error{Code::invalid, "no plain file", path, ""};
  std::string text;
  std::array<char, 4096> part;
  for (;;) {
    const ssize_t got = ::read(file.get(), part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("cannot read", path, errno);
    if (got == 0) return text;
    text.append(part.data(), static_cast<size_t>(got));
    if (text.size() > limit) return Error{Code::invalid, "file is too large", path, ""};
  }
}

std::optional<FileVersion> shared_file_version(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return std::nullopt;
  return FileVersion{info.st_ino, as_ns(info.st_mtim)};
}

Status replace_shared_file(const std::string& path, std::string_view text, mode_t mode, bool sync) {
  const std::string spare = path + ".new";
  Fd file;
  // One name, so that whoever is killed leaves one file at the most; somebody may put another there in between.
  for (int i = 0; i < 3 && !file; ++i) {
    if (::unlink(spare.c_str()) != 0 && errno != ENOENT) return system_error("cannot replace", spare, errno);
    file = Fd(::open(spare.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
    if (!file && errno != EEXIST) break;
  }
  if (!file) return system_error("cannot write", spare, errno);
  Status status = ::fchmod(file.get(), mode) == 0 ? write_all(file.get(), text)
                                                  : Status(system_error("cannot write", spare, errno));
  if (status && sync && ::fsync(file.get()) != 0) status = system_error("cannot write", spare, errno);
  file.reset();
  if (status && ::rename(spare.c_str(), path.c_str()) != 0) status = system_error("cannot replace", path, errno);
  if (!status) ::unlink(spare.c_str());
  return status;
}

}  // namespace tacho
