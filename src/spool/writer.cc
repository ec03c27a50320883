#include "spool/writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "os/file.h"
#include "os/unique.h"
#include "base/crc32c.h"

namespace tacho {
namespace {

// A folder below a place that everybody may write to must be ours and closed to others.
Status make_root(const std::string& root) {
  if (const Status made = make_directories(root, kSpoolFolderMode); !made) return made;
  struct stat info{};
  if (::lstat(root.c_str(), &info) != 0) return system_error("cannot use the spool folder", root, errno);
  const bool shared = root.starts_with("/var/tmp/") || root.starts_with("/dev/shm/");
  if (shared && (!S_ISDIR(info.st_mode) || info.st_uid != ::getuid() || (info.st_mode & 077) != 0))
    return Error{Code::denied, "cannot use the spool folder", root, "it is not a private folder of this user"};
  return ok();
}

Result<Fd> lock_new(const std::string& folder) {
  const std::string path = folder + "/" + std::string(kLockName);
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kSpoolFileMode));
  if (!fd || ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return system_error("cannot lock the spool", path, errno);
  if (const Status status = write_all(fd.get(), std::to_string(::getpid()) + "\n"); !status) return status.error();
  return fd;
}

}  // namespace

void sync_folder(const std::string& folder) {
  const Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd) ::fsync(fd.get());
}

Result<SpoolWriter> SpoolWriter::create(const std::vector<std::string>& roots, std::string_view utc) {
  Error last{Code::io, "there is no place for the spool", "", "set TACHO_SPOOL_DIR to a folder that can be written to"};
  for (size_t i = 0; i < roots.size(); ++i) {
    if (const Status made = make_root(roots[i]); !made) {
      last = made.error();
      continue;
    }
    const std::string name = std::string(utc) + "-" + std::to_string(::getpid()) + "-" + random_hex(8);
    const std::string folder = roots[i] + "/" + name;
    const Result<bool> made = make_new_directory(folder, kSpoolFolderMode);
    if (!made || !*made) {
      if (!made) last = made.error();
      continue;
    }
    auto lock = lock_new(folder);
    if (!lock) {
      last = lock.error();
      ::unlink((folder + "/" + std::string(kLockName)).c_str());
      ::rmdir(folder.c_str());
      continue;
    }
    SpoolWriter writer;
    writer.folders_.push_back(folder);
    writer.lock_ = std::move(*lock);
    writer.reserve_seals();
    writer.name_overflows({roots.begin() + static_cast<std::ptrdiff_t>(i) + 1, roots.end()}, name);
    return writer;
  }
  return last;
}

// Room for some hundred seals, so that what is written can still be sealed when the disk is full.
void SpoolWriter::reserve_seals() const {
  const Fd seals(::open(path(kSealsName).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kSpoolFileMode));
  if (seals) ::fallocate(seals.get(), FALLOC_FL_KEEP_SIZE, 0, 4096);
}

// Written down while the disk still takes it; the folders themselves are made when they are needed.
void SpoolWriter::name_overflows(const std::vector<std::string>& roots, const std::string& name) {
  std::string list;
  for (const std::string& root : roots) list.append(root).append("/").append(name).append(".overflow\n");
  if (!write_file_atomically(path(kOverflowName), list, false, kSpoolFileMode)) return;
  for (const std::string& root : roots) folders_.push_back(root + "/" + name + ".overflow");
}

Status SpoolWriter::write_meta(std::string_view json, bool sync) {
  Status status = ok();
  for (size_t i = 0; i < folders_.size(); ++i) {
    if (i > 0 && !make_overflow(i)) continue;
    status = write_file_atomically(folders_[i] + "/" + std::string(kMetaName), json, sync, kSpoolFileMode);
    if (!status) continue;
    if (sync) sync_folder(folders_[i]);
    // The one furthest out is the newest: what is behind this one is old now.
    for (size_t k = i + 1; k < folders_.size(); ++k) ::unlink((folders_[k] + "/" + std::string(kMetaName)).c_str());
    return ok();
  }
  return status;
}

bool SpoolWriter::make_overflow(size_t index) {
  if (file_exists(folders_[index])) return true;
  if (!make_root(folders_[index].substr(0, folders_[index].rfind('/')))) return false;
  const Result<bool> made = make_new_directory(folders_[index], kSpoolFolderMode);
  return made && *made;
}

Status SpoolWriter::append(std::string_view line) {
  Status status = append_here(line);
  while (!status && move_on()) status = append_here(line);
  return status;
}

Status SpoolWriter::append_here(std::string_view line) {
  if (!segment_) {
    segment_ = Fd(::open(path(segment_name(next_, kOpenEnding)).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, kSpoolFileMode));
    if (!segment_) return system_error("cannot write to the spool", folders_[at_], errno);
    seal_ = Seal{next_, 0, 0, 0};
  }
  std::string_view text = line;
  if (seal_.bytes == 0) {
    first_.assign(header_).append(line);
    text = first_;
  }
  if (const Status status = write_all(segment_.get(), text); !status) {
    // A line that went out in part is cut off again.
    [[maybe_unused]] const int cut = ::ftruncate(segment_.get(), static_cast<off_t>(seal_.bytes));
    return Error{Code::io, "cannot write to the spool", folders_[at_], status.error().hint};
  }
  seal_.bytes += static_cast<int64_t>(text.size());
  seal_.crc = crc32c(text, seal_.crc);
  ++seal_.rows;
  return ok();
}

// Leaves what is written where it is (sealed if there is room for that; the deliverer seals it otherwise).
bool SpoolWriter::move_on() {
  if (at_ + 1 >= folders_.size()) return false;
  if (!seal() && seal_.rows > 0) ++next_;
  if (seal_.rows == 0 && segment_) ::unlink(path(segment_name(seal_.number, kOpenEnding)).c_str());
  segment_.reset();
  seal_ = Seal{};
  while (++at_ < folders_.size())
    if (make_overflow(at_)) return true;
  at_ = folders_.size() - 1;
  return false;
}

Status SpoolWriter::seal() {
  if (!segment_ || seal_.rows == 0) return ok();
  const auto failed = [&](const char* what) { return system_error(what, folders_[at_], errno); };
  if (::fdatasync(segment_.get()) != 0) return failed("cannot seal a spool segment");
  const Fd seals(::open(path(kSealsName).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kSpoolFileMode));
  if (!seals) return failed("cannot seal a spool segment");
  if (!write_all(seals.get(), seal_line(seal_)) || ::fdatasync(seals.get()) != 0) return failed("cannot seal a spool segment");
  const std::string open = path(segment_name(seal_.number, kOpenEnding));
  if (::rename(open.c_str(), path(segment_name(seal_.number, kSealedEnding)).c_str()) != 0) return failed("cannot seal a spool segment");
  sync_folder(folders_[at_]);
  segment_.reset();
  next_ = seal_.number + 1;
  seal_ = Seal{};
  return ok();
}

void SpoolWriter::discard() {
  segment_.reset();
  for (const std::string& folder : folders_) {
    list_directory(folder, [&](std::string_view name) { ::unlink((folder + "/" + std::string(name)).c_str()); });
    ::rmdir(folder.c_str());
  }
}

}  // namespace tacho
