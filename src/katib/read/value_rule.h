// What becomes of a metric's value before it is a row: white space, empty values, NaN and infinities. Not thread-safe.
#pragma once
#include <optional>
#include <string_view>

#include "katib/read/reader_options.h"

namespace tacho {

// Without the white space of Unicode at both ends.
std::string_view trim_unicode(std::string_view text);

// "nan", "inf", "infinity" with or without a sign, in any case, and nothing else: "NaN", "+Inf" or "-Inf".
std::optional<std::string_view> non_finite(std::string_view text);
// The same at the beginning of `text`, as a word of its own: what the default filter leaves behind "loss=".
std::optional<std::string_view> leading_non_finite(std::string_view text);

class ValueRule {
 public:
  explicit ValueRule(NonFinite non_finite) : policy_(non_finite) {}

  // The value to report, or nothing. `behind`, only after the default filter, is the text from the value's beginning to
  // the end of the line.
  std::optional<std::string_view> judge(std::string_view metric, std::string_view value, std::string_view behind = {});
  void count(ReaderCounts& counts) const;

 private:
  NonFinite policy_;
  uint64_t empty_ = 0, non_finite_ = 0;
};

}  // namespace tacho
