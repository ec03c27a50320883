// Single values out of small JSON answers. Pure, thread-safe; never throws.
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>

namespace tacho {

// The text at object members a, b, …: a string as it is, a number or flag as it is written; empty when it is not there,
// is something else, or the JSON is broken.
std::string small_json_text(std::string_view json, std::initializer_list<std::string_view> members);

}  // namespace tacho
