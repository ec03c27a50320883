// What a dead owner left open or torn becomes sealed segments of whole rows, and what is damaged is mended.
#include <sys/stat.h>

#include <map>

#include "base/log.h"
#include "base/path.h"
#include "spool/overflows.h"
#include "spool/reader.h"
#include "spool/whole_rows.h"

namespace tacho {
namespace {

// Seals `text` (all of it whole) as the segment's new content.
Status seal_as(const OwnedFolder& folder, std::string_view name, const Seal& seal, std::string_view text) {
  if (const Status status = write_seal(folder, seal); !status) return status;
  const Status status = folder.write_atomically(name, text, true, kSpoolFileMode);
  folder.sync();
  return status;
}

// Of a sealed segment by its name; an open one holds what its run does.
std::string_view form_of(std::string_view name, std::string_view of_run) {
  if (name.ends_with(kOpenEnding)) return of_run;
  return name.ends_with(kRecordsEnding) ? kRecordsEnding : kSealedEnding;
}

// Segments without a seal, open or not. The line of a batch that was sealed may be torn: a disk that was full, or a
// power cut.
std::map<uint32_t, std::string> without_seal(const OwnedFolder& folder, const std::map<uint32_t, Seal>& seals) {
  std::map<uint32_t, std::string> found;
  folder.list([&](std::string_view name) {
    for (const std::string_view ending : {kSealedEnding, kRecordsEnding, kOpenEnding})
      if (const auto number = segment_number(name, ending); number && folder.has_file(name))
        if (ending == kOpenEnding || !seals.contains(*number)) found[*number] = name;
  });
  return found;
}

}  // namespace

Status SpoolRun::recover(std::string_view form, std::vector<Torn>& torn) const {
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
    const Status one = folder ? recover_in(*folder, form, torn) : Status(folder.error());
    if (!one && !(path == folder_ && one.error().code == Code::not_available)) status = one;
  }
  return status;
}

Status SpoolRun::recover_in(const OwnedFolder& folder, std::string_view form, std::vector<Torn>& torn) const {
  const auto seals = read_seals(folder);
  Status status = ok();
  for (const auto& [number, name] : without_seal(folder, seals)) {
    auto text = folder.read(name, kSegmentLimit);
    if (!text) {
      status = text.error();
      continue;
    }
    const std::string_view ending = form_of(name, form);
    const auto known = seals.find(number);
    const bool is_sealed = known != seals.end() && matches(known->second, *text);
    const Status one = is_sealed ? folder.rename_file(name, segment_name(number, ending))
                                 : seal_whole_rows(folder, name, {number, ending}, std::move(*text), torn);
    if (is_sealed) folder.sync();
    if (!one) status = one;
  }
  return status;
}

Status SpoolRun::seal_whole_rows(const OwnedFolder& folder, const std::string& name, const Form& form, std::string text,
                                 std::vector<Torn>& torn) const {
  const auto all_bytes = static_cast<int64_t>(text.size());
  const int64_t rows = keep_whole_rows(form.ending, text);
  const Seal seal = seal_of(form.number, text, rows);
  const std::string sealed_name = segment_name(form.number, form.ending);
  Status sealed = rows == 0 ? ok() : seal_as(folder, sealed_name, seal, text);
  bool stays = sealed && rows > 0 && name == sealed_name;
  // A full disk has no room for the copy: another one may.
  for (const std::string& other : overflow_targets()) {
    if (sealed || other == folder.path()) continue;
    if (const auto place = make_further(other)) sealed = seal_as(*place, sealed_name, seal, text);
    stays = false;  // once more in here it would be sent once more
  }
  if (!sealed) return sealed;
  if (seal.bytes < all_bytes) torn.push_back({folder.path_of(name), all_bytes - seal.bytes});
  if (!stays) folder.remove_file(name);
  return ok();
}

Result<Torn> SpoolRun::repair(const Segment& segment) const {
  const auto folder = place(parent_folder(segment.path));
  if (!folder) return folder.error();
  auto text = folder->read(last_part(segment.path), kSegmentLimit);
  if (!text) return text.error();
  const auto all_bytes = static_cast<int64_t>(text->size());
  const int64_t rows = keep_whole_rows(form_of(segment.path, kSealedEnding), *text);
  if (const Status status = replace(segment, *text, rows); !status) return status.error();
  return Torn{segment.path, std::max(all_bytes, segment.seal.bytes) - static_cast<int64_t>(text->size())};
}

Status SpoolRun::replace(const Segment& segment, std::string_view text, int64_t rows) const {
  const auto folder = place(parent_folder(segment.path));
  if (!folder) return folder.error();
  return seal_as(*folder, last_part(segment.path), seal_of(segment.seal.number, text, rows), text);
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

}  // namespace tacho
