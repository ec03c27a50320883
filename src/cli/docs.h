// Documents made from the option and command tables: the man page and the shell completions. Pure.
#pragma once
#include <span>
#include <string>

#include "cli/commands.h"

namespace tacho {

std::string man_page(std::span<const Command> commands);         // man.cc: tacho.1 in roff
std::string bash_completion(std::span<const Command> commands);  // completion.cc
std::string zsh_completion(std::span<const Command> commands);
std::string fish_completion(std::span<const Command> commands);

}  // namespace tacho
