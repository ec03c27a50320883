#include "report/live/live_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/text.h"

namespace tacho {
namespace {

struct Range {
  uint32_t first, last;
};

// Without a width: combining marks, joiners, selectors of variants, marks of direction.
constexpr auto kNoWidth = std::to_array<Range>(
    {{0x00AD, 0x00AD},  {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061C}, {0x064B, 0x065F},
     {0x06D6, 0x06DD},  {0x0711, 0x0711}, {0x0730, 0x074A}, {0x0900, 0x0902}, {0x093C, 0x093C}, {0x0941, 0x0948},
     {0x094D, 0x094D},  {0x0E31, 0x0E31}, {0x0E34, 0x0E3A}, {0x0E47, 0x0E4E}, {0x115F, 0x11FF}, {0x180B, 0x180E},
     {0x1AB0, 0x1AFF},  {0x1DC0, 0x1DFF}, {0x200B, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F}, {0x20D0, 0x20FF},
     {0x302A, 0x302D},  {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0x1F3FB, 0x1F3FF},
     {0xE0000, 0xE0FFF}});
constexpr auto kWide = std::to_array<Range>(
    {{0x1100, 0x115E},   {0x231A, 0x231B},   {0x2329, 0x232A},   {0x23E9, 0x23EC},   {0x23F0, 0x23F0},
     {0x25FD, 0x25FE},   {0x2614, 0x2615},   {0x2648, 0x2653},   {0x26A1, 0x26A1},   {0x26BD, 0x26BE},
     {0x2705, 0x2705},   {0x270A, 0x270B},   {0x2728, 0x2728},   {0x274C, 0x274C},   {0x2753, 0x2755},
     {0x2795, 0x2797},   {0x2B1B, 0x2B1C},   {0x2B50, 0x2B50},   {0x2E80, 0x3029},   {0x302E, 0x303E},
     {0x3041, 0x4DBF},   {0x4E00, 0xA4CF},   {0xA960, 0xA97F},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},
     {0xFE10, 0xFE19},   {0xFE30, 0xFE6F},   {0xFF01, 0xFF60},   {0xFFE0, 0xFFE6},   {0x16FE0, 0x18AFF},
     {0x1B000, 0x1B2FF}, {0x1F004, 0x1F004}, {0x1F0CF, 0x1F0CF}, {0x1F18E, 0x1F18E}, {0x1F191, 0x1F19A},
     {0x1F1E6, 0x1F202}, {0x1F210, 0x1F23B}, {0x1F240, 0x1F3FA}, {0x1F400, 0x1F64F}, {0x1F680, 0x1F6FF},
     {0x1F7E0, 0x1F7EB}, {0x1F900, 0x1F9FF}, {0x1FA70, 0x1FAFF}, {0x20000, 0x3FFFD}});

template <size_t N>
bool is_in(const std::array<Range, N>& ranges, uint32_t code) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), code,
                                      [](uint32_t value, const Range& range) { return value < range.first; });
  return after != ranges.begin() && code <= std::prev(after)->last;
}

size_t width_of(uint32_t code) { return is_in(kNoWidth, code) ? 0 : is_in(kWide, code) ? 2 : 1; }

// The character at the start of the text and its length; a byte that begins none stands for itself.
std::pair<uint32_t, size_t> first_character(std::string_view text) {
  const size_t length = utf8_length(text);
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  if (length <= 1) return {byte(0), 1};
  uint32_t code = byte(0) & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) code = code << 6 | (byte(i) & 0x3Fu);
  return {code, length};
}

// Bytes of the longest start that is at most `columns` wide.
size_t bytes_within(std::string_view text, size_t columns) {
  size_t at = 0, used = 0;
  while (at < text.size()) {
    const auto [code, length] = first_character(text.substr(at));
    if (used + width_of(code) > columns) break;
    used += width_of(code);
    at += length;
  }
  return at;
}

}  // namespace

size_t columns_of(std::string_view text) {
  size_t columns = 0;
  for (size_t at = 0; at < text.size();) {
    const auto [code, length] = first_character(text.substr(at));
    columns += width_of(code);
    at += length;
  }
  return columns;
}

std::string cut_to(std::string_view text, size_t columns) {
  const size_t whole = bytes_within(text, columns);
  if (whole == text.size()) return std::string(text);
  return columns == 0 ? "" : std::string(text.substr(0, bytes_within(text, columns - 1))) + "…";
}

std::string fit_left(std::string_view text, size_t columns) {
  std::string cell = cut_to(text, columns);
  return cell.append(columns - std::min(columns, columns_of(cell)), ' ');
}

std::string fit_right(std::string_view text, size_t columns) {
  const std::string cell = cut_to(text, columns);
  return std::string(columns - std::min(columns, columns_of(cell)), ' ') + cell;
}

std::string cell_text(std::string_view text) {
  const std::string harmless = harmless_text(text);
  std::string cell;
  for (size_t at = 0; at < harmless.size();) {
    const auto [code, length] = first_character(std::string_view(harmless).substr(at));
    if (width_of(code) > 0) cell.append(harmless, at, length);
    at += length;
  }
  return cell;
}

std::string ascii_signs(std::string_view text) {
  constexpr auto kSigns = std::to_array<std::pair<std::string_view, char>>({{"▁", '_'},
                                                                            {"▂", '.'},
                                                                            {"▃", ':'},
                                                                            {"▄", '-'},
                                                                            {"▅", '='},
                                                                            {"▆", '+'},
                                                                            {"▇", '*'},
                                                                            {"█", '#'},
                                                                            {"·", '|'},
                                                                            {"…", '~'},
                                                                            {"└", '`'},
                                                                            {"├", '|'},
                                                                            {"─", '-'}});
  std::string ascii;
  for (size_t at = 0; at < text.size();) {
    const auto [code, length] = first_character(text.substr(at));
    const std::string_view sign = text.substr(at, length);
    const auto known = std::find_if(kSigns.begin(), kSigns.end(), [&](const auto& pair) { return pair.first == sign; });
    if (code < 0x80) ascii += static_cast<char>(code);
    else if (known != kSigns.end()) ascii += known->second;
    else ascii.append(width_of(code), '?');
    at += length;
  }
  return ascii;
}

}  // namespace tacho
