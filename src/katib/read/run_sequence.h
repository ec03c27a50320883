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
  struct Match {
    std::string_view first, second;  // the groups
    const char* end = nullptr;
  };

  // Nothing where it would have to be read by an automaton. `tags_behind`: those behind the last run.
  static std::optional<RunSequence> make(const std::vector<Run>& runs, uint8_t tags_behind);

  enum class Found { no, yes, unknown };
  // The first match at or behind `from`. unknown: it takes too long this way, since a failed try reads far ahead.
  Found find(std::string_view ascii, const char* from, Match& match) const;
  // The match that the letter at `at` is part of, in [from, end), where a search may begin at `from`. no: there is
  // none, and match.end is set to where a search may go on. unknown: what stands before `at` has to be read for that.
  Found find_around(const char* at, const char* from, const char* end, Match& match) const;

 private:
  static constexpr size_t kMostRuns = 16;
  using Places = std::array<const char*, kMostRuns + 1>;  // where each run begins, and the end

  RunSequence() = default;
  unsigned takers(char letter) const { return takers_[static_cast<unsigned char>(letter)]; }
  const char* try_at(const char* at, const char* end, Places& places) const;
  Match match_of(const Places& places) const;

  std::array<uint16_t, 256> takers_{};  // for each letter a bit for each run that takes it
  std::array<uint8_t, kTags> tags_{};   // for each tag the run where it is set
  std::array<bool, kMostRuns> needed_{}, repeats_{};
  size_t runs_ = 0;
};

}  // namespace tacho
