#include "report/page/html_devices.h"

#include <algorithm>
#include <array>

#include "base/page_text.h"
#include "base/text.h"
#include "base/units.h"
#include "report/page/html_charts.h"
#include "report/store/csv_reader.h"
#include "report/store/input.h"

namespace tacho {
namespace {

constexpr size_t kMostColumns = 1200, kMostCharts = 24;

struct DeviceLine {
  std::string_view kind, suffix, name, role;
  double scale;
};
// `kind`_NAME_`suffix`. "share" is drawn against a scale of its own, 0 to 100 %.
constexpr auto kDeviceLines = std::to_array<DeviceLine>({
    {"gpu", "_usage", "busy", "job", 100},
    {"gpu", "_vram_mib", "memory", "job2", 1},
    {"gpu", "_sm_active", "SM active", "third", 100},
    {"gpu", "_tensor_active", "tensor cores", "machine", 100},
    {"gpu", "_dram_active", "memory bus", "machine2", 100},
    {"disk", "_read_bytes", "read", "job", 1},
    {"disk", "_write_bytes", "written", "job2", 1},
    {"disk", "_busy", "busy", "share", 100},
    {"net", "_recv_bytes", "received", "job", 1},
    {"net", "_sent_bytes", "sent", "job2", 1},
});

// "sda" of disk_sda_busy; empty: the column is something else.
std::string_view device_name(std::string_view column, std::string_view kind, std::string_view suffix) {
  if (!column.starts_with(kind) || !column.ends_with(suffix)) return {};
  column.remove_prefix(kind.size());
  if (!column.starts_with('_') || column.size() <= 1 + suffix.size()) return {};
  return column.substr(1, column.size() - 1 - suffix.size());
}

struct DeviceChart {
  PageChart chart;
  double weight = 0;  // what it did, against others of its kind
};

std::string device_title(std::string_view kind, const std::string& name) {
  if (kind == "gpu") return "GPU " + name;
  return (kind == "disk" ? "Disk " : "Interface ") + name;
}

DeviceChart& chart_for(std::vector<DeviceChart>& charts, std::string_view kind, const std::string& name) {
  const std::string id = std::string(kind) + " " + name;
  for (DeviceChart& one : charts)
    if (one.chart.id == id) return one;
  const bool gpu = kind == "gpu";
  charts.push_back({{id, device_title(kind, name), gpu ? "%" : "bytes/s", gpu ? "not used" : "no traffic", {}, {}}, 0});
  return charts.back();
}

std::vector<DeviceChart> device_charts(const SeriesFold& series, const RunFacts& facts) {
  std::vector<DeviceChart> charts;
  const double vram_mib = facts.gpus > 0 ? facts.vram_bytes / facts.gpus / static_cast<double>(kMiB) : kAbsent;
  for (size_t column = 0; column < series.columns().size(); ++column) {
    for (const DeviceLine& kind : kDeviceLines) {
      const std::string_view raw = device_name(series.columns()[column], kind.kind, kind.suffix);
      if (raw.empty() || !series.has_value(series.columns()[column])) continue;
      DeviceChart& one = chart_for(charts, kind.kind, page_text(raw, 40));
      PageLine line{std::string(kind.name), kind.role, column, kind.scale};
      if (kind.suffix == "_vram_mib") {
        if (!(vram_mib > 0)) continue;  // a share of what is not known
        line.scale = 100 / vram_mib;
        one.chart.limits.push_back({100, "all of its memory"});
      }
      one.weight = std::max(one.weight, series.highest(series.columns()[column]) * (kind.suffix == "_busy" ? 0 : 1));
      one.chart.lines.push_back(std::move(line));
    }
  }
  std::erase_if(charts, [](const DeviceChart& one) { return one.chart.lines.empty(); });
  const auto rank = [](const DeviceChart& one) { return one.chart.id[0] == 'g' ? 0 : one.chart.id[0] == 'd' ? 1 : 2; };
  const bool many = charts.size() > kMostCharts;  // else in the order of their names
  std::stable_sort(charts.begin(), charts.end(), [&](const DeviceChart& a, const DeviceChart& b) {
    return rank(a) != rank(b) ? rank(a) < rank(b) : many && a.weight > b.weight;
  });
  return charts;
}

void write_heat(JsonWriter& json, const SeriesFold& series) {
  std::vector<size_t> rows;
  std::string_view kind;
  for (const std::string_view one : {"core", "node"}) {
    if (!rows.empty()) break;
    kind = one;
    for (size_t column = 0; column < series.columns().size(); ++column)
      if (!device_name(series.columns()[column], one, "_usage").empty()) rows.push_back(column);
  }
  if (rows.empty()) return;
  json.key("heat").object();
  json.key("kind").value(kind);
  json.key("names").array();
  for (const size_t column : rows) json.value(page_text(device_name(series.columns()[column], kind, "_usage"), 12));
  json.end_array();
  json.key("rows").array();
  for (const size_t column : rows) write_share_bytes(json, series, column);
  json.end_array();
  json.end_object();
}

}  // namespace

PageDevices read_page_devices(const std::string& path, const Run& run, size_t points) {
  PageDevices devices;
  CsvReader reader;
  if (!reader.open(path)) return devices;
  std::vector<std::string_view> wanted;
  for (const std::string& column : reader.columns())
    if (column != "timestamp" && wanted.size() < kMostColumns) wanted.emplace_back(column);
  Summary summary;
  summary.begin(reader.schema());
  devices.series.begin(reader.schema(), wanted, points);
  each_row(reader, run, [&](const Row& row) {
    devices.series.add(row);
    summary.add(row);
  });
  for (size_t i = 1; i < reader.columns().size() && i <= kMostColumns; ++i) {
    Statistics values = summary.column(i);
    if (!is_per_interval(reader.columns()[i])) values.sum = kAbsent;
    if (values.rows > 0) devices.statistics.emplace_back(reader.columns()[i], values);
  }
  return devices;
}

void write_page_devices(JsonWriter& json, const PageDevices& devices, const RunFacts& facts) {
  json.key("device_ms");
  write_durations(json, devices.series);
  write_heat(json, devices.series);
  const std::vector<DeviceChart> charts = device_charts(devices.series, facts);
  json.key("devices").array();
  for (size_t i = 0; i < charts.size() && i < kMostCharts; ++i) write_page_chart(json, devices.series, charts[i].chart);
  json.end_array();
  json.key("devices_left_out").integer(static_cast<int64_t>(charts.size() - std::min(charts.size(), kMostCharts)));
}

}  // namespace tacho
