#include "codec/csv_text.h"

#include "base/text.h"

namespace tacho {
namespace {

// Where the field at the start of the text ends: at a comma outside of quotes, or with the text.
size_t field_end(std::string_view text) {
  bool quoted = false;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '"') quoted = !quoted;
    if (text[at] == ',' && !quoted) return at;
  }
  return text.size();
}

}  // namespace

void put_csv_text(Writer& out, std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return out.put(text);
  out.put('"');
  for (const char c : text) {
    if (c == '"') out.put('"');
    out.put(c);
  }
  out.put('"');
}

std::string csv_line_text(std::string_view text, size_t most_bytes) {
  std::string line = harmless_text(text);
  line.resize(start_of(line, most_bytes).size());
  return line;
}

std::string_view csv_field(std::string_view line, size_t number) {
  for (; number > 0; --number) {
    const size_t end = field_end(line);
    if (end == line.size()) return {};
    line.remove_prefix(end + 1);
  }
  return line.substr(0, field_end(line));
}

std::string csv_value(std::string_view field) {
  if (field.size() < 2 || field.front() != '"' || field.back() != '"') return std::string(field);
  field = field.substr(1, field.size() - 2);
  std::string value;
  for (size_t at = 0; at < field.size(); ++at) {
    value += field[at];
    if (field[at] == '"' && at + 1 < field.size() && field[at + 1] == '"') ++at;
  }
  return value;
}

}  // namespace tacho
