// A look at JSON from outside before a tree is made of it: how deep, how many values, how many bytes. A tree takes up
// to fifty times its text, and one that is 100,000 levels deep ends the program where it is copied. Pure, one pass, no
// allocation; thread-safe. It does not check the grammar: that is the parser's business.
#pragma once
#include <cstddef>
#include <string_view>

namespace tacho {

struct JsonBounds {
  size_t bytes = 16u << 20;
  size_t depth = 64;        // of arrays and objects
  size_t values = 400'000;  // members and elements, all levels together: a hundred bytes each, roughly
};

enum class JsonExcess { none, bytes, depth, values };
JsonExcess json_excess(std::string_view text, const JsonBounds& bounds);
// "nested deeper than 64 levels"; empty for none.
std::string_view json_excess_text(JsonExcess excess);

// For a parser with the interface of nlohmann::json, which base does not know: a value for which is_discarded() holds
// where the text is beyond the bounds or no JSON. Throws nothing but bad_alloc.
template <typename Json>
Json parse_bounded(std::string_view text, const JsonBounds& bounds = {}) {
  // The parser takes a NUL for the end, whatever follows; in JSON there is none.
  if (json_excess(text, bounds) != JsonExcess::none || text.find('\0') != std::string_view::npos)
    return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, false);
}

}  // namespace tacho
