#include "katib/read/filter.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "base/text.h"
#include "katib/read/plain_regex.h"
#include "katib/read/regex_class.h"
#include "katib/read/value_rule.h"

namespace tacho {

const char* const kDefaultFilter = R"re(([\w|-]+)\s*=\s*([+-]?\d*(\.\d+)?([Ee][+-]?\d+)?))re";

namespace {

constexpr int64_t kMostRegexBytes = 4 << 20;  // program and DFA states; beyond it the slower automaton runs

constexpr auto kNameLetters = [] {
  std::array<bool, 256> out{};
  for (unsigned c = 0; c < 128; ++c) out[c] = is_word(static_cast<char>(c)) || c == '|' || c == '-';
  return out;
}();
bool is_name(char c) { return kNameLetters[static_cast<unsigned char>(c)]; }

const char* skip_digits(const char* at, const char* end) {
  while (at < end && is_digit(*at)) ++at;
  return at;
}

// [+-]?\d*(\.\d+)?([Ee][+-]?\d+)?
const char* skip_value(const char* at, const char* end) {
  if (at < end && (*at == '+' || *at == '-')) ++at;
  at = skip_digits(at, end);
  if (end - at >= 2 && *at == '.' && is_digit(at[1])) at = skip_digits(at + 1, end);
  if (at < end && (*at == 'e' || *at == 'E')) {
    const char* digits = at + 1;
    if (digits < end && (*digits == '+' || *digits == '-')) ++digits;
    if (digits < end && is_digit(*digits)) at = skip_digits(digits, end);
  }
  return at;
}

// "(?<name>…)", which newer Go takes as "(?P<name>…)" and this RE2 does not.
std::string with_old_group_names(std::string_view text) {
  std::string result;
  bool in_class = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("\\Q")) {
      const size_t end = text.find("\\E", i);
      const size_t length = end == std::string_view::npos ? text.size() - i : end + 2 - i;
      result += text.substr(i, length);
      i += length - 1;
      continue;
    }
    result += text[i];
    if (text[i] == '\\' && i + 1 < text.size()) {
      result += text[++i];
    } else if (in_class) {
      in_class = text[i] != ']';
    } else if (text[i] == '[') {
      in_class = true;
      if (i + 1 < text.size() && text[i + 1] == '^') result += text[++i];
      if (i + 1 < text.size() && text[i + 1] == ']') result += text[++i];  // first in a class it is a plain letter
    } else if (text.substr(i).starts_with("(?<") && i + 3 < text.size() && text[i + 3] != '=' && text[i + 3] != '!') {
      result += "?P<";
      i += 2;
    }
  }
  return result;
}

// Where an unclosed '(' or an unopened ')' stands; nothing when all are in pairs.
std::optional<size_t> unpaired_parenthesis(std::string_view text) {
  std::vector<size_t> open;
  bool in_class = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (in_class) {
      in_class = text[i] != ']';
    } else if (text[i] == '[') {
      in_class = true;
      if (i + 1 < text.size() && text[i + 1] == '^') ++i;
      if (i + 1 < text.size() && text[i + 1] == ']') ++i;
    } else if (text[i] == '(') {
      open.push_back(i);
    } else if (text[i] == ')') {
      if (open.empty()) return i;
      open.pop_back();
    }
  }
  return open.empty() ? std::nullopt : std::optional(open.back());
}

// From 1, in bytes.
size_t fault_position(const std::string& text, const re2::RE2& regex) {
  if (regex.error_code() == re2::RE2::ErrorMissingParen || regex.error_code() == re2::RE2::ErrorUnexpectedParen)
    return unpaired_parenthesis(text).value_or(0) + 1;
  if (regex.error_code() == re2::RE2::ErrorTrailingBackslash) return text.size();
  const size_t at = regex.error_arg().empty() ? std::string::npos : text.find(regex.error_arg());
  return at == std::string::npos ? 1 : at + 1;
}

re2::RE2::Options regex_options() {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kMostRegexBytes);
  return options;
}

std::string_view view(const re2::StringPiece& piece) { return {piece.data(), piece.size()}; }

Error filter_error(const std::string& text, size_t number, const std::string& fault, size_t position) {
  return {Code::invalid,
          "metric filter " + std::to_string(number) + " '" + valid_utf8(text) + "': " + fault + " at position " +
              std::to_string(position),
          "-f", "a filter is a Go regular expression with a group for the name and one for the value"};
}

}  // namespace

bool DefaultMatches::next(FilterMatch& match) {
  const char* from = at_;
  while (from < end_) {
    const char* equals = static_cast<const char*>(std::memchr(from, '=', static_cast<size_t>(end_ - from)));
    if (equals == nullptr) break;
    const char* name_end = equals;
    while (name_end > at_ && is_space(name_end[-1])) --name_end;
    const char* name = name_end;
    while (name > at_ && is_name(name[-1])) --name;
    from = equals + 1;
    if (name == name_end) continue;
    while (from < end_ && is_space(*from)) ++from;
    at_ = skip_value(from, end_);
    match.name = {name, static_cast<size_t>(name_end - name)};
    match.value = {from, static_cast<size_t>(at_ - from)};
    match.behind = {from, static_cast<size_t>(end_ - from)};
    return true;
  }
  at_ = end_;
  return false;
}

