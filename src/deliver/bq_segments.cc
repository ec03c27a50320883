#include "deliver/bq_segments.h"

#include <sys/file.h>

#include <algorithm>

namespace tacho {
namespace {

constexpr uint64_t tag_of(uint32_t segment, size_t row) { return uint64_t{segment} << 32 | static_cast<uint32_t>(row); }

bool is_done(const std::map<char, size_t>& left) {
  return std::all_of(left.begin(), left.end(), [](const auto& entry) { return entry.second == 0; });
}

}  // namespace

char bq_group(char letter) { return letter == 'E' ? 'M' : letter; }

// A damaged segment is cut down to its whole records, at the end: before, the agent may be replacing it at this moment.
Result<std::string> BqSegments::text_of(const Segment& segment) {
  auto text = run_.read(segment);
  if (text || text.error().code != Code::invalid || !ended_) return text;
  const auto torn = run_.repair(segment);
  if (!torn) return torn.error();
  notices_.must("a segment of the spool is damaged: " + std::to_string(torn->bytes) +
                " bytes of it are lost: " + torn->path);
  told_.insert(segment.seal.number);
  return text.error();  // sealed anew: it is found at the next look
}

BqSegments::Open* BqSegments::open(const Segment& segment) {
  const auto known = open_.find(segment.seal.number);
  if (known != open_.end() && known->second.segment.seal.crc == segment.seal.crc) return &known->second;
  const auto text = text_of(segment);
  if (!text) {
    open_.erase(segment.seal.number);  // it is another one by now
    if (unreadable_.empty()) unreadable_ = text.error().message();
    return nullptr;
  }
  // Only now: the text is what the seal says, and has a row for every few bytes at the most.
  const auto rows = static_cast<size_t>(std::max<int64_t>(segment.seal.rows, 0));
  Open fresh{segment, std::vector<bool>(std::min(rows, text->size())), {}, {}, {}};
  const auto partial = state_.partial.find(segment.seal.number);
  if (partial != state_.partial.end() && partial->second.crc == segment.seal.crc)
    mark_rows(partial->second.rows, fresh.done);
  BqRecords records(*text);
  std::string wrong;
  for (BqRecord record; records.next(record) && fresh.groups.size() < fresh.done.size();) {
    const char group = bq_group(record.table);
    if (groups_.find(group) != std::string::npos) fresh.left[group] += !fresh.done[fresh.groups.size()];
    else wrong = "a segment has rows for a table that the run does not name: " + segment.path;
    fresh.groups += group;
  }
  if (fresh.groups.size() != rows) wrong = "not all rows of a segment can be read: " + segment.path;
  if (!wrong.empty()) {
    open_.erase(segment.seal.number);
    if (unreadable_.empty()) unreadable_ = wrong;
    return nullptr;
  }
  return &(open_[segment.seal.number] = std::move(fresh));
}

void BqSegments::look() {
  const std::vector<Segment> sealed = run_.sealed();
  unreadable_.clear();
  for (const Segment& segment : sealed) {
    if (state_.done.contains(segment.seal.number)) {
      // Acknowledged, and killed before it was removed.
      run_.remove(segment);
      continue;
    }
    if (const Open* now = open(segment); now != nullptr && is_done(now->left)) changed_ = true;
  }
  std::erase_if(open_, [&](const auto& entry) {
    return std::none_of(sealed.begin(), sealed.end(),
                        [&](const Segment& segment) { return segment.seal.number == entry.first; });
  });
}

void BqSegments::feed(char group, const std::function<bool(uint64_t tag, const BqRecord& record)>& take) {
  look();
  for (auto entry = open_.begin(); entry != open_.end();) {
    const uint32_t number = entry->first;
    Open& open = entry->second;
    const auto here = entry++;
    const auto left = open.left.find(group);
    if (left == open.left.end() || left->second == 0) continue;
    if (!open.lock) {
      auto file = run_.open(open.segment);
      if (file) open.lock = std::move(*file);
      if (!open.lock || ::flock(open.lock.get(), LOCK_SH | LOCK_NB) != 0) {
        open.lock.reset();  // being thinned out at this very moment
        continue;
      }
    }
    const auto text = text_of(open.segment);
    if (!text) {
      // What is wrong with it is its own matter: later ones do not wait for it. Repaired at the end, if not before.
      if (told_.insert(number).second && text.error().code == Code::invalid)
        notices_.must(text.error().message() + "; the rows behind it are sent, and what is whole of it at the end");
      open_.erase(here);
      continue;
    }
    BqRecords records(*text);
    size_t row = 0;
    for (BqRecord record; records.next(record) && row < open.done.size(); ++row)
      if (!open.done[row] && bq_group(record.table) == group && !take(tag_of(number, row), record)) return;
  }
}

void BqSegments::settle(uint64_t tag) {
  const auto found = open_.find(static_cast<uint32_t>(tag >> 32));
  const size_t row = static_cast<uint32_t>(tag);
  if (found == open_.end() || row >= found->second.groups.size() || found->second.done[row]) return;
  found->second.done[row] = true;
  --found->second.left[found->second.groups[row]];
  changed_ = true;
}

bool BqSegments::is_under_way(uint32_t segment) const {
  if (state_.partial.contains(segment)) return true;
  const auto found = open_.find(segment);
  if (found == open_.end()) return false;
  const std::vector<bool>& done = found->second.done;
  return found->second.lock || std::find(done.begin(), done.end(), true) != done.end();
}

bool BqSegments::is_empty() {
  look();
  return unreadable_.empty() &&
         std::all_of(open_.begin(), open_.end(), [](const auto& entry) { return is_done(entry.second.left); });
}

std::string BqSegments::stuck() const {
  const bool done =
      std::all_of(open_.begin(), open_.end(), [](const auto& entry) { return is_done(entry.second.left); });
  return done ? unreadable_ : "";
}

Status BqSegments::save() {
  if (!changed_) return ok();
  std::vector<Segment> finished;
  state_.partial.clear();
  for (const auto& [number, open] : open_) {
    if (is_done(open.left)) {
      if (state_.done.insert(number).second) ++finished_, ++state_.reports;
      finished.push_back(open.segment);
    } else if (std::find(open.done.begin(), open.done.end(), true) != open.done.end()) {
      state_.partial[number] = {open.segment.seal.crc, row_ranges(open.done)};
    }
  }
  const Status written = run_.write_state(bq_state_json(state_));
  if (!written) return written;
  changed_ = false;
  for (const Segment& segment : finished) {
    run_.remove(segment);
    open_.erase(segment.seal.number);
    state_.done.erase(segment.seal.number);
  }
  return ok();
}

}  // namespace tacho
