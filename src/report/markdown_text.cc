#include "report/markdown_text.h"

#include "base/text.h"

namespace tacho {

std::string markdown_text(std::string_view text) {
  std::string out;
  for (const char c : valid_utf8(text)) {
    if (c == '&') out += "&amp;";
    else if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '|') out += "&#124;";
    else if (c == '`') out += "&#96;";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) out += ' ';
    else if (std::string_view("\\*_[]#!~").find(c) != std::string_view::npos) (out += '\\') += c;
    else out += c;
  }
  return out;
}

}  // namespace tacho
