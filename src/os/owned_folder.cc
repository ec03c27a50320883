#include "os/owned_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "os/file.h"
#include "os/unique.h"

namespace tacho {
namespace {

constexpr std::string_view kTemporary = ".tmp";
constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

bool is_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
}

bool is_ours(const struct stat& info) {
  return S_ISREG(info.st_mode) && info.st_uid == ::geteuid() && info.st_nlink <= 1;
}

Error not_ours(const std::string& path, const struct stat& info) {
  const char* why = !S_ISREG(info.st_mode)       ? "it is not a plain file"
                    : info.st_uid != ::geteuid() ? "it belongs to another user"
                                                 : "it has several names (hard links)";
  return {Code::denied, "a file that tacho did not make is left alone", path, why};
}

Error no_name(std::string_view name) {
  return {Code::invalid, "this is not the name of a file", std::string(name), ""};
}

}  // namespace

std::string_view without_temporary_ending(std::string_view name) {
  const size_t at = name.rfind(kTemporary);
  if (at == std::string_view::npos || at == 0) return {};
  const std::string_view digits = name.substr(at + kTemporary.size());
  if (digits.empty() || digits.find_first_not_of("0123456789abcdef") != std::string_view::npos) return {};
  return name.substr(0, at);
}

std::string temporary_name(std::string_view name) {
  return std::string(name).append(kTemporary).append(random_hex(16));
}

Result<OwnedFolder> OwnedFolder::take(Fd fd, std::string path, int error_number) {
  constexpr const char* kWhat = "this folder is left alone";
  if (!fd) {
    struct stat info {};
    if (error_number == ELOOP || (error_number == ENOTDIR && ::lstat(path.c_str(), &info) == 0))
      return Error{Code::denied, kWhat, std::move(path),
                   error_number == ELOOP || S_ISLNK(info.st_mode) ? "it is a symbolic link; name the folder itself"
                                                                  : "it is not a folder"};
    return system_error("cannot open the folder", path, error_number);
  }
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return system_error("cannot open the folder", path, errno);
  if (info.st_uid != ::geteuid()) return Error{Code::denied, kWhat, std::move(path), "it belongs to another user"};
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return Error{Code::denied, kWhat, std::move(path), "others may write to it (chmod go-w)"};
  return OwnedFolder(std::move(fd), std::move(path));
}

Result<OwnedFolder> OwnedFolder::open(const std::string& path) {
  std::string plain = path;
  while (plain.size() > 1 && plain.back() == '/') plain.pop_back();  // a slash at the end would follow a link
  Fd fd(::open(plain.c_str(), kFolderFlags));
  const int error_number = errno;
  return take(std::move(fd), std::move(plain), error_number);
}

Result<OwnedFolder> OwnedFolder::make(const std::string& path) {
  if (const Status made = make_directories(path, 0700); !made) return made.error();
  return open(path);
}

Result<OwnedFolder> OwnedFolder::again() const {
  Fd fd(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 3));
  if (!fd) return system_error("cannot open the folder", path_, errno);
  return OwnedFolder(std::move(fd), path_);
}

Result<OwnedFolder> OwnedFolder::open_folder(std::string_view name) const {
  if (!is_name(name)) return no_name(name);
  Fd fd(::openat(fd_.get(), std::string(name).c_str(), kFolderFlags));
  const int error_number = errno;
  return take(std::move(fd), path_of(name), error_number);
}

Result<OwnedFolder> OwnedFolder::make_folder(std::string_view name) const {
  if (!is_name(name)) return no_name(name);
  if (::mkdirat(fd_.get(), std::string(name).c_str(), 0700) != 0) {
    if (errno == EEXIST) return Error{Code::invalid, "it is there already", path_of(name), ""};
    return system_error("cannot make the folder", path_of(name), errno);
  }
  return open_folder(name);
}

std::string OwnedFolder::path_of(std::string_view name) const {
  return std::string(path_).append(path_.ends_with('/') ? "" : "/").append(name);
}

