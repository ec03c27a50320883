#include "cromwell/small_json.h"

#include <nlohmann/json.hpp>

#include "base/json_bounds.h"

namespace tacho {

std::string small_json_text(std::string_view json, std::initializer_list<std::string_view> members) {
  const nlohmann::json root = parse_bounded<nlohmann::json>(json);
  const nlohmann::json* at = &root;
  for (const std::string_view member : members) {
    if (!at->is_object()) return {};
    const auto found = at->find(member);
    if (found == at->end()) return {};
    at = &*found;
  }
  if (at->is_string()) return at->get<std::string>();
  if (at->is_number() || at->is_boolean()) return at->dump();
  return {};
}

}  // namespace tacho
