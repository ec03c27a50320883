#include "katib/read/value_rule.h"

#include "base/log.h"
#include "katib/read/regex_class.h"

namespace tacho {
namespace {

// Length of the white space at the front of text, as Unicode has it (Go: unicode.IsSpace); 0 when there is none.
size_t space_length(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0);
  if (first == ' ' || (first >= '\t' && first <= '\r')) return 1;
  if (first == 0xC2) return byte(1) == 0x85 || byte(1) == 0xA0 ? 2 : 0;  // U+0085, U+00A0
  if (first == 0xE1) return byte(1) == 0x9A && byte(2) == 0x80 ? 3 : 0;  // U+1680
  if (first == 0xE3) return byte(1) == 0x80 && byte(2) == 0x80 ? 3 : 0;  // U+3000
  if (first != 0xE2) return 0;
  if (byte(1) == 0x81) return byte(2) == 0x9F ? 3 : 0;  // U+205F
  const unsigned third = byte(2);                       // U+2000–200A, 2028, 2029, 202F
  return byte(1) == 0x80 && ((third >= 0x80 && third <= 0x8A) || third == 0xA8 || third == 0xA9 || third == 0xAF) ? 3
                                                                                                                  : 0;
}

size_t space_length_at_end(std::string_view text) {
  for (size_t length = 1; length <= 3 && length <= text.size(); ++length)
    if (space_length(text.substr(text.size() - length)) == length) return length;
  return 0;
}

bool starts_with_word(std::string_view text, std::string_view word) {
  if (text.size() < word.size()) return false;
  for (size_t i = 0; i < word.size(); ++i)
    if ((text[i] | 0x20) != word[i]) return false;
  return true;
}

// The non-finite number at the front; `length` is how long it is.
std::optional<std::string_view> find_front(std::string_view text, size_t& length) {
  const bool negative = text.starts_with('-');
  const size_t sign = negative || text.starts_with('+') ? 1 : 0;
  const std::string_view word = text.substr(sign);
  if (starts_with_word(word, "nan")) return length = sign + 3, "NaN";
  if (!starts_with_word(word, "inf")) return std::nullopt;
  length = sign + (starts_with_word(word, "infinity") ? 8 : 3);
  return negative ? "-Inf" : "+Inf";
}

}  // namespace

std::string_view trim_unicode(std::string_view text) {
  // Nearly every text begins and ends with a letter of ASCII that is no white space.
  const auto stays = [](char c) { return static_cast<unsigned char>(c) > ' ' && static_cast<unsigned char>(c) < 0x80; };
  if (!text.empty() && stays(text.front()) && stays(text.back())) return text;
  while (const size_t length = space_length(text)) text.remove_prefix(length);
  while (const size_t length = space_length_at_end(text)) text.remove_suffix(length);
  return text;
}

std::optional<std::string_view> non_finite(std::string_view text) {
  size_t length = 0;
  const auto found = find_front(text, length);
  return found && length == text.size() ? found : std::nullopt;
}

std::optional<std::string_view> leading_non_finite(std::string_view text) {
  size_t length = 0;
  const auto found = find_front(text, length);
  return found && (length == text.size() || !is_word(text[length])) ? found : std::nullopt;
}

std::optional<std::string_view> ValueRule::judge(std::string_view metric, std::string_view value,
                                                 std::string_view behind) {
  // Nearly every value begins with a digit, and then nothing is asked.
  if (!value.empty() &&
      ((value[0] >= '0' && value[0] <= '9') || (value.size() > 1 && value[1] >= '0' && value[1] <= '9')))
    return value;
  const bool cut = value.empty() || value == "+" || value == "-";
  const auto special = cut && !behind.empty() ? leading_non_finite(behind) : non_finite(trim_unicode(value));
  if (!special) {
    if (!value.empty()) return value;
    ++empty_;
    log::warn("metric " + std::string(metric) +
              " has an empty value in the source; it is not reported (print a number behind the name)");
    return std::nullopt;
  }
  ++non_finite_;
  switch (policy_) {
    case NonFinite::report: return special;
    case NonFinite::unavailable: return "unavailable";
    case NonFinite::drop: break;
  }
  log::warn("metric " + std::string(metric) +
            " was NaN or infinite; such values are not reported (--nonfinite report sends them)");
  return std::nullopt;
}

void ValueRule::count(ReaderCounts& counts) const {
  counts.empty_values = empty_;
  counts.non_finite = non_finite_;
}

}  // namespace tacho
