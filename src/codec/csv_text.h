// Text fields of a CSV file by RFC 4180, from whoever and whatever gave them. Thread-safe (no state).
#pragma once
#include <string>
#include <string_view>

#include "base/writer.h"

namespace tacho {

// In quotes where it has a comma, a quote or a line end.
void put_csv_text(Writer& out, std::string_view text);
// One line of text for a field: control bytes and changes of direction become blanks, bytes that are no UTF-8 become
// U+FFFD, and what is longer is cut at a character.
std::string csv_line_text(std::string_view text, size_t most_bytes);
// The field of that number (from 0) in a line, as it stands there, with its quotes; empty when there is none.
std::string_view csv_field(std::string_view line, size_t number);
// The same without its quotes.
std::string csv_value(std::string_view field);

}  // namespace tacho
