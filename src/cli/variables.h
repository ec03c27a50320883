// The variables TACHO_… that a tacho program reads. Thread-safe as long as nobody sets one meanwhile.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tacho {

// "nobody reads TACHO_INTERVALL; did you mean TACHO_INTERVAL?" for each of the environment that none of them knows.
std::vector<std::string> unknown_variables();
bool is_known_variable(std::string_view name);

}  // namespace tacho
