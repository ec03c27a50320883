// Subcommands: what main.cc's table of contents consists of, and what a subcommand is called with.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/exit_status.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "os/standard_streams.h"

namespace tacho {

// There is nothing to do it to: the run has ended.
inline constexpr int kNothingThere = 4;

struct Invocation;

struct Command {
  std::string_view name;
  Subcommand options;          // which options of the table it takes
  std::string_view arguments;  // "[OPTIONS] -- CMD [ARGS...]"
  std::string_view help;       // one line
  int (*run)(const Invocation& call);
  bool hidden = false;  // not in --help
};

struct Invocation {
  const Command& command;
  std::span<const Command> commands;
  std::span<const std::string> arguments;  // after the subcommand's name
};

// One function a subcommand, each in a file of its own unless it is a line or two.
int run_command(const Invocation& call);  // record.cc
int attach_command(const Invocation& call);
int watch_command(const Invocation& call);
int tracker_program(const Invocation& call);  // called as resource-tracker
int runs_command(const Invocation& call);     // runs.cc
int show_command(const Invocation& call);     // show.cc
int report_command(const Invocation& call);   // report.cc
int compare_command(const Invocation& call);  // compare.cc
int advise_command(const Invocation& call);   // advise.cc
int prune_command(const Invocation& call);    // prune.cc
int rm_command(const Invocation& call);
int note_command(const Invocation& call);     // note.cc
int config_command(const Invocation& call);   // config_command.cc
int top_command(const Invocation& call);      // top.cc
int why_command(const Invocation& call);      // why.cc
int stop_command(const Invocation& call);     // stop.cc
int mark_command(const Invocation& call);     // mark.cc
int export_command(const Invocation& call);   // export.cc
int query_command(const Invocation& call);    // query.cc
int hook_command(const Invocation& call);     // hook.cc
int shell_program(const Invocation& call);    // shell.cc: called as tacho-bash, tacho-sh, or bash or sh
int list_command(const Invocation& call);     // list.cc
int doctor_command(const Invocation& call);   // doctor.cc
int docs_command(const Invocation& call);     // docs.cc
int monitor_command(const Invocation& call);  // monitor.cc
int sibling_command(const Invocation& call);  // sibling.cc: handed to tacho-deliver
int help_command(const Invocation& call);     // dispatch.cc
int version_command(const Invocation& call);  // version.cc

// The whole program: finds the subcommand (or the name it was called by) and runs it; returns the exit status.
int dispatch(std::span<const Command> commands, std::string_view program, std::span<const std::string> arguments);

// What every subcommand does first. `done` is set when there is nothing left to do (help, version, an error): then
// return *done.
struct Started {
  ParsedLine line;
  std::optional<int> done;
};
Started start(const Invocation& call, Words words);

// Prints an Error for a person and returns kRefused.
int refuse(const Error& error);
bool is_set(const ParsedLine& line, std::string_view flag);
inline constexpr std::string_view kVersionLine = "tacho " TACHO_VERSION "\n";
// The last value that was given, or nothing; all of them, where an option may be repeated.
std::optional<std::string> value_of(const ParsedLine& line, std::string_view option);
std::vector<std::string> values_of(const ParsedLine& line, std::string_view option);
// The same as a number of at least `least`, a duration, one of the option's words.
Result<std::optional<int64_t>> number_of(const ParsedLine& line, std::string_view option, int64_t least);
Result<std::optional<int64_t>> duration_of(const ParsedLine& line, std::string_view option);
Result<std::optional<std::string>> word_of(const ParsedLine& line, std::string_view option);
// print() for a person: in ASCII where the locale has nothing else.
int print_text(std::string text);
// The same of lines, folded to the width of a terminal.
int print_folded(std::string text);

}  // namespace tacho
