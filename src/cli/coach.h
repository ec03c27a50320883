// What a person probably meant, said as the command to write instead. Pure but for looking at files.
#pragma once
#include <string>
#include <vector>

#include "cli/parse.h"

namespace tacho {

// Of a command that could not be started: "this is for a shell: tacho run -- sh -c 'a | b'". Empty: nothing comes to
// mind.
std::string coach_command(const std::vector<std::string>& command);

// The subcommand that other tools call so: runs for ls. Empty: none.
std::string_view coach_subcommand(std::string_view word);

// Of what `tacho attach` was given beside its options.
Error coach_attach(const std::string& word);

// Words as a shell would have to read them.
std::string shell_words(const std::vector<std::string>& words);

}  // namespace tacho
