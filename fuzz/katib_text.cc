// A line of a TEXT log: the default filter's own matcher against its regular expression, time stamps, values.
#include <string>

#include "base/text.h"
#include "katib/read/filter.h"
#include "katib/read/needles.h"
#include "katib/read/utc_time.h"
#include "katib/read/value_rule.h"
#include "target.h"

void fuzz_one(std::string_view text) {
  static tacho::Filter fast = std::move(*tacho::Filter::compile(tacho::kDefaultFilter, 1));
  static tacho::Filter regex = std::move(*tacho::Filter::compile(std::string("(?:") + tacho::kDefaultFilter + ")", 1));
  static tacho::Filter empty = std::move(*tacho::Filter::compile("(a*)(=?)", 1));
  static tacho::Filter plain = std::move(*tacho::Filter::compile("(\\w+)[ =:]+([-+]?[0-9.]+|nan)", 1)),
                       plain_re2 = std::move(*tacho::Filter::compile("(\\w+)[ =:]+([-+]?[0-9.]+|nan)", 1));
  regex.use_re2();
  plain_re2.use_re2();
  const std::string line = tacho::valid_utf8(text);
  std::string three, four;
  plain.find_all(line, [&](const tacho::FilterMatch& match) {
    return three.append(match.name).append(1, '\0').append(match.value), true;
  });
  plain_re2.find_all(line, [&](const tacho::FilterMatch& match) {
    return four.append(match.name).append(1, '\0').append(match.value), true;
  });
  require(three == four);
  std::string one, two;
  fast.find_all(line, [&](const tacho::FilterMatch& match) {
    require(is_inside(match.name, line) && is_inside(match.value, line));
    one.append(match.name).append(1, '\0').append(match.value).append(1, '\0');
    return true;
  });
  regex.find_all(line, [&](const tacho::FilterMatch& match) {
    two.append(match.name).append(1, '\0').append(match.value).append(1, '\0');
    return true;
  });
  require(one == two);
  size_t matches = 0;
  empty.find_all(line, [&](const tacho::FilterMatch&) { return ++matches > 0; });
  require(matches <= line.size() + 1);

  tacho::TimeStamp stamp(text);
  require(stamp.text() == text);
  if (const auto time = tacho::decimal_seconds(text)) tacho::utc_microseconds(time->first, time->second);
  require(is_inside(tacho::trim_unicode(text), text));
  tacho::non_finite(text);

  const size_t half = text.size() / 2, size = text.size() < 4 ? 1 : 3;
  if (text.empty()) return;
  const tacho::Needle needle{std::string(text.substr(half, size))};
  const char* found = needle.find(text.data(), text.data() + text.size());
  require(found == text.data() + text.find(needle.word()));
}
