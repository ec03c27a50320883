// tacho runs: the local run store as a table or as JSON. In the table the runs of one job of a scheduler are one line.
#include <unistd.h>

#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "base/time_text.h"
#include "cli/commands.h"
#include "cli/resolve.h"
#include "engine/settings.h"
#include "os/clock.h"
#include "os/text_table.h"
#include "report/store/facts.h"
#include "report/store/group.h"
#include "report/store/human.h"
#include "report/store/newest.h"
#include "report/summary_text.h"

namespace tacho {
namespace {

// The command, or what else was recorded.
std::string what_ran(const Run& run) {
  if (std::string text = command_text(run, 1000); !text.empty()) return text;
  if (run.mode != kModeAttach) return run.mode == kModeWatch ? "machine" : "";
  const std::string pid = run.pid != 0 ? "pid " + std::to_string(run.pid) : "";
  return harmless_text(run.process_name) + (run.process_name.empty() || pid.empty() ? pid : " (" + pid + ")");
}

// A line of the table: a run, or a group of them, the newest first.
using Line = std::vector<StoredRun>;

std::vector<std::string> run_row(const StoredRun& stored, const std::string& name) {
  const Run& run = stored.run;
  const RunFacts facts = facts_of(stored);
  return {name,
          harmless_text(run.metadata.job_name),
          outcome_words(run),
          local_time_text(run.outcome.started_realtime_ns, false),
          is_absent(facts.duration_s) ? "" : duration_text(facts.duration_s),
          is_absent(facts.cpu_mean) ? "" : number_text(facts.cpu_mean),
          is_absent(facts.memory_peak_bytes) ? "" : bytes_text(facts.memory_peak_bytes),
          what_ran(run)};
}

// The memory peak of a group is in its rows, and so is the end of a run whose tacho was killed. Of large groups they
// are not read for a list, and the largest peak of a member stands with a sign that there may be more.
constexpr int64_t kMostRowsOfAList = 200'000;

// So that tacho show has the same figures.
void read_last_rows_of(std::vector<Line>& lines, int64_t& rows_left) {
  for (Line& line : lines)
    for (StoredRun& stored : line) {
      if (stored.run.outcome.state != RunState::interrupted || stored.rows > rows_left) continue;
      rows_left -= stored.rows;
      read_last_rows(stored);
    }
}

std::vector<std::string> table_row(Line line, int64_t& rows_left) {
  if (line.size() == 1) return run_row(line[0], line[0].shown_id());
  std::reverse(line.begin(), line.end());
  for (const StoredRun& member : line) rows_left -= member.rows;
  const std::string count = " ×" + std::to_string(line.size());
  if (rows_left >= 0) {
    const Input group = group_input(std::move(line));
    return run_row(group.stored, group.stored.run.id + count);
  }
  constexpr size_t kMemory = 6;
  const StoredRun group = fold_group(line);
  std::vector<std::string> row = run_row(group, group.run.id + count);
  if (!row[kMemory].empty()) row[kMemory].insert(0, "≥ ");
  return row;
}

// Where a line has no room for all: names and commands need it more.
void leave_out_this_year(std::vector<std::vector<std::string>>& rows) {
  constexpr size_t kWhen = 3;
  const std::string year = local_time_text(system_clock().realtime_ns()).substr(0, 5);
  for (std::vector<std::string>& row : rows)
    if (row[kWhen].starts_with(year)) row[kWhen].erase(0, year.size());
}

// One object a run, the run.json of each as it is, and its group.
std::string runs_json(const std::vector<Line>& lines) {
  std::string out = "[";
  for (const Line& line : lines)
    for (const StoredRun& stored : line) {
      out += out.size() == 1 ? "\n" : ",\n";
      out += json_with_group(trim(stored.json), group_name(stored.run.started_by.job));
    }
  return out + (lines.empty() ? "]\n" : "\n]\n");
}

struct Choice {
  std::optional<std::string> job, job_id;
  std::optional<int64_t> since_ns, limit;
  bool failed = false, flat = false;
  bool all() const { return !job && !job_id && !since_ns && !limit && !failed; }
};

Result<Choice> choice_of(const ParsedLine& line) {
  Choice choice;
  choice.job = value_of(line, "job");
  choice.job_id = value_of(line, "job-id");
  choice.failed = is_set(line, "failed");
  choice.flat = is_set(line, "flat") || is_set(line, "json");
  const auto since = duration_of(line, "since");
  if (!since) return since.error();
  const auto limit = number_of(line, "limit", 1);
  if (!limit) return limit.error();
  if (*since) choice.since_ns = system_clock().realtime_ns() - **since;
  choice.limit = *limit;
  return choice;
}

// A job, a whole array, all components of a heterogeneous job, or one of either.
bool is_of_job(const ScheduledJob& job, const std::string& id) {
  if (id.empty()) return false;  // "$SLURM_JOB_ID", where there is none; most runs have no array
  const auto is_part = [&](char sign) { return job.id.starts_with(id + sign); };  // 4711+1, and 4711[3] of PBS
  return job.id == id || job.array == id || job.raw_id == id || is_part('+') || is_part('[');
}

bool did_fail(const StoredRun& stored) {
  const RunState state = stored.run.outcome.state;
  return state == RunState::failed || state == RunState::interrupted;
}

// Newest first. A group is where its newest run is, and whole: a limit counts lines, and --since and --failed ask
// whether one of its runs fits.
Result<std::vector<Line>> chosen_lines(const std::string& store_dir, const Choice& choice) {
  auto newest = NewestRuns::open(store_dir, Unreadable::told);
  if (!newest) return newest.error();
  if (choice.job) newest->only_job(*choice.job);
  std::vector<Line> lines;
  std::unordered_map<std::string, size_t> groups;  // their lines
  // Lines that are not wanted unless a later run says so; they keep their place.
  const auto is_wanted = [&](const Line& line) {
    return !choice.failed || std::any_of(line.begin(), line.end(), did_fail);
  };
  bool is_full = false;
  int64_t wanted = 0;
  while (!is_full || !groups.empty()) {
    auto stored = newest->next();
    if (!stored) break;
    if (choice.job_id && !is_of_job(stored->run.started_by.job, *choice.job_id)) continue;
    const std::string key = choice.flat ? "" : group_key(stored->run);
    const auto known = key.empty() ? groups.end() : groups.find(key);
    if (known != groups.end()) {
      lines[known->second].push_back(std::move(*stored));
      continue;
    }
    is_full = is_full || (choice.since_ns && stored->run.outcome.started_realtime_ns < *choice.since_ns);
    if (is_full) continue;
    lines.push_back({});
    lines.back().push_back(std::move(*stored));
    if (!key.empty()) groups.emplace(key, lines.size() - 1);
    if (is_wanted(lines.back())) ++wanted;
    is_full = choice.limit && wanted >= *choice.limit;
  }
  std::erase_if(lines, [&](const Line& line) { return !is_wanted(line); });
  if (choice.limit && lines.size() > static_cast<size_t>(*choice.limit))
    lines.resize(static_cast<size_t>(*choice.limit));
  return lines;
}

}  // namespace

int runs_command(const Invocation& call) {
  const Started started = start(call, Words::anywhere);
  if (started.done) return *started.done;
  if (!started.line.words.empty())
    return refuse({Code::invalid, "runs takes no argument", started.line.words[0], "tacho show RUN prints one run"});
  const auto settings = resolve(started.line, kRuns, real_surroundings());
  if (!settings) return refuse(settings.error());
  const auto choice = choice_of(started.line);
  if (!choice) return refuse(choice.error());
  auto lines = chosen_lines(settings->store_dir, *choice);
  if (!lines) return refuse(lines.error());
  int64_t rows_left = kMostRowsOfAList;
  read_last_rows_of(*lines, rows_left);
  if (is_set(started.line, "json")) return print(runs_json(*lines));
  if (lines->empty())
    return print_text(choice->all() ? "No runs in " + settings->store_dir + " yet; tacho run -- CMD records one.\n"
                                    : "No such runs in " + settings->store_dir + "; tacho runs lists all.\n");
  Table table{{"RUN", "JOB", "STATE", "WHEN", "TIME", "CORES", "MEMORY", "COMMAND"}, {}, Overlong::cut};
  table.right = {false, false, false, false, true, true, true, false};
  table.firm = {true, false, false, true, true, true, true, false};
  for (const Line& line : *lines) table.rows.push_back(table_row(line, rows_left));
  const size_t width = terminal_width(STDOUT_FILENO);
  if (width > 0 && table.least_width() > width) leave_out_this_year(table.rows);
  return print_text(table.text(use_color(settings->color, STDOUT_FILENO), width));
}

}  // namespace tacho
