// tacho.1 in roff, man(7).
#include "cli/concat.h"
#include "cli/docs.h"
#include "cli/help.h"

namespace tacho {
namespace {

constexpr std::string_view kDescription =
    "tacho starts a command, or follows one that already runs, and records what the machine and the job's whole "
    "process "
    "tree use. The job behaves as without it: exit status, signals, terminal and timing are its own. Every run leaves "
    "run.json and metrics.csv in a local run store.";
constexpr std::string_view kExitMore =
    "Of the commands that look at runs: 3 when a condition of compare --fail-if holds, 4 when advise has no advice, 1 "
    "when "
    "doctor finds something broken. "
    "Trouble with delivery changes it only with --strict. attach and watch end with 0 on SIGINT or SIGTERM after a "
    "last "
    "sample.";
constexpr std::string_view kOtherName =
    "tacho takes that tool's place: JSON lines on stderr unless --output or --format says otherwise, no run store and "
    "no "
    "summary, settings from resource-tracker.toml, and without a command or --pid the whole machine until a signal.";

// Escapes what roff would take for a command: backslashes, dashes, and a dot or quote at a line's start.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') out += "\\e";
    else if (c == '-') out += "\\-";
    else out += c;
  }
  return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

std::string entry(std::string_view label, std::string_view text) {
  while (label.starts_with(' ')) label.remove_prefix(1);
  return ".TP\n.B " + roff(label) + "\n" + roff(text) + "\n";
}

void add_options(std::string& out) {
  for (const Group group : kGroups) {
    out += ".SS " + std::string(group_title(group)) + "\n";
    for (const Option& option : all_options()) {
      if (option.group != group) continue;
      std::string text(option.help);
      if (const std::string sources = option_sources(option); !sources.empty()) text += " " + sources;
      if (option.subcommands == kReport) text += " (report)";
      if (option.subcommands == kMonitor) text += " (monitor)";
      if (!option.key.empty()) text += " Configuration: " + std::string(option.key) + ".";
      out += entry(option_label(option), text);
    }
  }
}

void add_environment(std::string& out) {
  out += ".SH ENVIRONMENT\nAn empty value counts as not set.\n";
  for (const Option& option : all_options())
    for (const std::string_view name : {option.tacho_env, option.tracker_env})
      if (!name.empty()) out += entry(name, "As --" + std::string(option.name) + ".");
  out += entry("XDG_STATE_HOME", "Where the run store is, unless --store says otherwise (default ~/.local/state).");
  out += entry("XDG_CONFIG_HOME", "Where tacho/tacho.toml is looked for (default ~/.config).");
}

}  // namespace

std::string man_page(std::span<const Command> commands) {
  std::string out = ".TH TACHO 1 \"\" \"tacho " TACHO_VERSION "\" \"User Commands\"\n";
  out += ".SH NAME\ntacho \\- record what a job uses: CPU, memory, disk, network and GPU\n.SH SYNOPSIS\n.nf\n";
  for (const Command& command : commands)
    if (!command.hidden) out += concat({"\\fBtacho ", command.name, "\\fP ", roff(command.arguments), "\n"});
  out += concat({".fi\n.SH DESCRIPTION\n", roff(kDescription), "\n.SH EXAMPLES\n"});
  for (const Example& example : examples("")) out += entry(example.command, example.text);
  for (const Example& example : examples("run"))
    if (example.command != examples("").front().command) out += entry(example.command, example.text);
  out += ".SH COMMANDS\n";
  for (const Command& command : commands)
    if (!command.hidden) out += entry(command.name, command.help);
  out += ".SH OPTIONS\nThe strongest source wins: option, TACHO_*, TRACKER_*, configuration file, default.\n";
  add_options(out);
  add_environment(out);
  out += ".SH FILES\n";
  out += entry(
      "./tacho.toml, $XDG_CONFIG_HOME/tacho/tacho.toml, /etc/tacho/tacho.toml",
      "Configuration; the first that exists is read. Keys are the long option names with _ or -. Metadata may stand "
      "in a table [metadata], tags in a table [tags].");
  out += entry("$XDG_STATE_HOME/tacho/runs", "The run store: one folder a run.");
  out += concat({".SH EXIT STATUS\n", roff(kExitStatus), "\n", roff(kExitMore), "\n"});
  out += concat({".SH OTHER NAMES\nCalled as\n.BR resource\\-tracker ,\n", roff(kOtherName), "\n"});
  out += ".SH OTHER PROGRAMS\n";
  out += entry("tacho-bash, tacho-sh",
               "bash and sh that record what runs in them, with the arguments and the exit status of those shells. "
               "tacho hook puts a folder with shells of their plain names first in PATH.");
  out += entry("tacho-deliver",
               "Sends samples over a network, beside a run or later: tacho starts it. --help has its commands.");
  out += entry("tacho-query", "Runs the SQL of tacho query.");
  out += entry("tacho-gpu", "Reads the driver of NVIDIA for a tacho without shared libraries, which starts it.");
  out += ".SH SEE ALSO\ntime(1), timeout(1), cgroups(7), proc(5)\n";
  return out;
}

}  // namespace tacho
