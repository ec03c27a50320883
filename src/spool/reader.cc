#include "spool/reader.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <map>

#include "base/crc32c.h"
#include "base/log.h"
#include "base/path.h"
#include "base/text.h"
#include "os/file.h"
#include "spool/bq_record.h"
#include "spool/overflows.h"
#include "spool/writer.h"

namespace tacho {
namespace {

constexpr size_t kSegmentLimit = size_t{64} << 20;
constexpr time_t kSurelyOld_s = 600;

// The last line of a segment counts: a repaired one is sealed anew.
std::map<uint32_t, Seal> read_seals(const OwnedFolder& folder) {
  std::map<uint32_t, Seal> seals;
  const auto text = folder.read(kSealsName);
  if (!text) return seals;
  std::string_view rest = *text;
  for (size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    if (const auto seal = parse_seal(rest.substr(0, end))) seals[seal->number] = *seal;
    rest.remove_prefix(end + 1);
  }
  return seals;
}

Status write_seal(const OwnedFolder& folder, const Seal& seal) {
  const auto fd = folder.open_file(kSealsName, O_RDWR | O_CREAT | O_APPEND, kSpoolFileMode);
  if (!fd) return fd.error();
  // A torn line of a dead owner must not swallow ours.
  char last = '\n';
  struct stat info {};
  if (::fstat(fd->get(), &info) == 0 && info.st_size > 0 && ::pread(fd->get(), &last, 1, info.st_size - 1) != 1)
    last = 0;
  std::string line = seal_line(seal);
  if (last != '\n') line.insert(line.begin(), '\n');
  if (const Status status = write_all(fd->get(), line); !status) return status;
  if (::fsync(fd->get()) != 0) return system_error("cannot seal a spool segment", folder.path_of(kSealsName), errno);
  return ok();
}

bool matches(const Seal& seal, std::string_view text) {
  return seal.bytes == static_cast<int64_t>(text.size()) && seal.crc == crc32c(text);
}

Error damaged(const Segment& segment) {
  return {Code::invalid, "a spool segment is damaged: its checksum is wrong", segment.path,
          "only its whole rows are sent"};
}

// What a segment holds is said by its name; of an open one it is seen by its first letters: CSV begins with a header.
std::string_view ending_of(std::string_view name, std::string_view text) {
  if (name.ends_with(kRecordsEnding)) return kRecordsEnding;
  if (name.ends_with(kSealedEnding)) return kSealedEnding;
  return is_bq_segment(text) ? kRecordsEnding : kSealedEnding;
}
size_t whole_part(std::string_view ending, std::string_view text, int64_t* rows) {
  return ending == kRecordsEnding ? whole_bq_records(text, rows) : whole_csv(text, rows);
}

// Seals `text` (all of it whole) as the segment's new content.
Status seal_as(const OwnedFolder& folder, uint32_t number, std::string_view ending, std::string_view text,
               int64_t rows) {
  if (const Status status = write_seal(folder, {number, static_cast<int64_t>(text.size()), rows, crc32c(text)});
      !status)
    return status;
  const Status status = folder.write_atomically(segment_name(number, ending), text, true, kSpoolFileMode);
  folder.sync();
  return status;
}

bool has_strangers(const OwnedFolder& folder) {
  bool found = false;
  folder.list([&](std::string_view name) { found = found || !is_spool_file(name) || !folder.has_file(name); });
  return found;
}

// The files that the spool made. What tells how far a run came goes last: whoever is killed here leaves a run that is
// done.
void remove_files(const OwnedFolder& folder) {
  std::vector<std::string> names;
  folder.list([&](std::string_view name) {
    if (is_spool_file(name)) names.emplace_back(name);
  });
  const auto rank = [](std::string_view name) {
    return name == kLockName ? 4 : name == kStateName ? 3 : name == kMetaName ? 2 : name == kOverflowName ? 1 : 0;
  };
  std::stable_sort(names.begin(), names.end(),
                   [&](const std::string& a, const std::string& b) { return rank(a) < rank(b); });
  for (const std::string& name : names) folder.remove_file(name);
}

void remove_overflows(const OwnedFolder& folder, std::string_view run_name) {
  for (const std::string& path : overflows_of(folder, run_name)) {
    const auto root = OwnedFolder::open(parent_folder(path));
    const auto overflow = root ? root->open_folder(last_part(path)) : Result<OwnedFolder>(root.error());
    if (!overflow) continue;
    remove_files(*overflow);
    root->remove_folder(last_part(path));
  }
}

}  // namespace

size_t whole_csv(std::string_view text, int64_t* rows) {
  size_t at = 0, good = 0;
  int64_t lines = 0;
  std::ptrdiff_t fields = 0;
  for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n', at)) {
    const std::string_view line = text.substr(at, end - at);
    const std::ptrdiff_t commas = std::count(line.begin(), line.end(), ',');
    if (lines == 0) fields = commas;
    if (line.empty() || commas != fields || line.find('\0') != std::string_view::npos) break;
    ++lines;
    at = good = end + 1;
  }
  if (rows != nullptr) *rows = lines > 0 ? lines - 1 : 0;
  return good;
}

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
    const auto folder = i == 0 ? place(folder_) : make_overflow(places[i]);
    if (!folder && i > 0) continue;
    status = folder ? folder->write_atomically(name, json, true, kSpoolFileMode) : Status(folder.error());
    if (!status) continue;
    folder->sync();
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
  for (std::string& target : overflow_targets())
    if (open_overflow(target)) all.push_back(std::move(target));
  return all;
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

