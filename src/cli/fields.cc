#include "cli/fields.h"

#include "cli/parse.h"
#include "model/fields.h"

namespace tacho {

std::span<const std::string_view> hide_words() { return field_words(); }

Result<std::vector<std::string>> hidden_fields(std::string_view word) {
  std::vector<std::string> fields = fields_named(word);
  if (fields.empty())
    return unknown_word("field", word, hide_words(), "host_*, cloud_* or metadata fields, or host, cloud, private");
  return fields;
}

}  // namespace tacho
