#include "report/store/marks.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "codec/csv_text.h"
#include "os/file.h"
#include "os/owned_folder.h"

namespace tacho {
namespace {

constexpr size_t kLongestMarkLine = 4096;
// Anybody may write there: what has no line end for so long is another kind of file, or a hole of a terabyte.
constexpr size_t kEndlessLine = size_t{1} << 20;
constexpr double kLatest_s = 9e9;

std::optional<MarkEvent> event_of(std::string_view word) {
  for (const MarkEvent event : {MarkEvent::phase, MarkEvent::end, MarkEvent::point})
    if (word == event_word(event)) return event;
  return std::nullopt;
}

std::optional<Mark> mark_of(std::string_view line) {
  const std::string_view time = csv_field(line, 0), word = csv_field(line, 1), name = csv_field(line, 2);
  const auto time_s = parse_double(time);
  const auto event = event_of(csv_value(word));
  if (!time_s || !(*time_s >= 0 && *time_s < kLatest_s) || !event) return std::nullopt;
  const size_t fields_end = time.size() + 1 + word.size() + (name.empty() ? 0 : 1 + name.size());
  if (fields_end < line.size() && line.substr(fields_end) != ",") return std::nullopt;  // more than three
  Mark mark{*time_s, *event, csv_line_text(csv_value(name), kLongestMark)};
  if (*event == MarkEvent::end) mark.name.clear();
  else if (trim(mark.name).empty()) return std::nullopt;
  return mark;
}

}  // namespace

std::string_view event_word(MarkEvent event) {
  switch (event) {
    case MarkEvent::phase: return "phase";
    case MarkEvent::end: return "end";
    case MarkEvent::point: break;
  }
  return "point";
}

bool MarksParser::take(std::string_view piece) {
  for (size_t end = piece.find('\n'); end != std::string_view::npos; end = piece.find('\n')) {
    if (too_long_ || rest_.size() + end > kLongestMarkLine) ++marks_.dropped;
    else if (rest_.empty()) take_line(piece.substr(0, end));
    else take_line(rest_.append(piece.substr(0, end)));
    rest_.clear();
    since_end_ = 0;
    too_long_ = first_ = false;
    piece.remove_prefix(end + 1);
  }
  too_long_ = too_long_ || rest_.size() + piece.size() > kLongestMarkLine;
  if (!too_long_) rest_.append(piece);
  since_end_ += piece.size();
  return since_end_ < kEndlessLine;
}

void MarksParser::take_line(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (first_ && line == kMarksHeader) return;
  auto mark = marks_.marks.size() < kMostMarks ? mark_of(line) : std::nullopt;
  if (mark) marks_.marks.push_back(std::move(*mark));
  else ++marks_.dropped;
}

Marks MarksParser::finish() {
  if (too_long_ || !rest_.empty()) ++marks_.dropped;  // a line without its end is torn
  std::stable_sort(marks_.marks.begin(), marks_.marks.end(),
                   [](const Mark& a, const Mark& b) { return a.time_s < b.time_s; });
  return std::move(marks_);
}

Marks read_marks(const std::string& folder) {
  const auto owned = OwnedFolder::open(folder);
  if (!owned) return {};
  MarksParser parser;
  if (!owned->read_pieces(kMarksFileName, [&](std::string_view piece) { return parser.take(piece); })) return {};
  return parser.finish();
}

Marks look_at_marks(const std::string& folder) {
  const auto file = open_plain_file(folder + "/" + kMarksFileName);
  if (!file) return {};
  MarksParser parser;
  std::array<char, 16 * 1024> piece;
  for (ssize_t got; (got = ::read(file->get(), piece.data(), piece.size())) > 0;)
    if (!parser.take({piece.data(), static_cast<size_t>(got)})) break;
  return parser.finish();
}

}  // namespace tacho
