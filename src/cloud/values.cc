#include "cloud/values.h"

#include <algorithm>

#include "base/json_bounds.h"
#include "base/text.h"

namespace tacho {
namespace {

constexpr size_t kLongestValue = 256, kLongestToken = 2048;

bool is_printable(char c) { return c >= ' ' && c <= '~'; }

}  // namespace

Text clean(std::string_view value) {
  value = trim(value);
  if (value.empty() || value.size() > kLongestValue || lower(value) == "unknown") return std::nullopt;
  const auto is_foreign = [](char c) { return !is_printable(c) || c == '<' || c == '>'; };
  if (std::any_of(value.begin(), value.end(), is_foreign)) return std::nullopt;
  return std::string(value);
}

Text text_of(const HttpReply& reply) {
  if (!reply.ok()) return std::nullopt;
  return clean(reply.response.body);
}

Json object_of(const HttpReply& reply) {
  if (!reply.ok()) return {};
  Json json = parse_bounded<Json>(reply.response.body);
  return json.is_object() ? json : Json();
}

Text text_at(const Json& object, const char* key) {
  if (!object.is_object()) return std::nullopt;
  const auto found = object.find(key);
  if (found == object.end()) return std::nullopt;
  if (found->is_string()) return clean(found->get_ref<const std::string&>());
  if (found->is_number_integer()) return found->dump();
  return std::nullopt;
}

Text token_of(const HttpReply& reply) {
  if (!reply.ok()) return std::nullopt;
  const std::string_view token = trim(reply.response.body);
  if (token.empty() || token.size() > kLongestToken) return std::nullopt;
  if (!std::all_of(token.begin(), token.end(), [](char c) { return is_printable(c) && c != ' ' && c != '<'; }))
    return std::nullopt;
  return std::string(token);
}

bool is_html(const HttpReply& reply) {
  for (const auto& [name, value] : reply.response.headers)
    if (name == "content-type" && lower(value).starts_with("text/html")) return true;
  return trim(reply.response.body).starts_with('<');
}

Text without_last(const Text& text, char separator) {
  if (!text) return std::nullopt;
  const size_t at = text->rfind(separator);
  if (at == std::string::npos) return std::nullopt;
  return clean(std::string_view(*text).substr(0, at));
}

Text lower_case(const Text& text) {
  if (!text) return std::nullopt;
  return lower(*text);
}

}  // namespace tacho
