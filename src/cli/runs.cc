// tacho runs: the local run store as a table or as JSON.
#include <unistd.h>

#include <ctime>

#include "base/text.h"
#include "base/units.h"
#include "base/writer.h"
#include "cli/commands.h"
#include "cli/resolve.h"
#include "cli/stored.h"
#include "cli/terminal.h"

namespace tacho {
namespace {

std::string when(int64_t realtime_ns) {
  const std::time_t seconds = realtime_ns / kNsPerSec;
  std::tm local{};
  std::array<char, 32> text{};
  if (localtime_r(&seconds, &local) == nullptr) return "";
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M", &local)};
}

std::vector<std::string> table_row(const StoredRun& stored) {
  const double cores = mean_cores(stored);
  const double peak_bytes = memory_peak_bytes(stored);
  return {stored.run.id,
          state_word(stored.run.outcome),
          when(stored.run.outcome.started_realtime_ns),
          human_duration(stored.run.outcome.duration_ns),
          is_absent(cores) ? "" : human_number(cores),
          is_absent(peak_bytes) ? "" : human_bytes(peak_bytes),
          what_ran(stored.run)};
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
  if (is_set(started.line, "json")) return print(runs_json(*runs)), 0;
  if (runs->empty()) {
    print("No runs in " + settings->store_dir + " yet; tacho run -- CMD records one.\n");
    return 0;
  }
  Table table{{"RUN", "STATE", "WHEN", "TIME", "CORES", "MEMORY", "COMMAND"}, {}};
  for (const StoredRun& stored : *runs) table.rows.push_back(table_row(stored));
  print(table.text(use_color(settings->color, STDOUT_FILENO), terminal_width(STDOUT_FILENO)));
  return 0;
}

}  // namespace tacho
