// `tacho-katib trials`: final metrics into the status of Trials, as a long-running service.
#pragma once
#include <span>
#include <string>

namespace tacho {

// The words behind "trials". Exit status: 0 after SIGTERM or SIGINT, 1 when the lease was lost or the start failed, 2
// for a bad option.
int trials_command(std::span<const std::string> words);

}  // namespace tacho
