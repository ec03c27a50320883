#include "spool/reader.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/crc32c.h"
#include "base/path.h"
#include "base/text.h"
#include "base/units.h"
#include "os/clock.h"
#include "spool/overflows.h"

namespace tacho {
namespace {

constexpr int64_t kLookAgain_ns = kNsPerSec / 2;

Error damaged(const Segment& segment) {
  return {Code::invalid, "a spool segment is damaged: its checksum is wrong", segment.path,
          "only its whole rows are sent"};
}

}  // namespace

SpoolRun::SpoolRun(std::string folder) : folder_(std::move(folder)) {
  while (folder_.size() > 1 && folder_.back() == '/') folder_.pop_back();
}

// The folder that is held, or the one that took its place: somebody may remove it in mid-run, and tacho makes it anew.
Result<OwnedFolder*> SpoolRun::main() const {
  const std::string_view name = last_part(folder_);
  if (main_ && root_ && root_.holds(name, main_)) return &main_;
  struct stat held {};
  struct stat named {};
  if (main_ && !root_ && ::fstat(main_.fd(), &held) == 0 && ::lstat(folder_.c_str(), &named) == 0 &&
      held.st_dev == named.st_dev && held.st_ino == named.st_ino)
    return &main_;
  auto root = OwnedFolder::open(parent_folder(folder_));
  auto fresh = root && is_run_name(name) ? root->open_folder(name) : OwnedFolder::open(folder_);
  if (!fresh) return fresh.error();
  root_ = root ? std::move(*root) : OwnedFolder();
  main_ = std::move(*fresh);
  return &main_;
}

Status SpoolRun::usable() const {
  const auto folder = main();
  return folder ? ok() : Status(folder.error());
}

bool SpoolRun::has_files() const {
  const auto folder = main();
  bool found = false;
  if (folder) (*folder)->list([&](std::string_view name) { found = found || is_spool_file(name); });
  return found;
}

bool SpoolRun::has_rows() const {
  const auto folder = main();
  bool found = false;
  if (folder)
    (*folder)->list([&](std::string_view name) {
      const bool tells = is_spool_file(name) && name != kLockName && name != kOverflowName && name != kMetaName;
      found = found || (tells && (*folder)->file_bytes(name) > 0);
    });
  return found;
}

Result<OwnedFolder> SpoolRun::place(const std::string& folder) const {
  if (folder != folder_) return open_overflow(folder);
  const auto held = main();
  if (!held) return held.error();
  return (*held)->again();
}

Status SpoolRun::lock() {
  const auto folder = main();
  const Error gone{Code::gone, "the run is not in the spool any more", folder_, ""};
  if (!folder) return folder.error().code == Code::not_available ? gone : folder.error();
  auto fd = (*folder)->open_file(kLockName, O_RDWR);
  if (!fd && fd.error().code == Code::not_available)
    fd = (*folder)->open_file(kLockName, O_RDWR | O_CREAT, kSpoolFileMode);
  if (!fd) return Error{fd.error().code, "cannot lock the run in the spool", fd.error().path, fd.error().hint};
  if (::flock(fd->get(), LOCK_EX | LOCK_NB) != 0)
    return Error{Code::not_available, "the run is still being recorded or sent", folder_, ""};
  // Whoever had it may have delivered and removed it in this moment.
  struct stat ours {};
  struct stat named {};
  const auto now = main();
  if (::fstat(fd->get(), &ours) != 0 || !now ||
      ::fstatat((*now)->fd(), std::string(kLockName).c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0 ||
      ours.st_ino != named.st_ino)
    return gone;
  lock_ = std::move(*fd);
  return ok();
}

pid_t SpoolRun::owner_pid() const {
  const auto folder = main();
  const auto text = folder ? (*folder)->read(kLockName, 1 << 12) : Result<std::string>(folder.error());
  return text ? parse_int<pid_t>(trim(std::string_view(*text).substr(0, text->find('\n')))).value_or(0) : 0;
}

Result<std::string> SpoolRun::meta() const { return newest(kMetaName); }
Result<std::string> SpoolRun::state() const { return newest(kStateName); }

// The copy furthest out was written when the places before it took no more, and is removed when they do again.
Result<std::string> SpoolRun::newest(std::string_view name) const {
  const std::vector<std::string> all = folders();
  for (size_t i = all.size(); i-- > 1;)
    if (const auto folder = place(all[i]))
      if (auto text = folder->read(name)) return text;
  const auto folder = main();
  return folder ? (*folder)->read(name) : Result<std::string>(folder.error());
}

Status SpoolRun::write_state(std::string_view json) const { return write_newest(kStateName, json); }
Status SpoolRun::write_meta(std::string_view json) const { return write_newest(kMetaName, json); }

Status SpoolRun::write_newest(std::string_view name, std::string_view json) const {
  std::vector<std::string> places = overflow_targets();
  places.insert(places.begin(), folder_);
  Status status = ok();
  for (size_t i = 0; i < places.size(); ++i) {
    const auto folder = i == 0 ? place(folder_) : make_further(places[i]);
    if (!folder && i > 0) continue;
    status = folder ? folder->write_atomically(name, json, true, kSpoolFileMode) : Status(folder.error());
    if (!status) continue;
    folder->sync();
    if (has_no_further()) return ok();
    for (size_t k = i + 1; k < places.size(); ++k)
      if (const auto further = open_overflow(places[k])) further->remove_file(name);
    return ok();
  }
  return status;
}

std::vector<std::string> SpoolRun::overflow_targets() const {
  const auto folder = main();
  return folder ? overflows_of(**folder, name()) : std::vector<std::string>();
}

std::vector<std::string> SpoolRun::roots() const {
  std::vector<std::string> roots = overflow_targets();
  roots.insert(roots.begin(), folder_);
  for (std::string& root : roots) root = parent_folder(root);
  return roots;
}

std::vector<std::string> SpoolRun::folders() const {
  std::vector<std::string> all{folder_};
  if (has_no_further()) return all;
  for (std::string& target : overflow_targets())
    if (open_overflow(target)) all.push_back(std::move(target));
  none_until_ns_ = all.size() == 1 ? system_clock().monotonic_ns() + kLookAgain_ns : 0;
  return all;
}

// Nobody else makes one while we hold the run. Looked for again all the same: its disk may come back.
bool SpoolRun::has_no_further() const { return lock_ && system_clock().monotonic_ns() < none_until_ns_; }

bool SpoolRun::has_unread() const {
  if (std::exchange(none_until_ns_, 0) == 0) return false;
  const std::vector<std::string> all = folders();
  return std::any_of(all.begin() + 1, all.end(), [this](const std::string& path) {
    const auto folder = place(path);
    return folder && !read_seals(*folder).empty();
  });
}

Result<OwnedFolder> SpoolRun::make_further(const std::string& path) const {
  none_until_ns_ = 0;
  return make_overflow(path);
}

std::vector<Segment> SpoolRun::sealed() const {
  std::map<uint32_t, Segment> found;
  for (const std::string& path : folders()) {
    const auto folder = place(path);
    if (!folder) continue;
    for (const auto& [number, seal] : read_seals(*folder)) {
      for (const std::string_view ending : {kSealedEnding, kRecordsEnding}) {
        // What is not a file of ours in its place cannot be read, and is not taken for one that was sent and removed.
        const std::string name = segment_name(number, ending);
        if (folder->has_entry(name)) found[number] = {seal, path + "/" + name};
      }
    }
  }
  std::vector<Segment> segments;
  for (auto& [number, segment] : found) segments.push_back(std::move(segment));
  return segments;
}

Status SpoolRun::check_segments(std::string_view form) const {
  for (const Segment& segment : sealed()) {
    if (const auto file = open(segment); !file) return file.error();
    if (!segment.path.ends_with(form))
      return Error{Code::invalid, "a run of this kind has no such file; it is kept", segment.path,
                   "look at what it is"};
  }
  return ok();
}

Result<Fd> SpoolRun::open(const Segment& segment) const {
  const auto folder = place(parent_folder(segment.path));
  return folder ? folder->open_file(last_part(segment.path), O_RDONLY) : folder.error();
}

Result<std::string> SpoolRun::read(const Segment& segment) const {
  const auto folder = place(parent_folder(segment.path));
  if (!folder) return folder.error();
  auto text = folder->read(last_part(segment.path), kSegmentLimit);
  if (!text || matches(segment.seal, *text)) return text;
  return damaged(segment);
}

Status SpoolRun::read_pieces(const Segment& segment, const std::function<void(std::string_view piece)>& take) const {
  const auto folder = place(parent_folder(segment.path));
  if (!folder) return folder.error();
  Seal seen;
  const Status status = folder->read_pieces(last_part(segment.path), [&](std::string_view piece) {
    seen.crc = crc32c(piece, seen.crc);
    seen.bytes += static_cast<int64_t>(piece.size());
    take(piece);
    return true;
  });
  if (!status) return status;
  return seen.bytes == segment.seal.bytes && seen.crc == segment.seal.crc ? ok() : Status(damaged(segment));
}

void SpoolRun::remove(const Segment& segment) const {
  if (const auto folder = place(parent_folder(segment.path))) folder->remove_file(last_part(segment.path));
}

int64_t SpoolRun::bytes() const {
  int64_t sum = 0;
  for (const std::string& path : folders())
    if (const auto folder = place(path))
      folder->list([&](std::string_view name) { sum += is_spool_file(name) ? folder->file_bytes(name) : 0; });
  return sum;
}

std::vector<std::string> spool_folders(const std::string& root) {
  std::vector<std::string> folders;
  const auto open = OwnedFolder::open(root);
  if (!open) return folders;
  open->list([&](std::string_view name) {
    if (is_run_name(name)) folders.push_back(open->path_of(name));
  });
  std::sort(folders.begin(), folders.end());
  return folders;
}

}  // namespace tacho
