#include "procfs/mountinfo.h"

namespace tacho {
namespace {

bool parse_line(std::string_view text, MountLine& line) {
  Scanner scan(text);
  if (!scan.number(line.id) || !scan.number(line.parent)) return false;
  if (!scan.number(line.major) || !scan.literal(":") || !scan.number(line.minor)) return false;
  line.root = scan.word();
  line.mount_point = scan.word();
  line.options = scan.word();
  // Any number of tags, then a single dash.
  for (;;) {
    const std::string_view tag = scan.word();
    if (tag.empty()) return false;
    if (tag == "-") break;
  }
  line.type = scan.word();
  line.source = scan.word();
  line.super_options = scan.word();
  return !line.type.empty();
}

bool is_octal(char c) { return c >= '0' && c <= '7'; }

}  // namespace

bool MountInfoLines::next(MountLine& line) {
  while (!scan_.done())
    if (parse_line(scan_.line(), line)) return true;
  return false;
}

std::string decode_mount_field(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && text[i + 1] <= '3' && is_octal(text[i + 1]) &&
        is_octal(text[i + 2]) && is_octal(text[i + 3])) {
      result += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      result += text[i];
    }
  }
  return result;
}

}  // namespace tacho
