#include "katib/read/run_sequence.h"

#include <algorithm>
#include <utility>

namespace tacho {
namespace {

bool share_a_letter(const RunSequence::Letters& a, const RunSequence::Letters& b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i] && b[i]) return true;
  return false;
}

void set_tags(uint8_t tags, int32_t place, RunSequence::Places& places) {
  for (size_t i = 0; tags != 0; ++i, tags = static_cast<uint8_t>(tags >> 1))
    if ((tags & 1) != 0) places[i] = place;
}

}  // namespace

// A run that may be longer or shorter must not take what the next ones, up to the first that is needed, could take. And
// a match has to begin with a run that is needed and repeats: whatever begins within one that failed fails, too.
std::optional<RunSequence> RunSequence::make(std::vector<Run> runs, uint8_t tags_behind) {
  if (runs.empty() || !runs[0].needed || !runs[0].repeats) return std::nullopt;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].needed && !runs[i].repeats) continue;
    for (size_t next = i + 1; next < runs.size(); ++next) {
      if (share_a_letter(runs[i].letters, runs[next].letters)) return std::nullopt;
      if (runs[next].needed) break;
    }
  }
  RunSequence out;
  out.runs_ = std::move(runs);
  out.tags_behind_ = tags_behind;
  return out;
}

// The end of a match that begins here, or where it went wrong with `first_end` set; null: it is a match.
const char* RunSequence::try_at(const char* at, const char* text, const char* end, Places& places,
                                const char*& first_end) const {
  for (const Run& run : runs_) {
    if (run.tags_before != 0) set_tags(run.tags_before, static_cast<int32_t>(at - text), places);
    const Letters& letters = run.letters;
    const auto takes = [&](const char* place) {
      return place < end && letters[static_cast<unsigned char>(*place) & 0x7f];
    };
    const char* const begin = at;
    if (takes(at)) ++at;
    else if (run.needed) return at;
    if (run.repeats && at != begin)
      while (takes(at)) ++at;
    if (&run == runs_.data()) first_end = at;
  }
  set_tags(tags_behind_, static_cast<int32_t>(at - text), places);
  places[kTags] = static_cast<int32_t>(at - text);
  return nullptr;
}

RunSequence::Found RunSequence::find(std::string_view ascii, size_t from, Places& places) const {
  const char* const text = ascii.data();
  const char* const end = text + ascii.size();
  const Letters& first = runs_[0].letters;
  size_t wasted = 0;
  const size_t most_wasted = 4 * ascii.size() + 256;
  for (const char* at = text + from;;) {
    while (at < end && !first[static_cast<unsigned char>(*at) & 0x7f]) ++at;
    if (at == end) return Found::no;
    places.fill(-1);
    places[0] = static_cast<int32_t>(at - text);
    const char* first_end = at;
    const char* const stopped = try_at(at, text, end, places, first_end);
    if (stopped == nullptr) return Found::yes;
    at = first_end;
    wasted += static_cast<size_t>(stopped - first_end) + 1;
    if (wasted > most_wasted) return Found::unknown;
  }
}

}  // namespace tacho