bool OwnedFolder::holds(std::string_view name, const OwnedFolder& folder) const {
  struct stat named {};
  struct stat held {};
  return is_name(name) && ::fstatat(fd_.get(), std::string(name).c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         ::fstat(folder.fd_.get(), &held) == 0 && named.st_dev == held.st_dev && named.st_ino == held.st_ino;
}

Result<Fd> OwnedFolder::open_file(std::string_view name, int flags, mode_t mode) const {
  if (!is_name(name)) return no_name(name);
  // O_NONBLOCK: a pipe must not make us wait. It means nothing for a plain file.
  const int safe = (flags & ~O_TRUNC) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  Fd fd(::openat(fd_.get(), std::string(name).c_str(), safe, mode));
  if (!fd && errno == ELOOP)
    return Error{Code::denied, "a file that tacho did not make is left alone", path_of(name), "it is a symbolic link"};
  // A pipe without a reader, a folder, a socket.
  if (!fd && (errno == ENXIO || errno == EISDIR))
    return Error{Code::denied, "a file that tacho did not make is left alone", path_of(name), "it is not a plain file"};
  if (!fd) return system_error("cannot open", path_of(name), errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return system_error("cannot open", path_of(name), errno);
  if (!is_ours(info)) return not_ours(path_of(name), info);
  if ((flags & O_TRUNC) != 0 && info.st_size > 0 && ::ftruncate(fd.get(), 0) != 0)
    return system_error("cannot empty", path_of(name), errno);
  return fd;
}

Result<std::string> OwnedFolder::read(std::string_view name, size_t limit) const {
  const auto fd = open_file(name, O_RDONLY);
  if (!fd) return fd.error();
  std::string text;
  std::array<char, 64 * 1024> chunk;
  for (;;) {
    if (text.size() >= limit) return Error{Code::invalid, "file is too large", path_of(name), ""};
    const ssize_t got = ::read(fd->get(), chunk.data(), chunk.size());
    if (got < 0 && errno != EINTR) return system_error("cannot read", path_of(name), errno);
    if (got == 0) return text;
    if (got > 0) text.append(chunk.data(), static_cast<size_t>(got));
  }
}

Status OwnedFolder::read_pieces(std::string_view name, const std::function<bool(std::string_view piece)>& take) const {
  const auto fd = open_file(name, O_RDONLY);
  if (!fd) return fd.error();
  std::array<char, 16 * 1024> piece;
  for (;;) {
    const ssize_t got = ::read(fd->get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("cannot read", path_of(name), errno);
    if (got == 0 || !take({piece.data(), static_cast<size_t>(got)})) return ok();
  }
}

Status OwnedFolder::write_atomically(std::string_view name, std::string_view text, bool sync, mode_t mode) const {
  if (!is_name(name)) return no_name(name);
  const std::string to(name);
  struct stat info {};
  // What stands in its place is replaced only when it is ours.
  if (::fstatat(fd_.get(), to.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && !is_ours(info))
    return not_ours(path_of(name), info);
  const std::string temporary = temporary_name(name);
  Fd fd(::openat(fd_.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!fd) return system_error("cannot write", path_of(name), errno);
  Status status = write_all(fd.get(), text);
  if (status && sync && ::fsync(fd.get()) != 0) status = system_error("cannot write", "", errno);
  fd.reset();
  if (status && ::renameat(fd_.get(), temporary.c_str(), fd_.get(), to.c_str()) != 0)
    status = system_error("cannot write", "", errno);
  if (status) return ok();
  ::unlinkat(fd_.get(), temporary.c_str(), 0);
  Error error = status.error();
  error.path = path_of(name);
  return error;
}

bool OwnedFolder::has_file(std::string_view name) const {
  struct stat info {};
  return fd_ && is_name(name) && ::fstatat(fd_.get(), std::string(name).c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
         is_ours(info);
}

bool OwnedFolder::has_entry(std::string_view name) const {
  struct stat info {};
  return fd_ && is_name(name) && ::fstatat(fd_.get(), std::string(name).c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
}

int64_t OwnedFolder::file_bytes(std::string_view name) const {
  struct stat info {};
  const bool known = is_name(name) && ::fstatat(fd_.get(), std::string(name).c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
  return known && is_ours(info) ? static_cast<int64_t>(info.st_size) : 0;
}

bool OwnedFolder::remove_file(std::string_view name) const {
  if (has_file(name)) return ::unlinkat(fd_.get(), std::string(name).c_str(), 0) == 0 || errno == ENOENT;
  return fd_ && is_name(name) && !has_entry(name);
}

Status OwnedFolder::rename_file(std::string_view from, std::string_view to) const {
  if (!is_name(from) || !is_name(to)) return no_name(to);
  if (!has_file(from))
    return Error{has_entry(from) ? Code::denied : Code::not_available, "cannot rename", path_of(from),
                 "it is not a file of ours"};
  if (has_entry(to) && !has_file(to))
    return Error{Code::denied, "cannot rename", path_of(to), "something else is in its place"};
  if (::renameat(fd_.get(), std::string(from).c_str(), fd_.get(), std::string(to).c_str()) != 0)
    return system_error("cannot rename", path_of(from), errno);
  return ok();
}

bool OwnedFolder::rename_folder(std::string_view from, std::string_view to) const {
  if (!is_name(from) || !is_name(to)) return false;
  const std::string old_name(from), new_name(to);
  // By number: older C libraries have no wrapper. A file system that cannot do it so (EINVAL) still refuses a folder
  // that is not empty.
  if (::syscall(SYS_renameat2, fd_.get(), old_name.c_str(), fd_.get(), new_name.c_str(), RENAME_NOREPLACE) == 0)
    return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  return !has_entry(to) && ::renameat(fd_.get(), old_name.c_str(), fd_.get(), new_name.c_str()) == 0;
}

bool OwnedFolder::remove_folder(std::string_view name) const {
  return is_name(name) && (::unlinkat(fd_.get(), std::string(name).c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT);
}

bool OwnedFolder::list(const std::function<void(std::string_view name)>& visit) const {
  // A descriptor of its own: the position in a folder belongs to the open file.
  const int again = ::openat(fd_.get(), ".", kFolderFlags);
  DIR* dir = again < 0 ? nullptr : ::fdopendir(again);
  if (dir == nullptr) {
    if (again >= 0) ::close(again);
    return false;
  }
  while (const dirent* entry = ::readdir(dir)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") visit(name);
  }
  ::closedir(dir);
  return true;
}

void OwnedFolder::sync() const { ::fsync(fd_.get()); }

}  // namespace tacho
