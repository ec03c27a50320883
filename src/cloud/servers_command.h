// The second half of `tacho advise --servers`: the advice comes on stdin as JSON, the cheapest servers that are large
// enough are added to it. Without an answer nothing is added, and the exit status is 0 all the same.
#pragma once
#include <span>
#include <string>

namespace tacho {

int servers_command(std::span<const std::string> arguments);

}  // namespace tacho
