#include "report/html_charts.h"

#include <array>

#include "base/units.h"
#include "report/html_page.h"

namespace tacho {
namespace {

constexpr double kMib = static_cast<double>(kMiB);

struct Line {
  std::string_view column, name, role;  // the role picks colour and style
  double scale = 1;
};

struct Chart {
  std::string_view title, unit;
  int decimals;
  double RunFacts::*limit;
  std::string_view limit_name;
  bool hide_zero;  // a machine without the device has zeros
  std::array<Line, 4> lines;
};

constexpr std::array kCharts{
    Chart{"CPU",
          "cores",
          3,
          &RunFacts::cores,
          "available",
          false,
          {{{"system_cpu_usage", "machine", "machine"}, {"process_cpu_usage", "job", "job"}}}},
    Chart{"Memory",
          "bytes",
          0,
          &RunFacts::memory_bytes,
          "available",
          false,
          {{{"system_memory_used_mib", "machine", "machine", kMib},
            {"cgroup_memory_mib", "cgroup", "third", kMib},
            {"process_memory_mib", "job", "job", kMib}}}},
    Chart{"Disk",
          "bytes/s",
          0,
          nullptr,
          "",
          false,
          {{{"system_disk_read_bytes", "machine read", "machine"},
            {"system_disk_write_bytes", "machine written", "machine2"},
            {"process_disk_read_bytes", "job read", "job"},
            {"process_disk_write_bytes", "job written", "job2"}}}},
    Chart{"Network",
          "bytes/s",
          0,
          nullptr,
          "",
          false,
          {{{"system_net_recv_bytes", "machine received", "job"}, {"system_net_sent_bytes", "machine sent", "job2"}}}},
    Chart{"GPU",
          "GPUs",
          3,
          &RunFacts::gpus,
          "installed",
          true,
          {{{"system_gpu_usage", "machine", "machine"}, {"process_gpu_usage", "job", "job"}}}},
    Chart{"GPU memory",
          "bytes",
          0,
          &RunFacts::vram_bytes,
          "installed",
          true,
          {{{"system_gpu_vram_mib", "machine", "machine", kMib}, {"process_gpu_vram_mib", "job", "job", kMib}}}},
    Chart{"GPU power", "W", 1, nullptr, "", true, {{{"system_gpu_power_w", "all GPUs", "third"}}}},
    Chart{"Processes", "", 2, nullptr, "", true, {{{"process_children", "children of the job", "job"}}}},
    Chart{"Waiting",
          "%",
          2,
          nullptr,
          "",
          true,
          {{{"system_pressure_cpu_some", "for CPU", "job", 100},
            {"system_pressure_memory_full", "for memory", "third", 100},
            {"system_pressure_io_full", "for disk", "job2", 100}}}},
};

template <class Value>
void write_values(JsonWriter& json, const SeriesFold& series, double scale, int decimals, Value value) {
  json.array();
  for (size_t point = 0; point < series.points(); ++point) json.number(value(point) * scale, decimals);
  json.end_array();
}

void write_line(JsonWriter& json, const SeriesFold& series, const Line& line, int decimals) {
  json.object();
  json.key("name").value(line.name);
  json.key("role").value(line.role);
  json.key("mean");
  write_values(json, series, line.scale, decimals, [&](size_t point) { return series.mean(line.column, point); });
  if (series.merged()) {
    json.key("max");
    write_values(json, series, line.scale, decimals, [&](size_t point) { return series.max(line.column, point); });
  }
  json.end_object();
}

bool is_shown(const Chart& chart, const SeriesFold& series) {
  for (const Line& line : chart.lines) {
    const double highest = line.column.empty() ? kAbsent : series.highest(line.column);
    if (!is_absent(highest) && (highest > 0 || !chart.hide_zero)) return true;
  }
  return false;
}

}  // namespace

std::span<const std::string_view> charted_columns() {
  static const std::vector<std::string_view> columns = [] {
    std::vector<std::string_view> names;
    for (const Chart& chart : kCharts)
      for (const Line& line : chart.lines)
        if (!line.column.empty()) names.push_back(line.column);
    return names;
  }();
  return columns;
}

void write_chart_data(Writer& out, const SeriesFold& series, const RunFacts& facts) {
  JsonWriter json(out);
  json.object();
  json.key("t").array();
  for (size_t point = 0; point < series.points(); ++point) json.number(series.end_s(point), 3);
  json.end_array();
  json.key("charts").array();
  for (const Chart& chart : kCharts) {
    if (!is_shown(chart, series)) continue;
    json.object();
    json.key("title").value(chart.title);
    json.key("unit").value(chart.unit);
    json.key("limit").number(chart.limit != nullptr ? facts.*chart.limit : kAbsent, 3);
    json.key("limitName").value(chart.limit_name);
    json.key("series").array();
    for (const Line& line : chart.lines)
      if (!line.column.empty() && series.has_value(line.column)) write_line(json, series, line, chart.decimals);
    json.end_array();
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

}  // namespace tacho
