// A user's own folders, by the XDG base directory specification: a relative path is to be ignored. Thread-safe.
#pragma once
#include <string>

namespace tacho {

// HOME; empty for a user who has none.
std::string home_folder();
// What the variable of the specification names; empty when it is unset or relative.
std::string xdg_folder(const char* variable);
// $XDG_STATE_HOME or ~/.local/state, $XDG_CACHE_HOME or ~/.cache; empty where there is neither.
std::string state_folder();
std::string cache_folder();

}  // namespace tacho