Status SpoolRun::check_segments() const {
  for (const Segment& segment : sealed())
    if (const auto file = open(segment); !file) return file.error();
  return ok();
}

std::vector<Segment> SpoolRun::missing() const {
  std::map<uint32_t, Segment> found;
  for (const std::string& path : folders())
    if (const auto folder = place(path))
      for (const auto& [number, seal] : read_seals(*folder))
        found[number] = {seal, folder_ + "/" + segment_name(number, kSealedEnding)};
  for (const Segment& segment : sealed()) found.erase(segment.seal.number);
  std::vector<Segment> segments;
  for (auto& [number, segment] : found) segments.push_back(std::move(segment));
  return segments;
}

Status SpoolRun::recover(std::vector<Torn>& torn) const {
  Status status = ok();
  if (const auto held = main())
    if (const std::string original = original_of(**held, name()); !original.empty())
      log::warn(folder_ + " is a copy of " + original + ": rows that went to another disk stay with that one");
  // An overflow that is there and may not be used has rows of this run: without them it must not be closed.
  for (const std::string& path : overflow_targets()) {
    const auto overflow = open_overflow(path);
    struct stat info {};
    if (!overflow && overflow.error().code != Code::not_available && ::lstat(path.c_str(), &info) == 0)
      status = overflow.error();
  }
  for (const std::string& path : folders()) {
    const auto folder = place(path);
    const Status one = folder ? recover_in(*folder, torn) : Status(folder.error());
    if (!one && !(path == folder_ && one.error().code == Code::not_available)) status = one;
  }
  return status;
}

