// --help: examples first, then what there is, in at most 80 columns. Made from the option table. Pure.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "os/text_table.h"

namespace tacho {

std::string program_help(std::span<const Command> commands);
std::string command_help(const Command& command);

struct Example {
  std::string_view command, text;
};
// Examples of a subcommand; those of the whole program for an empty name.
std::vector<Example> examples(std::string_view command);

// "Default 1s. $TACHO_INTERVAL, $TRACKER_INTERVAL." or empty.
std::string option_sources(const Option& option);
inline constexpr std::string_view kExitStatus =
    "The job's own; 128+N when signal N ended it; 124 after --timeout; 125 when tacho itself could not start; 126 "
    "found "
    "but not executable; 127 not found.";
inline constexpr std::string_view kExitRecorded =
    "0 when what was recorded has ended, and on SIGINT or SIGTERM after a last sample; 124 after --timeout; 125 when "
    "tacho "
    "itself could not start, or with --strict when something was not delivered.";

}  // namespace tacho
