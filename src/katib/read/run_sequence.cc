#include "katib/read/run_sequence.h"

namespace tacho {
namespace {

bool share_a_letter(const RunSequence::Letters& a, const RunSequence::Letters& b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i] && b[i]) return true;
  return false;
}

}  // namespace

// A run that may be longer or shorter must not take what the next ones, up to the first that is needed, could take. And
// a match has to begin with a run that is needed and repeats: whatever begins within one that failed fails, too.
std::optional<RunSequence> RunSequence::make(const std::vector<Run>& runs, uint8_t tags_behind) {
  if (runs.empty() || runs.size() > kMostRuns || !runs[0].needed || !runs[0].repeats) return std::nullopt;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].needed && !runs[i].repeats) continue;
    for (size_t next = i + 1; next < runs.size(); ++next) {
      if (share_a_letter(runs[i].letters, runs[next].letters)) return std::nullopt;
      if (runs[next].needed) break;
    }
  }
  RunSequence out;
  out.runs_ = runs.size();
  for (size_t i = 0; i <= runs.size(); ++i) {
    const uint8_t tags = i < runs.size() ? runs[i].tags_before : tags_behind;
    for (size_t tag = 0; tag < kTags; ++tag)
      if ((tags >> tag & 1) != 0) out.tags_[tag] = static_cast<uint8_t>(i);
    if (i == runs.size()) break;
    out.needed_[i] = runs[i].needed;
    out.repeats_[i] = runs[i].repeats;
    for (size_t letter = 0; letter < runs[i].letters.size(); ++letter)
      if (runs[i].letters[letter]) out.takers_[letter] = static_cast<uint16_t>(out.takers_[letter] | 1u << i);
  }
  return out;
}

RunSequence::Match RunSequence::match_of(const Places& places) const {
  const auto group = [&](size_t begin) {
    const char* const at = places[tags_[begin]];
    return std::string_view(at, static_cast<size_t>(places[tags_[begin + 1]] - at));
  };
  return {group(1), group(3), places[runs_]};
}

// Where it went wrong; null: it is a match.
const char* RunSequence::try_at(const char* at, const char* end, Places& places) const {
  unsigned bit = 1;
  for (size_t run = 0; run < runs_; ++run, bit <<= 1) {
    const char* const begin = at;
    places[run] = at;
    if (at < end && (takers(*at) & bit) != 0) ++at;
    if (at == begin) {
      if (needed_[run]) return at;
    } else if (repeats_[run]) {
      while (at < end && (takers(*at) & bit) != 0) ++at;
    }
  }
  places[runs_] = at;
  return nullptr;
}

RunSequence::Found RunSequence::find(std::string_view ascii, const char* from, Match& match) const {
  const char* const end = ascii.data() + ascii.size();
  size_t wasted = 0;
  const size_t most_wasted = 4 * ascii.size() + 256;
  Places places;
  for (const char* at = from;;) {
    while (at < end && (takers(*at) & 1) == 0) ++at;
    if (at == end) return Found::no;
    const char* const stopped = try_at(at, end, places);
    if (stopped == nullptr) return match = match_of(places), Found::yes;
    while (at < stopped && (takers(*at) & 1) != 0) ++at;
    wasted += static_cast<size_t>(stopped - at) + 1;
    if (wasted > most_wasted) return Found::unknown;
  }
}

// A match that has the letter in its first run begins where that run does: behind a letter that no run takes, over
// which no match reaches, or where the search does.
RunSequence::Found RunSequence::find_around(const char* at, const char* from, const char* end, Match& match) const {
  const char* begin = at;
  if ((takers(*at) & 1) == 0) return Found::unknown;
  while (begin > from && (takers(begin[-1]) & 1) != 0) --begin;
  if (begin > from && takers(begin[-1]) != 0) return Found::unknown;
  Places places;
  if (try_at(begin, end, places) == nullptr) return match = match_of(places), Found::yes;
  while (at < end && (takers(*at) & 1) != 0) ++at;
  match.end = at;
  return Found::no;
}

}  // namespace tacho
