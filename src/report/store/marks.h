// marks.csv of a run folder: what the job said about itself (`tacho mark`, or any program that appends a line). Comes
// from outside: bounded, lines that make no sense are passed over and counted. Thread-safe (no state).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tacho {

enum class MarkEvent : uint8_t { phase, end, point };

struct Mark {
  double time_s = 0;  // UNIX time
  MarkEvent event = MarkEvent::point;
  std::string name;  // harmless, at most kLongestMark bytes; of an end: empty
};

struct Marks {
  std::vector<Mark> marks;  // by time
  int64_t dropped = 0;      // broken, or beyond what is used
};

inline constexpr std::string_view kMarksHeader = "timestamp,event,name";
inline constexpr char kMarksFileName[] = "marks.csv";
inline constexpr size_t kMostMarks = 10'000;
inline constexpr size_t kLongestMark = 256;

std::string_view event_word(MarkEvent event);

// Takes the file in pieces of any size.
class MarksParser {
 public:
  bool take(std::string_view piece);  // false: that is enough
  Marks finish();

 private:
  void take_line(std::string_view line);

  Marks marks_;
  std::string rest_;       // of a line whose end has not come yet
  size_t since_end_ = 0;   // bytes
  bool too_long_ = false;  // that line
  bool first_ = true;
};

// Of a folder of ours; empty when there is none.
Marks read_marks(const std::string& folder);
// Of anybody's, to show them.
Marks look_at_marks(const std::string& folder);

}  // namespace tacho
