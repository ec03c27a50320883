// Merges what was said into Settings: flag, then TACHO_*, then TRACKER_*, then the configuration file, then the
// default. A value that makes no sense is an error wherever it stands, even when a stronger source overrides it; the
// error names that place. Thread-safe (no state).
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/config.h"
#include "cli/parse.h"
#include "engine/settings.h"

namespace tacho {

// What resolve() may know of the world.
struct Surroundings {
  Environment environment;
  bool stderr_is_terminal = false;
};
Surroundings real_surroundings();

// Settings for one of the subcommands that record (run, attach, watch, or the whole program as resource-tracker), or
// for one that reads the store.
Result<Settings> resolve(const ParsedLine& line, Subcommand subcommand, const Surroundings& surroundings);

// What counts for each option that a recording takes, by the strongest source that names it; empty values and an empty
// origin: nobody does, the default counts. Checked as resolve() does.
struct Explained {
  const Option* option;
  std::vector<std::string> values;
  std::string origin;  // "TACHO_INTERVAL", "tacho.toml:3: interval"
};
Result<std::vector<Explained>> explain(const ParsedLine& line, Subcommand subcommand, const Surroundings& surroundings);

}  // namespace tacho
