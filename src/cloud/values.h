// Reading what metadata services answer: nothing of it is trusted. Pure; thread-safe.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "cloud/provider.h"

namespace tacho {

using Json = nlohmann::ordered_json;
using Text = std::optional<std::string>;

// A value as it may be sent: trimmed, a single line of printable ASCII without markup, at most 256 bytes. Empty and
// "unknown" are no values.
Text clean(std::string_view value);
// The body of a 2xx answer as one value.
Text text_of(const HttpReply& reply);
// The body of a 2xx answer when it is a JSON object, else null.
Json object_of(const HttpReply& reply);
// The string or whole number under a key; nothing when there is none.
Text text_at(const Json& object, const char* key);
// A body that may be put into a header, such as a token.
Text token_of(const HttpReply& reply);
// A page for people, as captive portals and gateways answer to everything.
bool is_html(const HttpReply& reply);
// "fr-par-1" → "fr-par"; nothing without a dash.
Text without_last(const Text& text, char separator);
Text lower_case(const Text& text);

inline Question get(std::string path, Headers headers = {}) { return {"GET", std::move(path), std::move(headers)}; }
inline Question put(std::string path, Headers headers = {}) { return {"PUT", std::move(path), std::move(headers)}; }
inline CloudStep end() { return {}; }

}  // namespace tacho
