// The one reader of command lines: a program gives its table of flags and its rules, and is told word by word what
// stands there. What a flag means, and what is said of a fault, is the program's own. Not thread-safe; the arguments
// and the table must outlive it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tacho {

struct Flag {
  enum class Kind : uint8_t {
    text,    // needs a value: --name VALUE or --name=VALUE
    yes_no,  // a switch: alone it means "true", and it takes =VALUE
    bare,    // a switch that takes no value
  };
  std::string_view name;  // without dashes
  Kind kind = Kind::text;
  char letter = 0;           // -x is the same; 0: none
  std::string_view value{};  // what stands for the value in the help
  std::string_view help{};
};

struct FlagRules {
  enum class Dashes : uint8_t {
    none,   // a lone -- is a flag that nobody knows
    words,  // only words follow it
    end,    // nobody looks at what follows it
  };
  Dashes dashes = Dashes::none;
  bool first_word_ends = false;       // all that follows the first word belongs to it: tacho run -i 1 make -j8
  bool one_dash = false;              // -name is --name, as Go has it
  bool clusters = false;              // -qi0.5 is -q -i 0.5
  bool switch_takes_word = false;     // --tls false: a word behind a yes_no is its value
  bool known_is_no_value = false;     // --output --quiet is a forgotten value, not a file named --quiet
  bool lone_dash_is_unknown = false;  // otherwise - is a word
  bool comment_is_word = false;       // "-- what it asks\nSELECT 1" is SQL, not an option
};

// What the reader met.
struct FlagWord {
  enum class Kind : uint8_t { flag, word, unknown, no_value, stray_value };
  Kind kind = Kind::word;
  const Flag* flag = nullptr;  // of flag, no_value and stray_value
  std::string_view word;       // as it was written, whole
  std::string name;            // as it was written, with its dashes, without =VALUE
  std::string value;
};

class FlagReader {
 public:
  FlagReader(std::span<const std::string> arguments, std::span<const Flag> known, FlagRules rules)
      : arguments_(arguments), known_(known), rules_(rules) {}

  // False at the end. After a fault whoever goes on gets what follows it.
  bool next();
  const FlagWord& operator*() const { return met_; }
  const FlagWord* operator->() const { return &met_; }
  bool in_cluster() const { return letter_at_ > 0; }  // more of this word follows
  bool dashes() const { return dashes_; }             // a -- that the rules know has been passed

 private:
  bool long_flag(std::string_view word);
  bool cluster();
  bool meet(FlagWord::Kind kind, const Flag* flag = nullptr, std::string_view value = {});
  bool meet_switch(const Flag& flag);
  bool take_next(const Flag& flag);
  const Flag* find(std::string_view name) const;
  const Flag* find_letter(char letter) const;

  std::span<const std::string> arguments_;
  std::span<const Flag> known_;
  FlagRules rules_;
  size_t at_ = 0;         // the next word
  size_t letter_at_ = 0;  // in a cluster, the next letter; 0: in none
  bool only_words_ = false, dashes_ = false;
  FlagWord met_;
};

// "did you mean --name?", or what to do otherwise.
std::string nearest_flag(std::string_view word, std::span<const Flag> known, std::string_view otherwise);

// A line of a table: a flag beside what is done with its value; false: the value is not usable.
template <class Settings>
struct SettingFlag {
  const char* name;
  const char* value;  // nullptr: a switch
  const char* help;
  std::function<bool(Settings&, const std::string&)> set;
  char letter = 0;
};
template <class Settings>
std::vector<Flag> flags_of(std::span<const SettingFlag<Settings>> table) {
  std::vector<Flag> flags;
  for (const auto& line : table)
    flags.push_back({line.name, line.value == nullptr ? Flag::Kind::yes_no : Flag::Kind::text, line.letter,
                     line.value == nullptr ? "" : line.value, line.help});
  return flags;
}

// "  --name VALUE   help", a line a flag. The help begins at this column, and at least `gap` blanks behind the flag.
std::string flags_help(std::span<const Flag> flags, size_t column, size_t gap);

}  // namespace tacho
