// Metric filters: Go regular expressions whose first group is a metric's name and whose second is its value, found as
// Go's find-all does. The default filter and plain ones (plain_regex.h) have matchers of their own, which find the same
// as RE2. Not thread-safe.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace re2 {
class RE2;
}

namespace tacho {

class PlainRegex;
class RunSequence;

// Used where no filter is given.
extern const char* const kDefaultFilter;

struct FilterMatch {
  std::string_view name, value;  // trimmed
  std::string_view behind;       // from the value to the line's end; only by the default filter
};

// The matches of the default filter, one after the other:  ([\w|-]+)\s*=\s*([+-]?\d*(\.\d+)?([Ee][+-]?\d+)?)
// Names, white space and '=' share no character, so a match is a '=' with a run of name characters before it; every
// part of the value is optional and greedy, so it never has to be taken back. All of it is ASCII: bytes that are no
// UTF-8 end a run.
class DefaultMatches {
 public:
  explicit DefaultMatches(std::string_view line) : at_(line.data()), end_(at_ + line.size()) {}
  bool next(FilterMatch& match);

 private:
  const char* at_;  // where the last match ended
  const char* end_;
};

class Filter {
 public:
  using Visit = std::function<bool(const FilterMatch&)>;  // false: no further matches are wanted

  // An error names `number` (from 1), the text and where in it the fault is.
  static Result<Filter> compile(const std::string& text, size_t number);
  // Matches every line by RE2: the faster ways are tested against this.
  void use_re2();
  bool is_plain() const { return plain_ != nullptr; }
  const PlainRegex* plain() const { return plain_.get(); }
  const RunSequence* sequence() const;  // null where an automaton is needed
  Filter(Filter&&) noexcept;
  Filter& operator=(Filter&&) noexcept;
  ~Filter();

  bool is_default() const { return regex_ == nullptr; }
  // `line` is valid UTF-8, unless this is the default filter; `is_ascii`: for sure.
  // False when `visit` ended it.
  bool find_all(std::string_view line, const Visit& visit, bool is_ascii = false);

 private:
  explicit Filter(std::unique_ptr<re2::RE2> regex);
  bool find_sequences(std::string_view line, const Visit& visit, size_t& at, bool& unknown) const;
  bool find_next(std::string_view line, size_t at, bool plain, FilterMatch& match, size_t& begin, size_t& end);
  std::unique_ptr<re2::RE2> regex_;  // null: the default filter
  std::unique_ptr<PlainRegex> plain_;
};

// All of -f; the default filter when there are none.
Result<std::vector<Filter>> compile_filters(const std::vector<std::string>& texts);

// A regular expression that must match the whole text, for label matchers. Thread-safe.
class WholeMatch {
 public:
  static Result<WholeMatch> compile(const std::string& text);
  bool matches(std::string_view text) const;

 private:
  std::shared_ptr<const re2::RE2> regex_;
};

}  // namespace tacho
