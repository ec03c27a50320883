#include "spool/writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/crc32c.h"
#include "base/log.h"
#include "os/file.h"
#include "os/unique.h"

namespace tacho {
namespace {

// Both are read only when somebody removed them.
constexpr int kSealsFlags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, kSegmentFlags = kSealsFlags | O_TRUNC;

// A folder below a place that everybody may write to must be ours and closed to others.
Status make_root(const std::string& root) {
  if (const Status made = make_directories(root, kSpoolFolderMode); !made) return made;
  struct stat info{};
  if (::lstat(root.c_str(), &info) != 0) return system_error("cannot use the spool folder", root, errno);
  const bool shared = root.starts_with("/var/tmp/") || root.starts_with("/dev/shm/") || root.ends_with("tacho-" + std::to_string(::getuid()));
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
    writer.open_seals();
    for (size_t k = i + 1; k < roots.size(); ++k) writer.folders_.push_back(roots[k] + "/" + name + ".overflow");
    if (!writer.name_overflows()) writer.folders_.resize(1);
    return writer;
  }
  return last;
}

// With room for some hundred seals, so that what is written can still be sealed when the disk is full.
void SpoolWriter::open_seals() {
  seals_ = Fd(::open(path(kSealsName).c_str(), kSealsFlags, kSpoolFileMode));
  if (seals_ && at_ == 0) ::fallocate(seals_.get(), FALLOC_FL_KEEP_SIZE, 0, 4096);
}

// Written down while the disk still takes it; the folders themselves are made when they are needed.
bool SpoolWriter::name_overflows() const {
  std::string list;
  for (size_t i = 1; i < folders_.size(); ++i) list.append(folders_[i]).append("\n");
  return static_cast<bool>(write_file_atomically(folders_[0] + "/" + std::string(kOverflowName), list, false, kSpoolFileMode));
}

Status SpoolWriter::write_meta(std::string_view json, bool sync) {
  meta_ = json;
  if (!file_exists(folders_[0])) remake();
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
  if (!status && remake()) status = append_here(line);
  // A limit of the file size (ulimit -f) is no full disk: the next segment has room.
  if (!status && seal_.rows > 0 && seal()) status = append_here(line);
  while (!status && move_on()) status = append_here(line);
  return status;
}

Status SpoolWriter::append_here(std::string_view line) {
  if (!segment_) {
    segment_ = Fd(::open(path(segment_name(next_, kOpenEnding)).c_str(), kSegmentFlags, kSpoolFileMode));
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
  seals_.reset();
  seal_ = Seal{};
  while (++at_ < folders_.size())
    if (make_overflow(at_)) return true;
  at_ = folders_.size() - 1;
  return false;
}

Status SpoolWriter::seal(bool sync) {
  if (!segment_ || seal_.rows == 0) return ok();
  const Status status = seal_here(sync);
  return status || !remake() ? status : seal_here(sync);
}

Status SpoolWriter::seal_here(bool sync) {
  const auto failed = [&](const char* what) { return system_error(what, folders_[at_], errno); };
  if (sync && ::fdatasync(segment_.get()) != 0) return failed("cannot seal a spool segment");
  if (!seals_) open_seals();
  if (!seals_) return failed("cannot seal a spool segment");
  if (!write_all(seals_.get(), seal_line(seal_)) || (sync && ::fdatasync(seals_.get()) != 0)) return failed("cannot seal a spool segment");
  const std::string open = path(segment_name(seal_.number, kOpenEnding));
  if (::rename(open.c_str(), path(segment_name(seal_.number, ending_)).c_str()) != 0) return failed("cannot seal a spool segment");
  if (sync) sync_folder(folders_[at_]);
  segment_.reset();
  next_ = seal_.number + 1;
  seal_ = Seal{};
  return ok();
}

// Somebody removed the folder, or what is in it, in mid-run. False when nothing is missing or it cannot be made again. What was
// sealed is gone, but its checksums are not: the deliverer takes such rows from the run store. The deliverer's lock is of a
// file that has no name any more, so nobody but this process keeps others away.
bool SpoolWriter::remake() {
  const std::string first = folders_[0] + "/", lock_path = first + std::string(kLockName), seals_path = path(kSealsName);
  const std::string segment_path = path(segment_name(seal_.number, kOpenEnding));
  const bool lost_segment = segment_ && !file_exists(segment_path), lost_seals = seals_ && !file_exists(seals_path);
  if (file_exists(lock_path) && file_exists(folders_[at_]) && !lost_segment && !lost_seals) return false;
  if (!make_overflow(0) || !make_overflow(at_)) return false;
  if (!file_exists(lock_path)) {
    auto lock = lock_new(folders_[0]);
    if (!lock) return false;
    lock_ = std::move(*lock);
  }
  if (!file_exists(first + std::string(kOverflowName))) static_cast<void>(name_overflows());
  if (!meta_.empty() && !file_exists(first + std::string(kMetaName)))
    static_cast<void>(write_file_atomically(first + std::string(kMetaName), meta_, false, kSpoolFileMode));
  if ((lost_seals && !remake_file(seals_, seals_path)) || (lost_segment && !remake_file(segment_, segment_path))) return false;
  log::error("the spool folder " + folders_[at_] + " was removed by somebody; it is made anew, with every row that is not sealed yet");
  return true;
}

// Through the descriptor, which still has every byte.
bool SpoolWriter::remake_file(Fd& file, const std::string& path) const {
  Fd fresh(::open(path.c_str(), kSegmentFlags, kSpoolFileMode));
  char buffer[16384];
  off_t at = 0;
  ssize_t got = 0;
  while (fresh && (got = ::pread(file.get(), buffer, sizeof buffer, at)) > 0) {
    if (!write_all(fresh.get(), {buffer, static_cast<size_t>(got)})) return false;
    at += got;
  }
  if (!fresh || got < 0) return false;
  file = std::move(fresh);
  return true;
}

void SpoolWriter::discard() {
  segment_.reset();
  for (const std::string& folder : folders_) {
    list_directory(folder, [&](std::string_view name) { ::unlink((folder + "/" + std::string(name)).c_str()); });
    ::rmdir(folder.c_str());
  }
}

}  // namespace tacho