Filter::Filter(std::unique_ptr<re2::RE2> regex) : regex_(std::move(regex)) {}
Filter::Filter(Filter&&) noexcept = default;
Filter& Filter::operator=(Filter&&) noexcept = default;
Filter::~Filter() = default;
void Filter::use_re2() { plain_.reset(); }
const RunSequence* Filter::sequence() const { return plain_ && plain_->sequence() ? &*plain_->sequence() : nullptr; }

Result<Filter> Filter::compile(const std::string& text, size_t number) {
  if (text == kDefaultFilter) return Filter(nullptr);
  auto regex = std::make_unique<re2::RE2>(with_old_group_names(text), regex_options());
  if (!regex->ok()) return filter_error(text, number, regex->error(), fault_position(text, *regex));
  const int groups = regex->NumberOfCapturingGroups();
  if (groups < 2)
    return filter_error(text, number,
                        std::string("it has ") + (groups == 0 ? "no group" : "one group") + ", two are needed, seen",
                        text.size());
  Filter out(std::move(regex));
  out.plain_ = PlainRegex::compile(with_old_group_names(text));
  return out;
}

// The first match at or behind `at`; its groups are not trimmed.
bool Filter::find_next(std::string_view line, size_t at, bool plain, FilterMatch& match, size_t& begin, size_t& end) {
  if (plain && plain_) {
    PlainRegex::Match found;
    const PlainRegex::Found result = plain_->find(line, at, found);
    if (result != PlainRegex::Found::too_large) {
      const auto group = [&](int32_t from, int32_t to) {
        return from < 0 || to < from ? std::string_view()
                                     : line.substr(static_cast<size_t>(from), static_cast<size_t>(to - from));
      };
      match.name = group(found.first_begin, found.first_end);
      match.value = group(found.second_begin, found.second_end);
      begin = static_cast<size_t>(found.begin);
      end = static_cast<size_t>(found.end);
      return result == PlainRegex::Found::yes;
    }
    plain_.reset();
  }
  std::array<re2::StringPiece, 3> groups;
  if (!regex_->Match({line.data(), line.size()}, at, line.size(), re2::RE2::UNANCHORED, groups.data(), 3)) return false;
  begin = static_cast<size_t>(groups[0].data() - line.data());
  end = begin + groups[0].size();
  match.name = view(groups[1]);
  match.value = view(groups[2]);
  return true;
}

// All matches from `at` on where no automaton is needed; none is empty. False when `visit` ended it. unknown: the rest,
// from `at`, has to be searched in another way.
bool Filter::find_sequences(std::string_view line, const Visit& visit, size_t& at, bool& unknown) const {
  RunSequence::Match found;
  for (;;) {
    const RunSequence::Found result = plain_->sequence()->find(line, line.data() + at, found);
    unknown = result == RunSequence::Found::unknown;
    if (result != RunSequence::Found::yes) return true;
    at = static_cast<size_t>(found.end - line.data());
    if (!visit({trim_unicode(found.first), trim_unicode(found.second), {}})) return false;
  }
}

// A match that is empty and touches the end of the one before is none; behind an empty one the search goes on with the
// next character.
bool Filter::find_all(std::string_view line, const Visit& visit, bool is_ascii) {
  FilterMatch match;
  if (is_default()) {
    DefaultMatches matches(line);
    while (matches.next(match))
      if (!visit(match)) return false;
    return true;
  }
  const bool plain = plain_ && (is_ascii || std::none_of(line.begin(), line.end(),
                                                         [](char c) { return static_cast<signed char>(c) < 0; }));
  constexpr size_t kNone = std::string_view::npos;
  size_t at = 0;
  if (plain && plain_->sequence()) {
    bool unknown = false;
    if (!find_sequences(line, visit, at, unknown)) return false;
    if (!unknown) return true;
  }
  for (size_t end_before = at > 0 ? at : kNone, begin = 0, end = 0; at <= line.size();) {
    if (!find_next(line, at, plain, match, begin, end)) return true;
    const bool taken = end != at || begin != end_before;
    if (end != at) {
      at = end;
    } else {
      at += at < line.size() ? std::max<size_t>(1, utf8_length(line.substr(at))) : 1;
    }
    end_before = end;
    if (!taken) continue;
    match.name = trim_unicode(match.name);
    match.value = trim_unicode(match.value);
    if (!visit(match)) return false;
  }
  return true;
}

Result<std::vector<Filter>> compile_filters(const std::vector<std::string>& texts) {
  std::vector<Filter> filters;
  for (const std::string& text : texts) {
    auto filter = Filter::compile(text, filters.size() + 1);
    if (!filter) return filter.error();
    filters.push_back(std::move(*filter));
  }
  if (filters.empty()) filters.push_back(std::move(*Filter::compile(kDefaultFilter, 1)));
  return filters;
}

Result<WholeMatch> WholeMatch::compile(const std::string& text) {
  WholeMatch whole;
  auto regex = std::make_shared<re2::RE2>(with_old_group_names(text), regex_options());
  if (!regex->ok())
    return Error{Code::invalid,
                 "regular expression '" + valid_utf8(text) + "': " + regex->error() + " at position " +
                     std::to_string(fault_position(text, *regex)),
                 "", ""};
  whole.regex_ = std::move(regex);
  return whole;
}

bool WholeMatch::matches(std::string_view text) const {
  return re2::RE2::FullMatch(re2::StringPiece(text.data(), text.size()), *regex_);
}

}  // namespace tacho
