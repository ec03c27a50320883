#include "spool/reader.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "base/crc32c.h"
#include "base/text.h"
#include "os/file.h"
#include "spool/bq_record.h"
#include "spool/writer.h"

namespace tacho {
namespace {

constexpr size_t kSegmentLimit = size_t{64} << 20;

// The last line of a segment counts: a repaired one is sealed anew.
std::map<uint32_t, Seal> read_seals(const std::string& folder) {
  std::map<uint32_t, Seal> seals;
  const auto text = read_whole_file(folder + "/" + std::string(kSealsName));
  if (!text) return seals;
  std::string_view rest = *text;
  for (size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    if (const auto seal = parse_seal(rest.substr(0, end))) seals[seal->number] = *seal;
    rest.remove_prefix(end + 1);
  }
  return seals;
}

Status write_seal(const std::string& folder, const Seal& seal) {
  const std::string path = folder + "/" + std::string(kSealsName);
  const Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, kSpoolFileMode));
  if (!fd) return system_error("cannot seal a spool segment", path, errno);
  // A torn line of a dead owner must not swallow ours.
  char last = '\n';
  struct stat info{};
  if (::fstat(fd.get(), &info) == 0 && info.st_size > 0 && ::pread(fd.get(), &last, 1, info.st_size - 1) != 1) last = 0;
  std::string line = seal_line(seal);
  if (last != '\n') line.insert(line.begin(), '\n');
  if (const Status status = write_all(fd.get(), line); !status) return status;
  if (::fsync(fd.get()) != 0) return system_error("cannot seal a spool segment", path, errno);
  return ok();
}

bool matches(const Seal& seal, std::string_view text) {
  return seal.bytes == static_cast<int64_t>(text.size()) && seal.crc == crc32c(text);
}

Error damaged(const Segment& segment) {
  return {Code::invalid, "a spool segment is damaged: its checksum is wrong", segment.path, "only its whole rows are sent"};
}

// What a segment holds is seen by its first letters: CSV begins with a header.
std::string_view ending_of(std::string_view text) { return is_bq_segment(text) ? kRecordsEnding : kSealedEnding; }
size_t whole_part(std::string_view text, int64_t* rows) {
  return is_bq_segment(text) ? whole_bq_records(text, rows) : whole_csv(text, rows);
}

// Seals `text` (all of it whole) as the segment's new content.
Status seal_as(const std::string& folder, uint32_t number, std::string_view text, int64_t rows) {
  const std::string path = folder + "/" + segment_name(number, ending_of(text));
  if (const Status status = write_seal(folder, {number, static_cast<int64_t>(text.size()), rows, crc32c(text)}); !status)
    return status;
  const Status status = write_file_atomically(path, text, true, kSpoolFileMode);
  sync_folder(folder);
  return status;
}

// The files of a folder and the folder; nothing below it.
void remove_folder(const std::string& folder) {
  list_directory(folder, [&](std::string_view name) { ::unlink((folder + "/" + std::string(name)).c_str()); });
  ::rmdir(folder.c_str());
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

Status SpoolRun::lock() {
  const std::string path = folder_ + "/" + std::string(kLockName);
  Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd && errno == ENOENT) {
    if (!file_exists(folder_)) return Error{Code::gone, "the run is not in the spool any more", folder_, ""};
    fd = Fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kSpoolFileMode));
  }
  if (!fd) return system_error("cannot lock the run in the spool", path, errno);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
    return Error{Code::not_available, "the run is still being recorded or sent", folder_, ""};
  // Whoever had it may have delivered and removed it in this moment.
  struct stat ours{};
  struct stat named{};
  if (::fstat(fd.get(), &ours) != 0 || ::stat(path.c_str(), &named) != 0 || ours.st_ino != named.st_ino)
    return Error{Code::gone, "the run is not in the spool any more", folder_, ""};
  lock_ = std::move(fd);
  return ok();
}

pid_t SpoolRun::owner_pid() const {
  return parse_int<pid_t>(read_first_line(folder_ + "/" + std::string(kLockName))).value_or(0);
}

