#include "cli/help.h"

#include <algorithm>
#include <array>

#include "base/text_width.h"
#include "cli/concat.h"

namespace tacho {
namespace {

constexpr size_t kWidth = 80;
constexpr size_t kOptionColumn = 28;

struct CommandExample {
  std::string_view of;
  Example example;
};
constexpr auto kExamples = std::to_array<CommandExample>({
    {"", {"tacho run -- make -j8", "record a command; its exit status stays"}},
    {"", {"tacho attach --pid 4242", "record something that already runs"}},
    {"", {"tacho watch -o machine.csv", "record the machine until Ctrl-C"}},
    {"", {"tacho runs", "what was recorded here"}},
    {"", {"tacho show last", "the newest run in full"}},
    {"", {"tacho report last -o report.html", "a page to look at and to send"}},
    {"", {"tacho compare 5f1c 9a0b", "two runs side by side"}},
    {"", {"tacho advise last", "what size the job needs"}},
    {"", {"tacho why last", "what limited it"}},
    {"", {"tacho top", "the machine, live"}},
    {"", {"tacho doctor", "what works on this machine, and fixes"}},
    {"run", {"tacho run -- make -j8", "record a command"}},
    {"run", {"tacho run -i 250ms -o a.csv -- ./train", "4 samples a second, to a file too"}},
    {"run", {"tacho run --timeout 1h -- ./solve", "end it after an hour"}},
    {"run", {"tacho run --hide private -- ./solve", "without host, address and command"}},
    {"attach", {"tacho attach --pid 4242", "a process and its descendants"}},
    {"attach", {"tacho attach --cgroup /system.slice/db.service", "a service"}},
    {"attach", {"tacho attach --detach --pid 4242", "in the background"}},
    {"stop", {"tacho stop last", "end the newest recording"}},
    {"stop", {"tacho stop last:train", "the newest of the job train"}},
    {"watch", {"tacho watch", "the whole machine, until Ctrl-C"}},
    {"watch", {"tacho watch -i 10s -o machine.csv.gz", "compressed, every ten seconds"}},
    {"runs", {"tacho runs", "newest first"}},
    {"runs", {"tacho runs --job train --since 7d --failed", "what went wrong this week"}},
    {"runs", {"tacho runs --json", "for a program"}},
    {"show", {"tacho show last", "the newest run"}},
    {"show", {"tacho show train", "the newest run of the job train"}},
    {"show", {"tacho show 20261115-a1b2 --json", "run.json as it was written"}},
    {"note", {"tacho note last 'with the new compiler'", "what a number does not tell"}},
    {"rm", {"tacho rm 20261115-a1b2", "one run"}},
    {"prune", {"tacho prune --older 30d --keep 100 --dry-run", "what would go"}},
    {"prune", {"tacho prune --job test --older 7d --yes", "in a cron job"}},
    {"config", {"tacho config", "every setting and its source"}},
    {"config", {"tacho config -c other.toml --json", "with another file, for a program"}},
    {"report", {"tacho report last", "writes report.html"}},
    {"report", {"tacho report last --open", "and shows it in a browser"}},
    {"report", {"tacho report a.csv b.csv -o ab.html", "two files side by side"}},
    {"compare", {"tacho compare 20261115-5f1c 20261115-9a0b", "how the second differs"}},
    {"compare", {"tacho compare last", "against the run before"}},
    {"compare", {"tacho compare A B --fail-if 'time > +10%'", "exit 3 when B is slower"}},
    {"compare", {"tacho compare a.csv b.csv --json", "two files, for a program"}},
    {"advise", {"tacho advise last", "cores, memory and GPUs, with reasons"}},
    {"advise", {"tacho advise 5f1c 9a0b --json", "two runs of one job together"}},
    {"advise", {"tacho advise --job train --for slurm", "by its last 20 runs; lines to paste"}},
    {"advise", {"tacho advise last --servers --vendor aws", "and the cheapest servers for it"}},
    {"why", {"tacho why last", "what the newest run waited for"}},
    {"why", {"tacho why 20261115-a1b2 --json", "for a program"}},
    {"query", {"tacho query --schema", "the tables and their columns"}},
    {"query", {"tacho query 'SELECT job_name, avg(seconds) FROM runs GROUP BY 1'", "over all runs"}},
    {"query", {"tacho query --csv - < report.sql", "SQL from a file, for a program"}},
    {"top", {"tacho top", "the whole machine, until Ctrl-C"}},
    {"top", {"tacho top last", "the run that is being recorded"}},
    {"top", {"tacho top --pid 4242", "a process and its descendants"}},
    {"mark", {"tacho mark align", "the phase align begins"}},
    {"mark", {"tacho mark --end", "and ends"}},
    {"export", {"tacho export last -f nextflow -o .command.trace", "the trace of a Nextflow task"}},
    {"export", {"tacho export last -f prom", "for Prometheus, to stdout"}},
    {"hook", {"eval \"$(tacho hook snakemake)\"", "every rule of the next snakemake is a run"}},
    {"version", {"tacho version --json", "also how it was built, and what is beside it"}},
    {"list", {"tacho list metrics", "every column, its unit and meaning"}},
    {"list", {"tacho list probes", "what is measured here, and what is not"}},
    {"list", {"tacho list sinks --json", "where samples can go, for a program"}},
    {"doctor", {"tacho doctor", "every check, with the fix"}},
    {"doctor", {"tacho doctor --cost", "what each probe costs a tick"}},
    {"doctor", {"tacho doctor --json > health.json", "status 1 when something is broken"}},
    {"monitor", {"tacho monitor", "as a monitoring_image or monitoring_script"}},
    {"monitor", {"tacho monitor -o rows.jsonl", "without BigQuery, to a file"}},
    {"monitor", {"tacho monitor --project p --dataset d", "into tables of p.d"}},
    {"resource-tracker", {"resource-tracker ./train.py --epochs 3", "JSON lines on stderr"}},
    {"resource-tracker", {"resource-tracker -f csv -o run.csv -- make", "CSV to a file"}},
    {"resource-tracker", {"resource-tracker --pid 4242", "a process that already runs"}},
});

// "  LABEL   text", the text in a column of its own; a long label gets a line of its own.
std::string entry(std::string_view label, std::string_view text, size_t column) {
  std::string out = "  " + std::string(label);
  const size_t width = 2 + text_width(label);
  if (width + 2 > column) (out += '\n').append(column, ' ');
  else out.append(column - width, ' ');
  return out + wrap_text(text, column, column, kWidth);
}

std::string example_block(std::string_view command) {
  constexpr size_t kWidest = 52;  // of the column of commands; the text of a longer one stands below it
  size_t column = 0;
  for (const Example& example : examples(command))
    if (const size_t width = text_width(example.command) + 4; width <= kWidest) column = std::max(column, width);
  std::string out = "Examples:\n";
  for (const Example& example : examples(command)) out += entry(example.command, example.text, column);
  return out;
}

constexpr std::string_view kTrackerNote =
    "This is tacho under another name: JSON lines on stderr unless --output or --format says otherwise, no run store "
    "and no summary, settings from resource-tracker.toml. Without a command or --pid it records the machine until a "
    "signal.";

// What the older tool does unless told otherwise, where that differs.
Option as_tracker(Option option) {
  constexpr auto kDefaults =
      std::to_array<std::pair<std::string_view, std::string_view>>({{"output", "stderr"},
                                                                    {"format", "json"},
                                                                    {"config", "resource-tracker.toml"},
                                                                    {"store", "none"},
                                                                    {"summary", "none"}});
  for (const auto& [name, text] : kDefaults)
    if (option.name == name) option.default_text = text;
  return option;
}

std::string option_blocks(unsigned subcommand) {
  std::string out;
  for (const Group group : kGroups) {
    std::string block;
    for (const Option& option : all_options()) {
      if (option.group != group || (option.subcommands & subcommand) == 0) continue;
      std::string text(option.help);
      const std::string sources =
          group == Group::metadata ? "" : option_sources(subcommand == kTracker ? as_tracker(option) : option);
      if (!sources.empty()) (text += ' ') += sources;
      block += entry(option_label(option), text, kOptionColumn);
    }
    if (block.empty()) continue;
    (out += '\n') += group_title(group);
    if (group == Group::metadata) out += " (each also as $TACHO_... or $TRACKER_..., e.g. $TACHO_JOB_NAME)";
    out += ":\n" + block;
  }
  return out;
}

}  // namespace

std::vector<Example> examples(std::string_view command) {
  std::vector<Example> found;
  for (const CommandExample& row : kExamples)
    if (row.of == command) found.push_back(row.example);
  return found;
}

std::string option_sources(const Option& option) {
  std::string text;
  if (!option.default_text.empty()) text = "Default " + std::string(option.default_text) + ".";
  std::string variables;
  for (const std::string_view name : {option.tacho_env, option.tracker_env})
    if (!name.empty()) ((variables += variables.empty() ? "" : ", ") += '$') += name;
  if (!variables.empty()) text += (text.empty() ? "" : " ") + variables + ".";
  return text;
}

std::string program_help(std::span<const Command> commands) {
  std::string out = example_block("");
  out += "\nCommands:\n";
  for (const Command& command : commands)
    if (!command.hidden) out += entry(command.name, command.help, 13);
  out += "\ntacho -- CMD is short for tacho run -- CMD.\n";
  out += "tacho help COMMAND tells more; the manual is tacho(1).\n";
  return out;
}

std::string command_help(const Command& command) {
  const bool tracker = command.options == kTracker;
  std::string out = examples(command.name).empty() ? "" : example_block(command.name) + "\n";
  out += concat({"Usage: ", tracker ? "" : "tacho ", command.name, " ", command.arguments, "\n"});
  out += wrap_text(command.help, 0, 0, kWidth);
  if (tracker) out += wrap_text(kTrackerNote, 0, 0, kWidth);
  out += option_blocks(command.options);
  if ((command.options & kRecord) != 0) {
    out += "\nThe strongest source wins: option, TACHO_*, TRACKER_*, configuration, default.\n";
    const bool own_child = (command.options & (kRun | kTracker)) != 0;
    out += "\nExit status:\n  " + wrap_text(own_child ? kExitStatus : kExitRecorded, 2, 2, kWidth);
  }
  return out;
}

}  // namespace tacho
