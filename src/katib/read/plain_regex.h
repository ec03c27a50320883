// The plain regular expressions that most metric filters are: literals, classes, groups, ? * + {n,m} (also lazy) and |,
// over ASCII text. Everything else is left to RE2, which finds the same: this is for speed, since RE2 reads a text
// three times to find groups. Here it is read once: an automaton whose states are ordered lists of threads, made when
// they are first met; what a thread remembers (where groups begin and end) is kept in registers that move with it. A
// thread stands after the letter that it took last: what must be done before the next letter is done together with that
// letter, so that most letters move nothing. Not thread-safe.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "katib/read/run_sequence.h"

namespace tacho {

class PlainRegex {
 public:
  static constexpr int32_t kNone = -1;
  struct Match {
    int32_t begin = kNone, first_begin = kNone, first_end = kNone, second_begin = kNone, second_end = kNone,
            end = kNone;
  };
  enum class Found { no, yes, too_large };

  // Null when the expression is not of this kind. The expression is valid: RE2 has compiled it.
  static std::unique_ptr<PlainRegex> compile(std::string_view text);

  // The first match at or behind `from` as Perl has it: leftmost, then by preference. `text` is ASCII and below 2 GiB.
  // too_large: the automaton would need too many states, now and ever after.
  Found find(std::string_view text, size_t from, Match& match);

  // Where no automaton is needed, a faster way to the same matches; both groups are in every one.
  const std::optional<RunSequence>& sequence() const { return sequence_; }

  // The part of [from, end) around `at` that no match reaches beyond: up to letters on both sides that no part of the
  // expression takes. A search in this part finds the same as a search in the whole.
  std::string_view part_round(const char* at, const char* from, const char* end) const;

 private:
  static constexpr size_t kTags = 5;  // begin of the match, begin and end of two groups
  struct Step {                       // of the program
    enum class Kind : uint8_t { letter, split, save, jump, match } kind;
    uint8_t tag = 0;
    int32_t next = 0, other = 0;  // split: `next` is preferred
    std::array<bool, 128> letters{};
  };
  using Slots = std::array<int16_t, kTags>;
  // A thread's slot gets the value of another slot, or where the text was before the letter, or nothing.
  struct Move {
    int16_t to, from;
    static constexpr int16_t kHere = -1, kNothing = -2;
  };
  struct Edge {
    static constexpr int32_t kUnknown = -1;
    static constexpr uint8_t kMoves = 1, kMatch = 2, kEnd = 4;
    int32_t row = kUnknown;  // where the edges of the state begin that it leads to
    uint32_t first_move = 0;
    uint16_t moves = 0;
    uint8_t what = 0;  // of the above: what is to be done on the way to the state
  };
  // What a thread can do next: take a letter, or be a match; with these tags here.
  struct Way {
    int32_t step;
    Slots slots;  // where each tag comes from, as in Move
  };
  struct State {
    std::vector<Way> ways;  // the preferred first
    bool open = true;       // a match may still begin here or later
    bool is_match = false;
    Slots match{};  // of the thread that is one
  };
  friend class PlainParser;

  PlainRegex() = default;
  void make_classes();
  std::optional<RunSequence> as_sequence() const;
  bool follow(int32_t step, Slots slots, State& state, std::vector<bool>& seen) const;
  int32_t state_of(const std::vector<int32_t>& threads, bool open);
  bool make_edge(int32_t state, unsigned letter_class);
  void move(const Edge& edge, int32_t here);

  std::vector<Step> program_;
  std::optional<RunSequence> sequence_;
  std::array<uint8_t, 128> classes_{};
  std::array<bool, 256> taken_{};             // letters that some step takes
  std::vector<unsigned char> class_letters_;  // one letter of each class
  std::vector<State> states_;
  std::vector<Edge> edges_;  // of each state one for each class
  std::map<std::pair<std::vector<int32_t>, bool>, int32_t> known_;
  std::vector<Move> moves_;
  std::vector<int32_t> registers_, before_;
  bool too_large_ = false;
};

}  // namespace tacho