Result<std::string> SpoolRun::meta() const { return newest(kMetaName); }
Result<std::string> SpoolRun::state() const { return newest(kStateName); }

// The copy furthest out was written when the places before it took no more, and is removed when they do again.
Result<std::string> SpoolRun::newest(std::string_view name) const {
  const std::vector<std::string> all = folders();
  for (size_t i = all.size(); i-- > 1;)
    if (auto text = read_whole_file(all[i] + "/" + std::string(name))) return text;
  return read_whole_file(all[0] + "/" + std::string(name));
}

Status SpoolRun::write_state(std::string_view json) const { return write_newest(kStateName, json); }
Status SpoolRun::write_meta(std::string_view json) const { return write_newest(kMetaName, json); }

Status SpoolRun::write_newest(std::string_view name, std::string_view json) const {
  std::vector<std::string> places = overflow_targets();
  places.insert(places.begin(), folder_);
  Status status = ok();
  for (size_t i = 0; i < places.size(); ++i) {
    if (i > 0 && !make_directories(places[i], kSpoolFolderMode)) continue;
    status = write_file_atomically(places[i] + "/" + std::string(name), json, true, kSpoolFileMode);
    if (!status) continue;
    sync_folder(places[i]);
    for (size_t k = i + 1; k < places.size(); ++k) ::unlink((places[k] + "/" + std::string(name)).c_str());
    return ok();
  }
  return status;
}

// Only a folder of the same run is followed.
std::vector<std::string> SpoolRun::overflow_targets() const {
  std::vector<std::string> targets;
  const std::string ours = std::string("/").append(name()).append(".overflow");
  const auto list = read_whole_file(folder_ + "/" + std::string(kOverflowName), 1 << 16);
  if (!list) return targets;
  for (const std::string_view line : split(*list, '\n'))
    if (line.starts_with('/') && line.ends_with(ours)) targets.emplace_back(line);
  return targets;
}

std::vector<std::string> SpoolRun::roots() const {
  std::vector<std::string> roots = overflow_targets();
  roots.insert(roots.begin(), folder_);
  for (std::string& root : roots) root.erase(std::min(root.rfind('/'), root.size()));
  return roots;
}

std::vector<std::string> SpoolRun::folders() const {
  std::vector<std::string> all{folder_};
  for (std::string& target : overflow_targets())
    if (file_exists(target)) all.push_back(std::move(target));
  return all;
}

std::vector<Segment> SpoolRun::sealed() const {
  std::map<uint32_t, Segment> found;
  for (const std::string& folder : folders()) {
    for (const auto& [number, seal] : read_seals(folder)) {
      for (const std::string_view ending : {kSealedEnding, kRecordsEnding}) {
        std::string path = folder + "/" + segment_name(number, ending);
        if (file_exists(path)) found[number] = {seal, std::move(path)};
      }
    }
  }
  std::vector<Segment> segments;
  for (auto& [number, segment] : found) segments.push_back(std::move(segment));
  return segments;
}

std::vector<Segment> SpoolRun::missing() const {
  std::map<uint32_t, Segment> found;
  for (const std::string& folder : folders())
    for (const auto& [number, seal] : read_seals(folder)) found[number] = {seal, folder_ + "/" + segment_name(number, kSealedEnding)};
  for (const Segment& segment : sealed()) found.erase(segment.seal.number);
  std::vector<Segment> segments;
  for (auto& [number, segment] : found) segments.push_back(std::move(segment));
  return segments;
}

Status SpoolRun::recover(std::vector<Torn>& torn) const {
  Status status = ok();
  for (const std::string& folder : folders())
    if (const Status one = recover_in(folder, torn); !one) status = one;
  return status;
}

