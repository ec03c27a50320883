// TACHO_DEBUG_HTTP=1: headers on stderr, each with its secret masked. Pure but for the printing; thread-safe.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace tacho {

bool debug_http();  // the variable, read once
// One header line or request line without line end, as it may be shown: "Authorization: Bearer ***". What follows a ?
// in a request line or a Location is masked as well, and control bytes become blanks.
std::string masked_header(std::string_view line);
// direction is '>' or '<'; lines may hold several. Of the headers of `secret` only the names are shown.
void print_headers(char direction, std::string_view lines,
                   std::span<const std::pair<std::string, std::string>> secret = {});

}  // namespace tacho
