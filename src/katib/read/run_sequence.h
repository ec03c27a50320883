// The simplest plain expressions, which most users' filters are: one class of letters behind the other, each once, ?, *
// or + times, as in (\w+)=([-+0-9.eE]+) or (\w+):\s*(\d+). Where no class takes a letter that could begin what follows
// it, there is one way only to read a text, and it is read by loops over classes, without an automaton. Found from the
// program of such an expression (plain_regex.h). Thread-safe once made.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tacho {

class RunSequence {
 public:
  using Letters = std::array<bool, 128>;
  static constexpr size_t kTags = 5;  // begin of the match, begin and end of two groups
  struct Run {
    Letters letters{};
    bool needed = true, repeats = false;
    uint8_t tags_before = 0;  // a bit for each tag that is set where the run begins
  };
  using Places = std::array<int32_t, kTags + 1>;  // the tags, and the end

  // Nothing where it would have to be read by an automaton. `tags_behind`: those behind the last run.
  static std::optional<RunSequence> make(std::vector<Run> runs, uint8_t tags_behind);

  enum class Found { no, yes, unknown };
  // The first match at or behind `from`. unknown: it takes too long this way, since a failed try reads far ahead.
  Found find(std::string_view ascii, size_t from, Places& places) const;

 private:
  RunSequence() = default;
  const char* try_at(const char* at, const char* text, const char* end, Places& places, const char*& first_end) const;

  std::vector<Run> runs_;
  uint8_t tags_behind_ = 0;
};

}  // namespace tacho
