// tacho bq init: makes the dataset and tables ahead of time, or prints what it would make. tacho bq columns: what each
// column means.
#pragma once
#include <span>
#include <string>

namespace tacho {

// The arguments behind "bq". Exit status: 0, 1 when something could not be made, 2 for a wrong command line.
int bq_command(std::span<const std::string> arguments);

}  // namespace tacho
