#include "katib/read/reader_options.h"

namespace tacho {

std::vector<std::string> split_items(std::string_view text, bool quotes) {
  std::vector<std::string> items;
  std::string item;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ';' && !quoted) {
      if (!item.empty()) items.push_back(std::move(item));
      item.clear();
      continue;
    }
    item += c;
    if (quotes && c == '"') quoted = !quoted;
    if (quoted && c == '\\' && i + 1 < text.size()) item += text[++i];
  }
  if (!item.empty()) items.push_back(std::move(item));
  return items;
}

}  // namespace tacho
