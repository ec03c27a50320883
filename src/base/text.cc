#include "base/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace tacho {
namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
char lower_char(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string_view take_part(std::string_view& text, char separator) {
  const std::string_view part = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(text.size(), part.size() + 1));
  return part;
}

std::string_view unquoted(std::string_view text) {
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front())
    return text.substr(1, text.size() - 2);
  return text;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), lower_char);
  return result;
}

std::optional<double> parse_double(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

std::optional<bool> parse_bool(std::string_view text) {
  const std::string word = lower(trim(text));
  if (word == "1" || word == "true" || word == "yes" || word == "on") return true;
  if (word.empty() || word == "0" || word == "false" || word == "no" || word == "off") return false;
  return std::nullopt;
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitute = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, substitute});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  std::string_view best;
  if (word.empty()) return best;
  const std::string low = lower(word);
  // Two changes make any short word of any other.
  size_t best_distance = (word.size() < 5 ? 1 : std::max<size_t>(2, word.size() / 3)) + 1;
  const auto differs_by = [&](std::string_view text) {
    return std::max(text.size(), word.size()) - std::min(text.size(), word.size());
  };
  for (const std::string_view candidate : candidates) {
    const std::string low_candidate = lower(candidate);
    size_t distance = edit_distance(low, low_candidate);
    // A word cut short is a near miss too: "--inter" for "--interval".
    if (word.size() >= 3 && low_candidate.starts_with(low)) distance = std::min<size_t>(distance, 1);
    const bool is_as_near = distance == best_distance && !best.empty();
    if (distance < best_distance || (is_as_near && differs_by(candidate) < differs_by(best))) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string_view start_of(std::string_view text, size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && continues_character(text[bytes])) --bytes;
  return text.substr(0, bytes);
}

size_t count_characters(std::string_view utf8) {
  return utf8.size() - static_cast<size_t>(std::count_if(utf8.begin(), utf8.end(), continues_character));
}

size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xF0 && first <= 0xF4  ? 4
                        : first >= 0xE0 && first < 0xF0 ? 3
                        : first >= 0xC2 && first < 0xE0 ? 2
                                                        : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i)
    if (!continues_character(text[i])) return 0;
  const unsigned second = byte(1);
  if (first == 0xE0 && second < 0xA0) return 0;  // overlong
  if (first == 0xED && second > 0x9F) return 0;  // surrogate
  if (first == 0xF0 && second < 0x90) return 0;  // overlong
  if (first == 0xF4 && second > 0x8F) return 0;  // beyond U+10FFFF
  return length;
}

std::string valid_utf8(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) {
      result += "\xEF\xBF\xBD";
      text.remove_prefix(1);
    } else {
      result += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return result;
}

std::string harmless_text(std::string_view text) {
  std::string harmless = valid_utf8(text);
  const auto byte = [&](size_t at) { return at < harmless.size() ? static_cast<unsigned char>(harmless[at]) : 0u; };
  for (size_t at = 0; at < harmless.size(); ++at) {
    const unsigned first = byte(at), second = byte(at + 1), third = byte(at + 2);
    if (first < 0x20 || first == 0x7F) {
      harmless[at] = ' ';
    } else if (first == 0xC2 && second < 0xA0) {  // U+0080 to U+009F: a terminal may take them for ESC and a letter
      harmless.replace(at, 2, " ");
    } else if (first == 0xE2 && ((second == 0x80 && third >= 0xA8 && third <= 0xAE) ||
                                 (second == 0x80 && (third == 0x8E || third == 0x8F)) ||
                                 (second == 0x81 && third >= 0xA6 && third <= 0xA9))) {
      harmless.replace(at, 3, " ");  // line ends, and what turns the direction of what is around
    } else if (first == 0xD8 && second == 0x9C) {
      harmless.replace(at, 2, " ");  // the Arabic mark of direction
    }
  }
  return harmless;
}

std::string shell_word(std::string_view word) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || static_cast<unsigned char>(c) >= 0x80 ||
           std::string_view("_-+=./:,@%^").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return std::string(word);
  // print('x') is easier to read in the other quotes, which leave it as it is.
  if (word.find('\'') != std::string_view::npos && word.find_first_of("\"$`\\!") == std::string_view::npos)
    return "\"" + std::string(word) + "\"";
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string ascii_text(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kSigns{{{"·", "|"},
                                                                                  {"…", "..."},
                                                                                  {"✓", "+"},
                                                                                  {"✗", "x"},
                                                                                  {"×", "x"},
                                                                                  {"–", "-"},
                                                                                  {"—", "-"},
                                                                                  {"−", "-"},
                                                                                  {"→", "->"},
                                                                                  {"≥", ">="},
                                                                                  {"°", "deg "},
                                                                                  {"µ", "u"}}};
  std::string result;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t length = std::max<size_t>(1, utf8_length(rest));
    const std::string_view sign = rest.substr(0, length);
    rest.remove_prefix(length);
    const auto known = std::find_if(kSigns.begin(), kSigns.end(), [&](const auto& pair) { return pair.first == sign; });
    if (known != kSigns.end()) result += known->second;
    else if (length == 1 && static_cast<unsigned char>(sign[0]) < 0x80) result += sign;
    else result += '?';
  }
  return result;
}

}  // namespace tacho
