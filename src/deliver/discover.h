// tacho discover [--json]: what is known of the host and its cloud, as a start body would carry it.
#pragma once
#include <span>
#include <string>

namespace tacho {

int discover_command(std::span<const std::string> arguments);

}  // namespace tacho
