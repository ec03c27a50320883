// Reads the arguments of one subcommand by the option table. Pure; thread-safe.
//
// A parser of our own, because CLI11 fights the rules that matter here: the first word starts the job's command and
// everything after it belongs to the job (its prefix_command would also take an unknown option for that start, where
// tacho must refuse it and name the nearest one), and every value keeps where it came from.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/options.h"

namespace tacho {

struct ParsedLine {
  std::vector<Given> given;
  std::vector<std::string> words;  // the job's command, or what a subcommand works on
  bool dashes = false;             // "--" stood before the words
  bool help = false, version = false;
};

enum class Words {
  command,   // the first word ends the options: tacho run -i 1 make -j8
  anywhere,  // words and options may mix: tacho show last --json
};

Result<ParsedLine> parse_arguments(std::span<const std::string> arguments, unsigned subcommand, Words words);

// "unknown KIND WORD; did you mean OTHER?", or the hint when nothing is near.
Error unknown_word(std::string_view kind, std::string_view word, std::span<const std::string_view> candidates,
                   std::string_view hint);

}  // namespace tacho
