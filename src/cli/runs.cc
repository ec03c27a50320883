// tacho runs: the local run store as a table or as JSON.
#include <unistd.h>

#include <array>
#include <ctime>

#include "base/text.h"
#include "base/units.h"
#include "base/writer.h"
#include "cli/commands.h"
#include "cli/resolve.h"
#include "cli/terminal.h"
#include "report/facts.h"
#include "report/human.h"
#include "report/store.h"
#include "report/summary_text.h"

namespace tacho {
namespace {

std::string when(int64_t realtime_ns) {
  const std::time_t seconds = realtime_ns / kNsPerSec;
  std::tm local{};
  std::array<char, 32> text{};
  if (localtime_r(&seconds, &local) == nullptr) return "";
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M", &local)};
}

// The command, or what else was recorded.
std::string what_ran(const Run& run) {
  if (std::string text = command_text(run, 1000); !text.empty()) return text;
  if (!run.metadata.job_name.empty()) return harmless_text(run.metadata.job_name);
  return run.mode == "attach" && run.pid != 0 ? "pid " + std::to_string(run.pid) : run.mode == "watch" ? "machine" : "";
}

std::vector<std::string> table_row(const StoredRun& stored) {
  const Run& run = stored.run;
  const RunFacts facts = facts_of(stored);
  return {stored.shown_id(),
          outcome_words(run),
          when(run.outcome.started_realtime_ns),
          human_duration(run.outcome.duration_ns),
          is_absent(facts.cpu_mean) ? "" : human_number(facts.cpu_mean),
          is_absent(facts.memory_peak_bytes) ? "" : human_bytes(facts.memory_peak_bytes),
          what_ran(run)};
}

// One object a run, the run.json of each as it is.
std::string runs_json(const std::vector<StoredRun>& runs) {
  std::string out = "[";
  for (const StoredRun& stored : runs) {
    out += out.size() == 1 ? "\n" : ",\n";
    out += trim(stored.json);
  }
  return out + (runs.empty() ? "]\n" : "\n]\n");
}

}  // namespace

int runs_command(const Call& call) {
  const Started started = start(call, Words::anywhere);
  if (started.done) return *started.done;
  if (!started.line.words.empty())
    return refuse({Code::invalid, "runs takes no argument", started.line.words[0], "tacho show RUN prints one run"});
  const auto settings = resolve(started.line, kRuns, real_surroundings());
  if (!settings) return refuse(settings.error());
  const auto runs = list_runs(settings->store_dir);
  if (!runs) return refuse(runs.error());
  if (is_set(started.line, "json")) return print(runs_json(*runs));
  if (runs->empty()) return print("No runs in " + settings->store_dir + " yet; tacho run -- CMD records one.\n");
  Table table{{"RUN", "STATE", "WHEN", "TIME", "CORES", "MEMORY", "COMMAND"}, {}, Overlong::cut};
  for (const StoredRun& stored : *runs) table.rows.push_back(table_row(stored));
  return print(table.text(use_color(settings->color, STDOUT_FILENO), terminal_width(STDOUT_FILENO)));
}

}  // namespace tacho
