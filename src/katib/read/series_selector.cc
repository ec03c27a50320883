#include "katib/read/series_selector.h"

#include "base/text.h"
#include "katib/read/exposition.h"

namespace tacho {
namespace {

Error selector_error(const std::string& text, const std::string& fault) {
  return {Code::invalid, "metric '" + valid_utf8(text) + "': " + fault, "-m",
          "a scraped metric is called name or name{label=\"value\",…}, with =, !=, =~ or !~"};
}

// A string in double quotes at the front of text; false when it is none.
bool take_quoted(std::string_view& text, std::string& value) {
  if (!text.starts_with('"')) return false;
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return true;
    }
    const bool escape =
        text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == '\\' || text[i + 1] == '"' || text[i + 1] == 'n');
    if (escape) ++i;
    value += escape && text[i] == 'n' ? '\n' : text[i];
  }
  return false;
}

bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

}  // namespace

Result<SeriesSelector> SeriesSelector::parse(const std::string& text) {
  SeriesSelector selector;
  std::string_view rest = trim(text);
  const size_t size = name_length(rest, true);
  if (size == 0) return selector_error(text, "it does not begin with a name");
  selector.name_ = rest.substr(0, size);
  rest = trim(rest.substr(size));
  if (rest.empty()) return selector;
  if (!take(rest, "{")) return selector_error(text, "'" + valid_utf8(rest.substr(0, 1)) + "' cannot stand in a name");
  selector.has_matchers_ = true;
  for (rest = trim(rest); !take(rest, "}"); rest = trim(rest)) {
    Matcher matcher;
    const size_t label = name_length(rest, false);
    if (label == 0) return selector_error(text, "a label's name or } is missing");
    matcher.label = rest.substr(0, label);
    rest = trim(rest.substr(label));
    if (take(rest, "=~")) matcher.op = Operator::matches;
    else if (take(rest, "!~")) matcher.op = Operator::not_matches;
    else if (take(rest, "!=")) matcher.op = Operator::not_equal;
    else if (!take(rest, "="))
      return selector_error(text, "behind " + matcher.label + " there is none of =, !=, =~, !~");
    rest = trim(rest);
    if (!take_quoted(rest, matcher.value))
      return selector_error(text, "the value of " + matcher.label + " is not in double quotes");
    if (matcher.op == Operator::matches || matcher.op == Operator::not_matches) {
      auto regex = WholeMatch::compile(matcher.value);
      if (!regex) return selector_error(text, regex.error().what);
      matcher.regex = std::move(*regex);
    }
    selector.matchers_.push_back(std::move(matcher));
    rest = trim(rest);
    if (!take(rest, ",") && !rest.starts_with('}')) return selector_error(text, "a comma or } is missing");
  }
  if (!rest.empty()) return selector_error(text, "there is more behind }");
  return selector;
}

bool SeriesSelector::Matcher::fits(std::string_view label_value) const {
  switch (op) {
    case Operator::equal: return label_value == value;
    case Operator::not_equal: return label_value != value;
    case Operator::matches: return regex.matches(label_value);
    case Operator::not_matches: return !regex.matches(label_value);
  }
  return false;
}

bool SeriesSelector::matches(std::string_view labels) const {
  for (const Matcher& matcher : matchers_) {
    Labels all(labels);
    std::string_view name, value;
    bool fits = matcher.fits("");
    while (all.next(name, value))
      if (name == matcher.label) fits = matcher.fits(value);
    if (!fits) return false;
  }
  return true;
}

}  // namespace tacho
