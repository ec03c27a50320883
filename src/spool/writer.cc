#include "spool/writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/crc32c.h"
#include "base/log.h"
#include "base/path.h"
#include "os/file.h"
#include "os/unique.h"
#include "spool/overflows.h"

namespace tacho {
namespace {

// Both are read only when somebody removed them.
constexpr int kSealsFlags = O_RDWR | O_CREAT | O_APPEND, kSegmentFlags = kSealsFlags | O_TRUNC;
// So much must be free on the first disk before rows go there again; and after a try that failed it has so many batches
// of peace, twice as many each time.
constexpr int64_t kRoomToReturn = int64_t{8} << 20;
constexpr int kMostSealsUntilReturn = 64;

Result<Fd> lock_new(const OwnedFolder& folder) {
  auto fd = folder.open_file(kLockName, O_RDWR | O_CREAT | O_EXCL, kSpoolFileMode);
  if (!fd) return fd;
  if (::flock(fd->get(), LOCK_EX | LOCK_NB) != 0)
    return system_error("cannot lock the spool", folder.path_of(kLockName), errno);
  if (const Status status = write_all(fd->get(), std::to_string(::getpid()) + "\n"); !status) return status.error();
  return fd;
}

bool has_room(const OwnedFolder& folder) {
  struct statvfs space {};
  return ::fstatvfs(folder.fd(), &space) == 0 && static_cast<int64_t>(space.f_bavail * space.f_frsize) >= kRoomToReturn;
}

}  // namespace

Result<SpoolWriter> SpoolWriter::create(const std::vector<std::string>& roots, std::string_view utc) {
  Error last{Code::io, "there is no place for the spool", "", "set TACHO_SPOOL_DIR to a folder that can be written to"};
  for (size_t i = 0; i < roots.size(); ++i) {
    auto root = OwnedFolder::make(roots[i]);
    if (!root) {
      last = root.error();
      continue;
    }
    const std::string name = std::string(utc) + "-" + std::to_string(::getpid()) + "-" + random_hex(kRunNameHex);
    auto folder = root->make_folder(name);
    if (!folder) {
      last = folder.error();
      root->remove_folder(name);  // on a disk where what we make is not ours
      continue;
    }
    auto lock = lock_new(*folder);
    if (!lock) {
      last = lock.error();
      folder->remove_file(kLockName);
      root->remove_folder(name);
      continue;
    }
    SpoolWriter writer;
    writer.folders_.push_back(root->path_of(name));
    writer.held_.push_back({std::move(*root), std::move(*folder)});
    writer.lock_ = std::move(*lock);
    writer.open_seals();
    for (size_t k = i + 1; k < roots.size(); ++k)
      writer.folders_.push_back((roots[k] + "/").append(name).append(kOverflowEnding));
    if (!writer.name_overflows()) writer.folders_.resize(1);
    writer.held_.resize(writer.folders_.size());
    return writer;
  }
  return last;
}

// With room for some hundred seals, so that what is written can still be sealed when the disk is full.
void SpoolWriter::open_seals() {
  auto seals = here().open_file(kSealsName, kSealsFlags, kSpoolFileMode);
  seals_ = seals ? std::move(*seals) : Fd();
  if (!seals_) return;
  if (at_ == 0) ::fallocate(seals_.get(), FALLOC_FL_KEEP_SIZE, 0, 4096);
  // A line that was torn when the disk was full must not swallow the next one.
  char last = '\n';
  struct stat info {};
  seals_torn_ = ::fstat(seals_.get(), &info) == 0 && info.st_size > 0 &&
                (::pread(seals_.get(), &last, 1, info.st_size - 1) != 1 || last != '\n');
}

// Written down while the disk still takes it; the folders themselves are made when they are needed.
bool SpoolWriter::name_overflows() const {
  const std::string list = overflow_list(held_[0].folder, {folders_.begin() + 1, folders_.end()});
  return static_cast<bool>(held_[0].folder.write_atomically(kOverflowName, list, false, kSpoolFileMode));
}

Status SpoolWriter::write_meta(std::string_view json, bool sync) {
  meta_ = json;
  if (!is_there(0)) remake();
  Status status = ok();
  for (size_t i = 0; i < folders_.size(); ++i) {
    if (i > 0 && !make_folder(i)) continue;
    status = held_[i].folder.write_atomically(kMetaName, json, sync, kSpoolFileMode);
    if (!status) continue;
    meta_at_ = i;
    // The one furthest out is the newest: what is behind this one is old now.
    for (size_t k = i + 1; k < folders_.size(); ++k)
      if (held_[k].folder) held_[k].folder.remove_file(kMetaName);
    return ok();
  }
  return status;
}

bool SpoolWriter::is_there(size_t index) const {
  const Held& held = held_[index];
  return held.folder && held.root.holds(last_part(folders_[index]), held.folder);
}

bool SpoolWriter::make_folder(size_t index) {
  if (is_there(index)) return true;
  auto root = OwnedFolder::make(parent_folder(folders_[index]));
  if (!root) return false;
  const std::string_view name = last_part(folders_[index]);
  auto made = root->open_folder(name);  // the deliverer may have been first
  if (!made && made.error().code == Code::not_available) made = root->make_folder(name);
  if (!made) return false;
  held_[index] = {std::move(*root), std::move(*made)};
  return true;
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
    auto segment = here() ? here().open_file(segment_name(next_, kOpenEnding), kSegmentFlags, kSpoolFileMode)
                          : Result<Fd>(Error{Code::not_available, "", "", "it is not there"});
    if (!segment) return Error{Code::io, "cannot write to the spool", folders_[at_], segment.error().hint};
    segment_ = std::move(*segment);
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
  if (!seal_open(true) && seal_.rows > 0) ++next_;
  if (seal_.rows == 0 && segment_) here().remove_file(open_name());
  segment_.reset();
  seals_.reset();
  seal_ = Seal{};
  // Not even one batch fitted: a quota shows as little room as it likes.
  if (at_ == 0) seals_until_return_ = std::min(kMostSealsUntilReturn, 1 << std::min(returns_failed_++, 6));
  while (++at_ < folders_.size())
    if (make_folder(at_)) return true;
  at_ = folders_.size() - 1;
  return false;
}

// Between two segments: the first disk may have room again, and memory is not for long.
void SpoolWriter::move_back() {
  if (at_ == 0 || segment_ || --seals_until_return_ > 0) return;
  seals_until_return_ = std::min(kMostSealsUntilReturn, 1 << std::min(returns_failed_, 6));
  if (!is_there(0) || !has_room(held_[0].folder)) return;
  at_ = 0;
  seals_.reset();
  open_seals();
}

Status SpoolWriter::seal(bool sync) {
  const Status status = seal_open(sync);
  if (status) move_back();
  return status;
}

Status SpoolWriter::seal_open(bool sync) {
  if (!segment_ || seal_.rows == 0) return ok();
  const Status status = seal_here(sync);
  return status || !remake() ? status : seal_here(sync);
}

// What goes out in part is cut off again: torn, it would take the next line with it.
Status SpoolWriter::write_seal_line() {
  std::string line = seal_line(seal_);
  if (seals_torn_) line.insert(line.begin(), '\n');
  struct stat before {};
  const bool known = ::fstat(seals_.get(), &before) == 0;
  size_t written = 0;
  const Status status = write_all(seals_.get(), line, &written);
  seals_torn_ = !status && written > 0 && !(known && ::ftruncate(seals_.get(), before.st_size) == 0);
  return status;
}

Status SpoolWriter::seal_here(bool sync) {
  const auto failed = [&] { return system_error("cannot seal a spool segment", folders_[at_], errno); };
  if (sync && ::fdatasync(segment_.get()) != 0) return failed();
  if (!seals_ && here()) open_seals();
  if (!seals_)
    return Error{Code::io, "cannot seal a spool segment", folders_[at_], "its list of seals cannot be written"};
  if (!write_seal_line() || (sync && ::fdatasync(seals_.get()) != 0)) return failed();
  if (const Status renamed = here().rename_file(open_name(), segment_name(seal_.number, ending_)); !renamed)
    return Error{Code::io, "cannot seal a spool segment", folders_[at_], renamed.error().hint};
  if (sync) here().sync();
  segment_.reset();
  next_ = seal_.number + 1;
  seal_ = Seal{};
  return ok();
}

// Somebody removed the folder, or what is in it, in mid-run. False when nothing is missing or it cannot be made again.
// What was sealed is gone, but its checksums are not: the deliverer takes such rows from the run store. The deliverer's
// lock is of a file that has no name any more, so nobody but this process keeps others away.
bool SpoolWriter::remake() {
  const bool first_is_there = is_there(0), is_here = is_there(at_);
  const bool lost_segment = segment_ && !(is_here && here().has_entry(open_name()));
  const bool lost_seals = seals_ && !(is_here && here().has_entry(kSealsName));
  const bool lost_lock = !first_is_there || !held_[0].folder.has_entry(kLockName);
  if (!lost_lock && is_here && !lost_segment && !lost_seals) return false;
  if (!make_folder(0) || !make_folder(at_)) return false;
  const OwnedFolder& first = held_[0].folder;
  if (lost_lock) {
    auto lock = lock_new(first);
    if (!lock) return false;
    lock_ = std::move(*lock);
  }
  if (!first.has_entry(kOverflowName)) static_cast<void>(name_overflows());
  if (!meta_.empty() && !first.has_entry(kMetaName))
    static_cast<void>(first.write_atomically(kMetaName, meta_, false, kSpoolFileMode));
  if ((lost_seals && !remake_file(seals_, kSealsName)) || (lost_segment && !remake_file(segment_, open_name())))
    return false;
  log::error("the spool folder " + folders_[at_] +
             " was removed by somebody; it is made anew, with every row that is not sealed yet");
  return true;
}

// Through the descriptor, which still has every byte.
bool SpoolWriter::remake_file(Fd& file, std::string_view name) const {
  auto fresh = here().open_file(name, kSegmentFlags, kSpoolFileMode);
  char buffer[16384];
  off_t at = 0;
  ssize_t got = 0;
  while (fresh && (got = ::pread(file.get(), buffer, sizeof buffer, at)) > 0) {
    if (!write_all(fresh->get(), {buffer, static_cast<size_t>(got)})) return false;
    at += got;
  }
  if (!fresh || got < 0) return false;
  file = std::move(*fresh);
  return true;
}

void SpoolWriter::discard() {
  segment_.reset();
  for (size_t i = folders_.size(); i-- > 0;) {
    const Held& held = held_[i];
    if (!held.folder) continue;
    std::vector<std::string> names;
    held.folder.list([&](std::string_view name) {
      if (is_spool_file(name)) names.emplace_back(name);
    });
    for (const std::string& name : names) held.folder.remove_file(name);
    if (is_there(i)) held.root.remove_folder(last_part(folders_[i]));
  }
}

}  // namespace tacho
