// `tacho-katib inject`: the admission webhook with its certificates, health and metrics, until SIGTERM.
#pragma once
#include <span>
#include <string>

namespace tacho {

int inject_command(std::span<const std::string> words);

}  // namespace tacho
