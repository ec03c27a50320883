#include "query/runs_table.h"

#include <array>

#include "base/units.h"
#include "codec/run_words.h"
#include "query/schema.h"

namespace tacho {
namespace {

using enum CellType;

struct RunColumn {
  TableColumn column;
  Cell (*cell)(const RunRow& run, std::string& room);  // room: for a text that is made
};

template <std::string Metadata::*member>
Cell metadata(const RunRow& run, std::string&) {
  return known(run.stored.run.metadata.*member);
}

double unix_seconds(int64_t realtime_ns) { return realtime_ns > 0 ? seconds_by_ms(realtime_ns) : kAbsent; }

Cell command(const RunRow& run, std::string& room) {
  for (const std::string& word : run.stored.run.command) (room += room.empty() ? "" : " ") += word;
  return known(room);
}

Cell group(const RunRow& run, std::string& room) {
  room = group_name(run.stored.run.started_by.job);
  return known(room);
}

Cell oom_killed(const RunRow& run, std::string&) { return known(run.stored.run.outcome.oom_killed); }

// The columns that the contract names, in its order.
constexpr auto kRunColumns = std::to_array<RunColumn>({
    {{"run", text, "the run's id, which is its folder's name"},
     [](const RunRow& r, std::string&) { return known(r.name); }},
    {{"job_name", text, ""}, metadata<&Metadata::job_name>},
    {{"project_name", text, ""}, metadata<&Metadata::project_name>},
    {{"stage_name", text, ""}, metadata<&Metadata::stage_name>},
    {{"task_name", text, ""}, metadata<&Metadata::task_name>},
    {{"team", text, ""}, metadata<&Metadata::team>},
    {{"env", text, ""}, metadata<&Metadata::env>},
    {{"language", text, ""}, metadata<&Metadata::language>},
    {{"orchestrator", text, "workflow engine or CI system"}, metadata<&Metadata::orchestrator>},
    {{"executor", text, "scheduler"}, metadata<&Metadata::executor>},
    {{"external_run_id", text, "what these call it"}, metadata<&Metadata::external_run_id>},
    {{"container_image", text, ""}, metadata<&Metadata::container_image>},
    {{"command", text, "its words, with a blank between"}, command},
    {{"mode", text, "run, attach or watch"}, [](const RunRow& r, std::string&) { return known(r.stored.run.mode); }},
    {{"state", text, "running, finished, failed or interrupted"},
     [](const RunRow& r, std::string&) { return known(state_word(r.stored.run.outcome.state)); }},
    {{"exit_code", integer, ""}, [](const RunRow& r, std::string&) { return known(r.stored.run.outcome.exit_code); }},
    {{"signal", integer, "that ended it"},
     [](const RunRow& r, std::string&) { return known(r.stored.run.outcome.signal); }},
    {{"oom_killed", integer, "1 or 0"}, oom_killed},
    {{"started", real, "UNIX s"},
     [](const RunRow& r, std::string&) { return known(unix_seconds(r.stored.run.outcome.started_realtime_ns)); }},
    {{"finished", real, "UNIX s"},
     [](const RunRow& r, std::string&) { return known(unix_seconds(r.stored.run.outcome.finished_realtime_ns)); }},
    {{"seconds", real, "from start to end"}, [](const RunRow& r, std::string&) { return known(r.facts.duration_s); }},
    {{"host", text, ""}, [](const RunRow& r, std::string&) { return known(r.stored.run.host.host_hostname); }},
    {{"vcpus", integer, "of the host"},
     [](const RunRow& r, std::string&) { return known(r.stored.run.host.host_vcpus); }},
    {{"cpu_s", real, "user and system seconds"},
     [](const RunRow& r, std::string&) { return known(r.facts.cpu_user_s + r.facts.cpu_system_s); }},
    {{"cpu_mean", real, "cores"}, [](const RunRow& r, std::string&) { return known(r.facts.cpu_mean); }},
    {{"memory_peak_bytes", integer, ""},
     [](const RunRow& r, std::string&) { return whole(r.facts.memory_peak_bytes); }},
    {{"io_read_bytes", integer, ""}, [](const RunRow& r, std::string&) { return whole(r.facts.disk_read_bytes); }},
    {{"io_write_bytes", integer, ""}, [](const RunRow& r, std::string&) { return whole(r.facts.disk_write_bytes); }},
    {{"gpu_mean", real, "GPUs"}, [](const RunRow& r, std::string&) { return known(r.facts.gpu_mean); }},
    {{"gpu_memory_peak_bytes", integer, ""},
     [](const RunRow& r, std::string&) { return whole(r.facts.vram_peak_bytes); }},
    {{"requested_cpus", real, "asked of the scheduler"},
     [](const RunRow& r, std::string&) { return known(r.stored.run.started_by.requested.cpus); }},
    {{"requested_memory_bytes", integer, ""},
     [](const RunRow& r, std::string&) { return known(r.stored.run.started_by.requested.memory_bytes); }},
    {{"requested_gpus", integer, ""},
     [](const RunRow& r, std::string&) { return known(r.stored.run.started_by.requested.gpus); }},
    {{"samples", integer, "rows of metrics.csv"}, [](const RunRow& r, std::string&) { return Cell{r.stored.rows}; }},
    {{"verdict", text, "what limited it, as tacho why says", kVerdictFunction}, nullptr},
    {{"group", text, "the job whose tasks and nodes are runs, slurm:4711_3"}, group},
    {{"folder", text, "where its files are"},
     [](const RunRow& r, std::string&) { return known(std::string_view(r.stored.folder)); }},
    {{"json", text, "run.json, for ->>", kJsonFunction}, nullptr},
});

}  // namespace

std::span<const TableColumn> runs_columns() {
  static constexpr auto kColumns = [] {
    std::array<TableColumn, kRunColumns.size()> columns{};
    for (size_t i = 0; i < columns.size(); ++i) columns[i] = kRunColumns[i].column;
    return columns;
  }();
  return kColumns;
}

void put_run(const RunRow& run, RowTaker& rows) {
  std::array<std::string, kRunColumns.size()> room;
  std::vector<Cell> cells;
  cells.reserve(kRunColumns.size());
  for (size_t i = 0; i < kRunColumns.size(); ++i)
    if (kRunColumns[i].cell != nullptr) cells.push_back(kRunColumns[i].cell(run, room[i]));
  rows(cells);
}

}  // namespace tacho
