#include <unistd.h>

#include <algorithm>

#include "base/log.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/coach.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/shell.h"
#include "os/environment.h"
#include "os/text_table.h"

namespace tacho {
namespace {

const Command* find_command(std::span<const Command> commands, std::string_view name) {
  for (const Command& command : commands)
    if (command.name == name) return &command;
  return nullptr;
}

// "tacho rn -- make" is a mistyped run, though rm is as near.
bool is_mistyped_run(std::span<const std::string> words) {
  static constexpr std::string_view kNear[] = {"run"};
  return std::ranges::find(words, "--") != words.end() && !nearest(words[0], kNear).empty();
}

int unknown_command(std::span<const Command> commands, std::span<const std::string> words) {
  if (is_mistyped_run(words))
    return refuse({Code::invalid, "unknown subcommand", words[0],
                   "write tacho run " + shell_words({words.begin() + 1, words.end()})});
  std::vector<std::string_view> names;
  for (const Command& command : commands)
    if (!command.hidden) names.push_back(command.name);
  Error error = unknown_word("subcommand", words[0], names, "");
  if (const std::string_view meant = coach_subcommand(words[0]); !meant.empty())
    error.what = "unknown subcommand " + words[0] + "; did you mean " + std::string(meant) + "?";
  // "tacho record -- true": the command stands behind the dashes.
  const auto dashes = std::find(words.begin(), words.end(), "--");
  const std::vector<std::string> command(dashes == words.end() ? words.begin() : dashes + 1, words.end());
  error.hint = coach_command(command);
  if (error.hint.empty()) error.hint = "to record a command: tacho run -- " + shell_words(command);
  return refuse(error);
}

}  // namespace

int refuse(const Error& error) {
  log::error(error.message());
  return kRefused;
}

bool is_set(const ParsedLine& line, std::string_view flag) {
  bool set = false;
  for (const Given& given : line.given)
    if (given.option->name == flag) set = parse_bool(given.value).value_or(true);
  return set;
}

int print_text(std::string text) { return print(in_locale(std::move(text))); }

int print_folded(std::string text) {
  return print(fold_text(in_locale(std::move(text)), terminal_width(STDOUT_FILENO)));
}

Started start(const Invocation& call, Words words) {
  auto line = parse_arguments(call.arguments, call.command.options, words);
  if (!line) return {{}, refuse(line.error())};
  if (line->help) return {{}, print_text(command_help(call.command))};
  if (line->version) return {{}, print(kVersionLine)};
  // Now, so that a warning about a value obeys it already.
  if (is_set(*line, "verbose")) log::set_level(log::Level::verbose);
  return {std::move(*line), std::nullopt};
}

int help_command(const Invocation& call) {
  const std::span<const std::string> words =
      call.arguments.subspan(!call.arguments.empty() && call.arguments[0] == "--" ? 1 : 0);
  if (words.empty() || words[0].starts_with('-')) return print_text(program_help(call.commands));
  const Command* command = find_command(call.commands, words[0]);
  if (command == nullptr) return unknown_command(call.commands, words);
  if (command->options == kNoSubcommand) {
    // Its options are known to the program that it is handed to.
    const std::vector<std::string> help{"--help"};
    return command->run({*command, call.commands, help});
  }
  return print_text(command_help(*command));
}

int dispatch(std::span<const Command> commands, std::string_view program, std::span<const std::string> arguments) {
  program = last_part(program);
  if (program == "resource-tracker") {
    const Command tracker{program, kTracker, "[OPTIONS] [--] [CMD [ARGS...]]",
                          "Record a command, a process or the machine.", tracker_program};
    return tracker.run({tracker, commands, arguments});
  }
  if (!real_shell_name(program).empty()) {
    const Command shell{program, kRun, "ARGS...", "A shell whose commands are recorded.", shell_program};
    return shell.run({shell, commands, arguments});
  }
  if (arguments.empty()) return print_text(program_help(commands));
  // Where an archive holds no symbolic link, a script stands for it: `exec tacho tacho-bash "$@"`.
  if (arguments[0].starts_with("tacho-") && !real_shell_name(arguments[0]).empty())
    return dispatch(commands, arguments[0], arguments.subspan(1));

  const std::string& first = arguments[0];
  if (first == "-h" || first == "--help") return print_text(program_help(commands));
  if (first == "-V" || first == "--version") return print(kVersionLine);
  if (first.size() > 1 && first[0] == '-') {
    // tacho [OPTIONS] -- CMD is short for tacho run; without the dashes a word would be a mistyped subcommand.
    const Command* run = find_command(commands, "run");
    const auto line = parse_arguments(arguments, run->options, Words::command);
    if (line && !line->dashes && !line->words.empty())
      return refuse({Code::invalid, "options follow the subcommand", "",
                     find_command(commands, line->words[0]) != nullptr
                         ? "write tacho " + line->words[0] + " " + first + " ..."
                         : "write tacho run [OPTIONS] -- " + line->words[0]});
    return run->run({*run, commands, arguments});
  }
  const Command* command = find_command(commands, first);
  if (command == nullptr) return unknown_command(commands, arguments);
  return command->run({*command, commands, arguments.subspan(1)});
}

}  // namespace tacho
