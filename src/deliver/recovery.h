// tacho deliver [RUN|DIR|--all]: sends what a killed run or a dead network left behind.
#pragma once
#include <span>
#include <string>

namespace tacho {

int deliver_command(std::span<const std::string> arguments);

}  // namespace tacho
