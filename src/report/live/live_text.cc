#include "report/live/live_text.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "base/text_width.h"

namespace tacho {

std::string cell_text(std::string_view text) {
  const std::string harmless = harmless_text(text);
  std::string cell;
  for (size_t at = 0; at < harmless.size();) {
    const auto [code, length] = first_character(std::string_view(harmless).substr(at));
    if (character_width(code) > 0) cell.append(harmless, at, length);
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
    else ascii.append(character_width(code), '?');
    at += length;
  }
  return ascii;
}

}  // namespace tacho
