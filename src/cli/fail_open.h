// Becoming the command instead of recording it: inside of a run that records it already (--nested pass), and where
// nothing can be recorded (--fail-open). Not thread-safe.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "cli/parse.h"
#include "os/process.h"

namespace tacho {

// By an option or its variable; a configuration is not looked at.
bool wants_to_pass(const ParsedLine& line);
// TACHO_RUN names a run that was started with pass and whose tacho is a living ancestor of this process.
bool is_inside_passing_run();

// The command of a line that tacho refused, where it is to run all the same; empty: it is not. The line may be
// damaged: then the command is what follows its dashes.
std::vector<std::string> command_left_open(std::span<const std::string> arguments, bool by_settings);

// Does not come back but with the exit status of a command that is not there (127) or not executable (126).
int become_command(const std::vector<std::string>& command, const AsStarted& as_started);

}  // namespace tacho
