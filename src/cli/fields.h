// The fields that --hide can name: host_*, cloud_* and metadata, in the wire names of the run record; the documented
// names of three host fields and the group words host, cloud and private stand for them. Pure; thread-safe.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tacho {

// "host_name" → {host_hostname}, "cloud" → the five cloud fields; an error names the nearest field.
Result<std::vector<std::string>> hidden_fields(std::string_view word);
// All words that hidden_fields() takes, for completions and "did you mean".
std::span<const std::string_view> hide_words();

}  // namespace tacho
