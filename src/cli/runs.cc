// tacho runs: the local run store as a table or as JSON.
#include <unistd.h>

#include "base/text.h"
#include "base/time_text.h"
#include "cli/commands.h"
#include "cli/resolve.h"
#include "cli/terminal.h"
#include "os/clock.h"
#include "report/facts.h"
#include "report/human.h"
#include "report/newest.h"
#include "report/summary_text.h"

namespace tacho {
namespace {

// The command, or what else was recorded.
std::string what_ran(const Run& run) {
  if (std::string text = command_text(run, 1000); !text.empty()) return text;
  if (run.mode != "attach") return run.mode == "watch" ? "machine" : "";
  const std::string pid = run.pid != 0 ? "pid " + std::to_string(run.pid) : "";
  return harmless_text(run.process_name) + (run.process_name.empty() || pid.empty() ? pid : " (" + pid + ")");
}

std::vector<std::string> table_row(const StoredRun& stored) {
  const Run& run = stored.run;
  const RunFacts facts = facts_of(stored);
  return {stored.shown_id(),
          harmless_text(run.metadata.job_name),
          outcome_words(run),
          local_time_text(run.outcome.started_realtime_ns, false),
          is_absent(facts.duration_s) ? "" : duration_text(facts.duration_s),
          is_absent(facts.cpu_mean) ? "" : number_text(facts.cpu_mean),
          is_absent(facts.memory_peak_bytes) ? "" : bytes_text(facts.memory_peak_bytes),
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

struct Choice {
  std::optional<std::string> job;
  std::optional<int64_t> since_ns, limit;
  bool failed = false;
  bool all() const { return !job && !since_ns && !limit && !failed; }
};

Result<Choice> choice_of(const ParsedLine& line) {
  Choice choice{value_of(line, "job"), {}, {}, is_set(line, "failed")};
  const auto since = duration_of(line, "since");
  if (!since) return since.error();
  const auto limit = number_of(line, "limit", 1);
  if (!limit) return limit.error();
  if (*since) choice.since_ns = system_clock().realtime_ns() - **since;
  choice.limit = *limit;
  return choice;
}

Result<std::vector<StoredRun>> chosen_runs(const std::string& store_dir, const Choice& choice) {
  auto newest = NewestRuns::open(store_dir, Unreadable::told);
  if (!newest) return newest.error();
  if (choice.job) newest->only_job(*choice.job);
  std::vector<StoredRun> runs;
  while (!choice.limit || runs.size() < static_cast<size_t>(*choice.limit)) {
    auto stored = newest->next();
    if (!stored) break;
    const Outcome& outcome = stored->run.outcome;
    if (choice.since_ns && outcome.started_realtime_ns < *choice.since_ns) break;
    const bool is_failed = outcome.state == RunState::failed || outcome.state == RunState::interrupted;
    if (!choice.failed || is_failed) runs.push_back(std::move(*stored));
  }
  return runs;
}

}  // namespace

int runs_command(const Call& call) {
  const Started started = start(call, Words::anywhere);
  if (started.done) return *started.done;
  if (!started.line.words.empty())
    return refuse({Code::invalid, "runs takes no argument", started.line.words[0], "tacho show RUN prints one run"});
  const auto settings = resolve(started.line, kRuns, real_surroundings());
  if (!settings) return refuse(settings.error());
  const auto choice = choice_of(started.line);
  if (!choice) return refuse(choice.error());
  const auto runs = chosen_runs(settings->store_dir, *choice);
  if (!runs) return refuse(runs.error());
  if (is_set(started.line, "json")) return print(runs_json(*runs));
  if (runs->empty())
    return print_text(choice->all() ? "No runs in " + settings->store_dir + " yet; tacho run -- CMD records one.\n"
                                    : "No such runs in " + settings->store_dir + "; tacho runs lists all.\n");
  Table table{{"RUN", "JOB", "STATE", "WHEN", "TIME", "CORES", "MEMORY", "COMMAND"}, {}, Overlong::cut};
  table.right = {false, false, false, false, true, true, true, false};
  for (const StoredRun& stored : *runs) table.rows.push_back(table_row(stored));
  return print_text(table.text(use_color(settings->color, STDOUT_FILENO), terminal_width(STDOUT_FILENO)));
}

}  // namespace tacho
