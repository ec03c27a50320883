#include "net/aws/xml.h"

#include <array>
#include <utility>

#include "base/text.h"

namespace tacho {
namespace {

constexpr std::array<std::pair<std::string_view, char>, 5> kEntities = {
    {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}}};

// Between & and ;, for instance amp or #39. 0: not known.
char entity(std::string_view name) {
  for (const auto& [known, character] : kEntities) {
    if (name == known) return character;
  }
  if (name.size() > 1 && name[0] == '#') {
    const int code = parse_int<int>(name.substr(1)).value_or(0);
    if (code >= ' ' && code < 127) return static_cast<char>(code);
  }
  return 0;
}

std::string decoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size(); ++at) {
    const size_t end = text[at] == '&' ? text.substr(at, 12).find(';') : std::string_view::npos;
    const char character = end == std::string_view::npos ? '\0' : entity(text.substr(at + 1, end - 1));
    out += character != 0 ? character : text[at];
    if (character != 0) at += end;
  }
  return out;
}

}  // namespace

std::string xml_text(std::string_view document, std::string_view element) {
  for (size_t at = document.find('<'); at != std::string_view::npos; at = document.find('<', at + 1)) {
    const std::string_view rest = document.substr(at + 1);
    if (!rest.starts_with(element) || rest.size() <= element.size()) continue;
    const char next = rest[element.size()];
    if (next != '>' && next != ' ') continue;
    const size_t open_end = rest.find('>');
    if (open_end == std::string_view::npos || rest[open_end - 1] == '/') return {};
    const std::string_view inside = rest.substr(open_end + 1);
    const size_t close = inside.find('<');
    if (close == std::string_view::npos || !inside.substr(close + 1).starts_with("/")) return {};
    const std::string_view closing = inside.substr(close + 2);
    if (!closing.starts_with(element)) return {};
    return decoded(trim(inside.substr(0, close)));
  }
  return {};
}

}  // namespace tacho