Status SpoolRun::recover_in(const std::string& folder, std::vector<Torn>& torn) const {
  std::vector<uint32_t> open;
  list_directory(folder, [&](std::string_view name) {
    if (const auto number = segment_number(name, kOpenEnding)) open.push_back(*number);
  });
  const auto seals = read_seals(folder);
  Status status = ok();
  for (const uint32_t number : open) {
    const std::string path = folder + "/" + segment_name(number, kOpenEnding);
    const auto text = read_whole_file(path, kSegmentLimit);
    if (!text) {
      status = text.error();
      continue;
    }
    int64_t rows = 0;
    const size_t whole = whole_part(*text, &rows);
    const auto known = seals.find(number);
    if (known != seals.end() && matches(known->second, *text)) {
      if (::rename(path.c_str(), (folder + "/" + segment_name(number, ending_of(*text))).c_str()) != 0)
        status = system_error("cannot seal a spool segment", path, errno);
      sync_folder(folder);
      continue;
    }
    Status sealed = rows == 0 ? ok() : seal_as(folder, number, std::string_view(*text).substr(0, whole), rows);
    // A full disk has no room for the copy: another one may.
    for (const std::string& other : overflow_targets())
      if (!sealed && other != folder && make_directories(other, kSpoolFolderMode))
        sealed = seal_as(other, number, std::string_view(*text).substr(0, whole), rows);
    if (!sealed) {
      status = sealed;
      continue;
    }
    if (whole < text->size()) torn.push_back({path, static_cast<int64_t>(text->size() - whole)});
    ::unlink(path.c_str());
  }
  return status;
}

Result<std::string> SpoolRun::read(const Segment& segment) const {
  auto text = read_whole_file(segment.path, kSegmentLimit);
  if (!text || matches(segment.seal, *text)) return text;
  return damaged(segment);
}

Status SpoolRun::read_pieces(const Segment& segment, const std::function<void(std::string_view piece)>& take) const {
  Seal seen;
  const Status status = tacho::read_pieces(segment.path, [&](std::string_view piece) {
    seen.crc = crc32c(piece, seen.crc);
    seen.bytes += static_cast<int64_t>(piece.size());
    take(piece);
    return true;
  });
  if (!status) return status;
  return seen.bytes == segment.seal.bytes && seen.crc == segment.seal.crc ? ok() : Status(damaged(segment));
}

Result<Torn> SpoolRun::repair(const Segment& segment) const {
  const auto text = read_whole_file(segment.path, kSegmentLimit);
  if (!text) return text.error();
  int64_t rows = 0;
  const size_t whole = whole_part(*text, &rows);
  const std::string folder = segment.path.substr(0, segment.path.rfind('/'));
  const Status status = seal_as(folder, segment.seal.number, std::string_view(*text).substr(0, whole), rows);
  if (!status) return status.error();
  return Torn{segment.path, segment.seal.bytes - static_cast<int64_t>(whole)};
}

Status SpoolRun::replace(const Segment& segment, std::string_view csv, int64_t rows) const {
  return seal_as(segment.path.substr(0, segment.path.rfind('/')), segment.seal.number, csv, rows);
}

void SpoolRun::remove(const Segment& segment) { ::unlink(segment.path.c_str()); }

int64_t SpoolRun::bytes() const {
  int64_t sum = 0;
  for (const std::string& folder : folders())
    list_directory(folder, [&](std::string_view name) {
      struct stat info{};
      if (::lstat((folder + "/" + std::string(name)).c_str(), &info) == 0) sum += info.st_size;
    });
  return sum;
}

// The name goes first and at once: nobody takes half a run for a whole one, whenever this is killed.
void SpoolRun::remove() {
  std::vector<std::string> all = folders();
  const size_t slash = folder_.rfind('/');
  const std::string hidden = folder_.substr(0, slash) + "/.delivered-" + folder_.substr(slash + 1);
  if (::rename(folder_.c_str(), hidden.c_str()) == 0) all[0] = hidden;
  for (const std::string& folder : all) remove_folder(folder);
  lock_.reset();
}

std::vector<std::string> spool_folders(const std::string& root) {
  std::vector<std::string> folders;
  list_directory(root, [&](std::string_view name) {
    // 20261115T140000Z-123-0a1b2c3d
    if (name.size() > 17 && name[8] == 'T' && name[15] == 'Z' && name[16] == '-' && !name.ends_with(".overflow"))
      folders.push_back(root + "/" + std::string(name));
  });
  std::sort(folders.begin(), folders.end());
  return folders;
}

}  // namespace tacho
