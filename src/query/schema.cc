#include "query/schema.h"

#include <array>

#include "base/text.h"
#include "probe/all_metrics.h"
#include "query/runs_table.h"
#include "report/column_units.h"

namespace tacho {
namespace {

using enum CellType;

constexpr auto kColumnsColumns = std::to_array<TableColumn>({{"run", text, ""},
                                                             {"name", text, "a column of samples"},
                                                             {"unit", text, ""},
                                                             {"mean", real, "by time"},
                                                             {"max", real, ""},
                                                             {"min", real, ""},
                                                             {"sum", real, "of what intervals add up"}});

void put_columns(const RunRow& run, RowTaker& rows) {
  for (const auto& [name, of] : run.stored.statistics)
    rows({run.name, name, known(unit_of_column(name)), known(of.mean), known(of.max), known(of.min), known(of.sum)});
}

constexpr auto kTagsColumns = std::to_array<TableColumn>({{"run", text, ""}, {"key", text, ""}, {"value", text, ""}});

void put_tags(const RunRow& run, RowTaker& rows) {
  for (const std::string& tag : run.stored.run.metadata.tags) {
    const std::string_view whole_tag = tag;
    const size_t sign = whole_tag.find('=');
    const Cell value = sign == std::string_view::npos ? Cell{} : Cell{whole_tag.substr(sign + 1)};
    rows({run.name, whole_tag.substr(0, sign), value});
  }
}

constexpr auto kPhasesColumns = std::to_array<TableColumn>({{"run", text, ""},
                                                            {"name", text, ""},
                                                            {"started", real, "UNIX s"},
                                                            {"ended", real, "UNIX s"},
                                                            {"seconds", real, ""},
                                                            {"cpu_s", real, ""},
                                                            {"cpu_mean", real, "cores"},
                                                            {"memory_peak_mib", real, ""},
                                                            {"disk_read_bytes", integer, ""},
                                                            {"disk_write_bytes", integer, ""},
                                                            {"gpu_mean", real, "GPUs"}});

void put_phases(const RunRow& run, RowTaker& rows) {
  for (const Phase& phase : run.stored.run.phases) {
    const double seconds = std::round((phase.ended_s - phase.started_s) * 1e3) / 1e3;
    rows({run.name, known(phase.name), phase.started_s, phase.ended_s, known(seconds), known(phase.cpu_s),
          known(phase.cpu_mean), known(phase.memory_peak_mib), whole(phase.disk_read_bytes),
          whole(phase.disk_write_bytes), known(phase.gpu_mean)});
  }
}

constexpr auto kProcessesColumns = std::to_array<TableColumn>({{"run", text, ""},
                                                               {"pid", integer, ""},
                                                               {"ppid", integer, ""},
                                                               {"name", text, ""},
                                                               {"command", text, ""},
                                                               {"started", real, "UNIX s"},
                                                               {"ended", real, "UNIX s"},
                                                               {"count", integer, "processes in this line"},
                                                               {"cpu_s", real, "its own"},
                                                               {"peak_memory_mib", real, ""},
                                                               {"disk_read_bytes", integer, ""},
                                                               {"disk_write_bytes", integer, ""},
                                                               {"gpu_vram_mib", real, ""},
                                                               {"exit", text, "status, or signal N"}});

Cell positive(int64_t number) { return number > 0 ? Cell{number} : Cell{}; }

void put_processes(const RunRow& run, RowTaker& rows) {
  for (const ProcessLine& one : run.processes)
    rows({run.name, positive(one.pid), positive(one.ppid), known(std::string_view(one.name)),
          known(std::string_view(one.command)), known(one.started), known(one.ended), positive(one.count),
          known(one.cpu_s), known(one.peak_mib), whole(one.read_bytes), whole(one.written_bytes), known(one.vram_mib),
          known(std::string_view(one.exit))});
}

std::string_view type_word(CellType type) { return type == text ? "TEXT" : type == integer ? "INTEGER" : "REAL"; }

// `group` is a keyword, and quoted a name like any other.
std::string quoted_name(std::string_view name) {
  return name == "group" ? '"' + std::string(name) + '"' : std::string(name);
}

std::string table_text(std::string_view head, std::span<const TableColumn> columns, std::string_view tail) {
  std::string out = std::string(head) + "(\n";
  for (size_t i = 0; i < columns.size(); ++i) {
    const TableColumn& column = columns[i];
    out += "  " + quoted_name(column.name) + " " + std::string(type_word(column.type));
    if (!column.function.empty()) out += " AS (" + std::string(column.function) + "(run)) VIRTUAL";
    out += i + 1 == columns.size() && tail.empty() ? "" : ",";
    if (!column.help.empty()) out += " -- " + std::string(column.help);
    out += '\n';
  }
  return out + std::string(tail) + ")";
}

const std::vector<TableColumn>& samples_columns() {
  static const std::vector<TableColumn> columns = [] {
    std::vector<TableColumn> all{{"run", text, "run = ... and run IN (...) open only the files of these"}};
    for (const Metric& metric : all_metrics())
      all.push_back({metric.column->name, metric.column->decimals > 0 ? real : integer, metric.column->unit});
    return all;
  }();
  return columns;
}

}  // namespace

std::span<const StoredTable> stored_tables() {
  static const std::array kTables{
      StoredTable{"runs", "one row a run", kRunsPart, runs_columns(), true, put_run},
      StoredTable{"tags", "--tag KEY=VALUE", kTagsPart, kTagsColumns, false, put_tags},
      StoredTable{"columns", "the statistics of every column", kColumnsPart, kColumnsColumns, false, put_columns},
      StoredTable{"phases", "what tacho mark named", kPhasesPart, kPhasesColumns, false, put_phases},
      StoredTable{"processes", "processes.csv", kProcessesPart, kProcessesColumns, false, put_processes},
  };
  return kTables;
}

// A run's rows lie side by side: of the table of runs by their key, of the others by an index.
std::string create_statement(const StoredTable& table) {
  const std::string head = "CREATE TABLE " + std::string(table.name);
  if (table.one_row_a_run) return table_text(head, table.columns, "  PRIMARY KEY (run)\n") + " WITHOUT ROWID;\n";
  const std::string name(table.name);
  return table_text(head, table.columns, "") + ";\nCREATE INDEX " + name + "_by_run ON " + name + "(run);\n";
}

std::string create_samples_statement() { return table_text("CREATE TABLE samples", samples_columns(), "") + ";\n"; }

std::string schema_text() {
  std::string out;
  for (const StoredTable& table : stored_tables())
    out += "-- " + std::string(table.help) + "\n" + create_statement(table) + "\n";
  return out + "-- every row of every metrics.csv, read when it is asked for\n" + create_samples_statement();
}

}  // namespace tacho
