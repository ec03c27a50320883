// The configuration file (TOML): keys are the long option names with _ or -; metadata also in [metadata]; tags as an
// array or a table; [job] name, pid and [tracker] interval_secs as the older tool has them. Thread-safe (no state).
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/options.h"

namespace tacho {

// A variable's value; empty when it is not set. A function, so that tests have an environment of their own.
using Environment = std::function<std::string(std::string_view name)>;

enum class ConfigRules {
  strict,   // tacho.toml: an unknown key is an error
  tracker,  // resource-tracker.toml: the three keys of that tool, everything else is ignored
};

// The values of a file's text; path is for messages only.
Result<std::vector<Given>> parse_config(std::string_view text, const std::string& path, ConfigRules rules);

// ./tacho.toml, $XDG_CONFIG_HOME/tacho/tacho.toml (~/.config), /etc/tacho/tacho.toml: the first that exists, or "". The
// one in the working folder may be anybody's: it counts only where read_config_here() reads it, and a person is told
// when it does not.
std::string find_config(const Environment& environment);

// The text of a file of that name in the working folder. denied: file or folder belong to neither us nor root, or
// others may write to them; it is no plain file. The hint says which.
Result<std::string> read_config_here(const std::string& name);
// The text of one of the other usual places. After sudo or su it may be another user's, whose word is not ours: then
// what names a place in it does not count either.
Result<std::string> read_found_config(const std::string& path, bool& may_name_places);
// Whether the option says where something goes to: nothing that a file nobody named may say.
bool names_a_place(const Option& option);

}  // namespace tacho
