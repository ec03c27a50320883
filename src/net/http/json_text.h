// A member of a JSON object that is a text; empty when it is absent or something else. A template, so that no header
// brings the JSON library along. Pure, thread-safe.
#pragma once
#include <string>

namespace tacho {

template <class Json>
std::string json_text(const Json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->template get<std::string>() : "";
}

}  // namespace tacho
