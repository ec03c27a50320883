#include "report/store/group.h"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "codec/csv.h"
#include "codec/run_json.h"
#include "os/file.h"
#include "report/store/group_rows.h"
#include "report/store/newest.h"

namespace tacho {
namespace {

constexpr size_t kNamedMembers = 12;

// Rows that are in no file: a place in memory that has a path, so that whoever reads rows can read these.
struct MadeRows {
  Fd memory;
  std::string path;
};

MadeRows write_rows(GroupRows& rows, Summary& summary) {
  MadeRows made{Fd(::memfd_create("tacho-group", MFD_CLOEXEC)), ""};
  if (!made.memory) return made;
  constexpr size_t kPieceBytes = 64 << 10;
  Writer text(2 * kPieceBytes);
  write_csv_header(text, rows.schema());
  summary.begin(rows.schema());
  bool written = true;
  for (Row row; rows.next(row);) {
    summary.add(row);
    write_csv_row(text, rows.schema(), row);
    if (text.view().size() < kPieceBytes) continue;
    written = written && write_all(made.memory.get(), text.view());
    text.clear();
  }
  if (written && write_all(made.memory.get(), text.view()))
    made.path = "/proc/self/fd/" + std::to_string(made.memory.get());
  return made;
}

std::vector<std::pair<std::string, Statistics>> statistics_of_rows(const Summary& summary) {
  std::vector<std::pair<std::string, Statistics>> all;
  for (size_t i = 0; i < summary.schema().size(); ++i) {
    Statistics values = summary.column(i);
    const std::string name(summary.schema()[i].name);
    if (i > 0 && !is_per_interval(name)) values.sum = kAbsent;
    if (values.rows > 0) all.emplace_back(name, values);
  }
  return all;
}

std::string names_of(std::span<const StoredRun> members) {
  std::string names;
  for (size_t i = 0; i < members.size() && i < kNamedMembers; ++i)
    names += (i == 0 ? "" : ", ") + members[i].shown_id();
  if (members.size() > kNamedMembers) names += " and " + std::to_string(members.size() - kNamedMembers) + " more";
  return names;
}

std::string group_json(const Run& run, const Summary& summary, std::span<const StoredRun> members) {
  Writer text, ids;
  write_run_json(text, run, summary);
  JsonWriter list(ids);
  list.array();
  for (const StoredRun& member : members) list.value(member.run.id);
  list.end_array();
  const std::string json = json_with_group(text.view(), run.id);
  return json.substr(0, json.rfind('}')) + ",\"runs\": " + std::string(ids.view()) + "\n}\n";
}

}  // namespace

std::string group_key(const Run& run) {
  const std::string name = group_name(run.started_by.job);
  return name.empty() ? name : name + '\n' + run.started_by.job.cluster;
}

bool is_group_form(std::string_view word) {
  const size_t colon = word.find(':');
  return colon != word.npos && colon > 0 && colon + 1 < word.size() && !word.starts_with("last:") &&
         word.find('/') > colon;
}

Result<std::vector<StoredRun>> group_members(const std::string& store_dir, const std::string& name) {
  auto runs = NewestRuns::open(store_dir);
  if (!runs) return runs.error();
  runs->only_group(name);
  std::vector<StoredRun> members;
  while (auto stored = runs->next()) {
    // Of a run whose tacho was killed the rows tell more than run.json.
    if (auto whole = read_run(stored->folder)) members.push_back(std::move(*whole));
  }
  std::reverse(members.begin(), members.end());
  for (const StoredRun& member : members)
    if (group_key(member.run) != group_key(members[0].run))
      return Error{Code::invalid, "two clusters have a job of this number", name,
                   "name its runs: " + names_of(members)};
  return members;
}

std::string json_with_group(std::string_view json, const std::string& group) {
  if (group.empty() || !json.starts_with('{')) return std::string(json);
  Writer name;
  JsonWriter(name).value(group);
  return "{\n  \"group\": " + std::string(name.view()) + "," + std::string(json.substr(1));
}

Input group_input(std::vector<StoredRun> members) {
  if (members.size() == 1) return stored_input(std::move(members[0]));
  Input input{fold_group(members), ""};
  Run& run = input.stored.run;
  GroupRows rows(members);
  Summary summary;
  MadeRows made = write_rows(rows, summary);
  const double from_rows = rows.memory_peak_mib() * static_cast<double>(kMiB);
  const auto largest = run.totals.memory_peak_bytes;
  if (!is_absent(from_rows))
    run.totals.memory_peak_bytes = std::max(largest.value_or(0), static_cast<int64_t>(std::llround(from_rows)));
  if (run.totals.memory_peak_bytes)
    summary.raise_max("process_memory_mib",
                      static_cast<double>(*run.totals.memory_peak_bytes) / static_cast<double>(kMiB));
  run.notes.push_back("its runs: " + names_of(members));
  if (rows.unreadable() > 0)
    run.notes.push_back(std::to_string(rows.unreadable()) + " of its runs have no rows: the memory peak lacks them");
  input.stored.statistics = statistics_of_rows(summary);
  input.stored.json = group_json(run, summary, members);
  input.rows_path = made.path;
  input.made_rows = std::make_shared<Fd>(std::move(made.memory));
  input.members = std::move(members);
  return input;
}

}  // namespace tacho
