// Which series a metric's name in -m asks for: "loss", or "loss{job=\"a\",le!~\"0.*\"}" with =, !=, =~, !~. A label
// that a series does not have is empty. Thread-safe after parsing.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "katib/read/filter.h"

namespace tacho {

class SeriesSelector {
 public:
  static Result<SeriesSelector> parse(const std::string& text);

  const std::string& name() const { return name_; }
  bool has_matchers() const { return has_matchers_; }
  // Do the labels, as written between the braces, fit?
  bool matches(std::string_view labels) const;

 private:
  enum class Operator { equal, not_equal, matches, not_matches };
  struct Matcher {
    std::string label, value;
    Operator op = Operator::equal;
    WholeMatch regex;
    bool fits(std::string_view label_value) const;
  };
  std::string name_;
  bool has_matchers_ = false;
  std::vector<Matcher> matchers_;
};

}  // namespace tacho
