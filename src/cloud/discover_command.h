// tacho discover [--json] [--hide FIELD,…] [--no-cloud]: what is known of the host and its cloud, exactly as the start
// of a run would send it.
#pragma once
#include <span>
#include <string>

namespace tacho {

// The arguments behind "discover". Returns the exit status: 0, 1 when stdout cannot be written, 125 for a wrong
// argument.
int discover_command(std::span<const std::string> arguments);

}  // namespace tacho
