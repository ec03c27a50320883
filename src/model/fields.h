// The names of the fields that describe a run, as they are on the wire: what --hide can name, with the documented names
// of three host fields, the identifiers in device lists and the group words host, cloud and private. Constant data;
// pure; thread-safe.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tacho {

// "host_name" → {host_hostname}, "cloud" → the five cloud fields; empty when there is no such field.
std::vector<std::string> fields_named(std::string_view word);
// All words that fields_named() takes.
std::span<const std::string_view> field_words();

}  // namespace tacho
