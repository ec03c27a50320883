#include "base/json_bounds.h"

namespace tacho {

JsonExcess json_excess(std::string_view text, const JsonBounds& bounds) {
  if (text.size() > bounds.bytes) return JsonExcess::bytes;
  size_t depth = 0, values = 1;
  for (size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case '"':
        // To the end of the string; an escape takes the next byte along. One that does not end is the parser's to
        // refuse.
        for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\' ? 1 : 0;
        break;
      case '{':
      case '[':
        if (++depth > bounds.depth) return JsonExcess::depth;
        if (++values > bounds.values) return JsonExcess::values;  // its first value, if it has one
        break;
      case '}':
      case ']': depth -= depth > 0 ? 1 : 0; break;
      case ',':
        if (++values > bounds.values) return JsonExcess::values;
        break;
      default: break;
    }
  }
  return JsonExcess::none;
}

std::string_view json_excess_text(JsonExcess excess) {
  switch (excess) {
    case JsonExcess::none: break;
    case JsonExcess::bytes: return "too long";
    case JsonExcess::depth: return "nested too deep";
    case JsonExcess::values: return "of too many values";
  }
  return "";
}

}  // namespace tacho