Status SpoolRun::recover_in(const OwnedFolder& folder, std::vector<Torn>& torn) const {
  std::map<uint32_t, std::string> found;  // segments without a seal, open or not
  const auto seals = read_seals(folder);
  folder.list([&](std::string_view name) {
    for (const std::string_view ending : {kSealedEnding, kRecordsEnding, kOpenEnding}) {
      const auto number = segment_number(name, ending);
      if (!number) continue;
      if (!folder.has_file(name)) continue;
      // The line of a batch that was sealed may be torn: a disk that was full, or a power cut.
      if (ending == kOpenEnding || !seals.contains(*number)) found[*number] = name;
    }
  });
  Status status = ok();
  for (const auto& [number, name] : found) {
    const auto text = folder.read(name, kSegmentLimit);
    if (!text) {
      status = text.error();
      continue;
    }
    int64_t rows = 0;
    const std::string_view ending = ending_of(name, *text);
    const size_t whole = whole_part(ending, *text, &rows);
    const auto known = seals.find(number);
    if (known != seals.end() && matches(known->second, *text)) {
      if (const Status renamed = folder.rename_file(name, segment_name(number, ending)); !renamed) status = renamed;
      folder.sync();
      continue;
    }
    Status sealed = rows == 0 ? ok() : seal_as(folder, number, ending, std::string_view(*text).substr(0, whole), rows);
    // A full disk has no room for the copy: another one may.
    for (const std::string& other : overflow_targets()) {
      if (sealed || other == folder.path()) continue;
      if (const auto place = make_overflow(other))
        sealed = seal_as(*place, number, ending, std::string_view(*text).substr(0, whole), rows);
    }
    if (!sealed) {
      status = sealed;
      continue;
    }
    if (whole < text->size()) torn.push_back({folder.path_of(name), static_cast<int64_t>(text->size() - whole)});
    if (name != segment_name(number, ending) || rows == 0) folder.remove_file(name);
  }
  return status;
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

Result<Torn> SpoolRun::repair(const Segment& segment) const {
  const auto folder = place(parent_folder(segment.path));
  if (!folder) return folder.error();
  const auto text = folder->read(last_part(segment.path), kSegmentLimit);
  if (!text) return text.error();
  int64_t rows = 0;
  const std::string_view ending = ending_of(segment.path, *text);
  const size_t whole = whole_part(ending, *text, &rows);
  const Status status = seal_as(*folder, segment.seal.number, ending, std::string_view(*text).substr(0, whole), rows);
  if (!status) return status.error();
  return Torn{segment.path, segment.seal.bytes - static_cast<int64_t>(whole)};
}

Status SpoolRun::replace(const Segment& segment, std::string_view csv, int64_t rows) const {
  const auto folder = place(parent_folder(segment.path));
  return folder ? seal_as(*folder, segment.seal.number, ending_of(segment.path, csv), csv, rows)
                : Status(folder.error());
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

// The name goes first and at once: nobody takes half a run for a whole one, whenever this is killed. Only where all of
// it is ours: somebody else's file must not move.
std::string SpoolRun::remove() {
  const auto folder = main();
  if (!folder) return {};
  const std::string name = this->name(), hidden = std::string(kDeliveredMark) + name;
  const bool renamed = root_ && is_run_name(name) && !has_strangers(**folder) && root_.rename_folder(name, hidden);
  remove_overflows(**folder, name);
  remove_files(**folder);
  bool gone = false;
  if (!root_) gone = ::rmdir(folder_.c_str()) == 0;
  else if (renamed) gone = root_.remove_folder(hidden);
  else gone = root_.holds(name, **folder) && root_.remove_folder(name);
  // Somebody put a file there in this very moment: it goes back to where it was put.
  if (!gone && renamed) root_.rename_folder(hidden, name);
  lock_.reset();
  return gone ? std::string() : folder_;
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

std::vector<std::string> sweep_delivered(const std::string& root) {
  std::vector<std::string> names, kept;
  const auto open = OwnedFolder::open(root);
  if (!open) return kept;
  open->list([&](std::string_view name) {
    if (name.starts_with(kDeliveredMark) && is_run_name(name.substr(kDeliveredMark.size()))) names.emplace_back(name);
    // Killed before it had a file. A new one is empty only for a moment.
    struct stat info {};
    if (is_run_name(name) && ::fstatat(open->fd(), std::string(name).c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        ::time(nullptr) - info.st_mtime > kSurelyOld_s)
      open->remove_folder(name);
  });
  for (const std::string& name : names) {
    const auto folder = open->open_folder(name);
    if (!folder) continue;
    // Whoever is removing it right now holds the lock.
    const auto lock = folder->open_file(kLockName, O_RDWR);
    if (lock ? ::flock(lock->get(), LOCK_EX | LOCK_NB) != 0 : lock.error().code != Code::not_available) continue;
    remove_overflows(*folder, std::string_view(name).substr(kDeliveredMark.size()));
    remove_files(*folder);
    if (!open->remove_folder(name)) kept.push_back(open->path_of(name));
  }
  return kept;
}

}  // namespace tacho
