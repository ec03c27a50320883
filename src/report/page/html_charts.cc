#include "report/page/html_charts.h"

#include <array>
#include <cmath>

#include "base/units.h"
#include "report/verdict/row_class.h"

namespace tacho {
namespace {

constexpr double kBytesOfMib = static_cast<double>(kMiB);
constexpr std::string_view kOomColumn = "cgroup_oom_kills", kThrottleColumn = "cgroup_throttled_time";
constexpr std::string_view kJobWaits = "waiting", kMachineWaits = "machine_waiting";
constexpr size_t kMostEvents = 300;

struct ChartLine {
  std::string_view column, name, role;
  double scale = 1;
};

struct ChartKind {
  std::string_view id, title, unit, empty;
  bool hide_zero;  // a machine without the device has zeros
  std::array<ChartLine, 4> lines;
};

constexpr std::array kKinds{
    ChartKind{"cpu",
              "CPU",
              "cores",
              "",
              false,
              {{{"system_cpu_usage", "machine", "machine"}, {"process_cpu_usage", "job", "job"}}}},
    ChartKind{"memory",
              "Memory",
              "bytes",
              "",
              false,
              {{{"system_memory_used_mib", "machine", "machine", kBytesOfMib},
                {"cgroup_memory_mib", "container", "third", kBytesOfMib},
                {"process_memory_mib", "job", "job", kBytesOfMib}}}},
    ChartKind{"disk",
              "Disk",
              "bytes/s",
              "no traffic",
              false,
              {{{"system_disk_read_bytes", "machine read", "machine"},
                {"system_disk_write_bytes", "machine written", "machine2"},
                {"process_disk_read_bytes", "job read", "job"},
                {"process_disk_write_bytes", "job written", "job2"}}}},
    ChartKind{
        "network",
        "Network of the machine",
        "bytes/s",
        "no traffic",
        false,
        {{{"system_net_recv_bytes", "machine received", "job"}, {"system_net_sent_bytes", "machine sent", "job2"}}}},
    ChartKind{"gpu",
              "GPUs in use",
              "GPUs",
              "not used",
              true,
              {{{"system_gpu_usage", "machine", "machine"}, {"process_gpu_usage", "job", "job"}}}},
    ChartKind{"vram",
              "GPU memory",
              "bytes",
              "not used",
              true,
              {{{"system_gpu_vram_mib", "machine", "machine", kBytesOfMib},
                {"process_gpu_vram_mib", "job", "job", kBytesOfMib}}}},
    ChartKind{"power", "GPU power", "W", "", true, {{{"system_gpu_power_w", "all GPUs", "third"}}}},
    ChartKind{"processes",
              "Processes and threads",
              "",
              "",
              true,
              {{{"process_threads", "threads", "third"}, {"process_children", "children of the job", "job"}}}},
    ChartKind{kJobWaits,
              "Time that the job lost waiting",
              "%",
              "no waiting",
              true,
              {{{"system_pressure_cpu_some", "machine, for CPU", "machine", 100},
                {"cgroup_pressure_cpu_some", "for CPU", "job", 100},
                {"cgroup_pressure_memory_full", "for memory", "third", 100},
                {"cgroup_pressure_io_full", "for disk", "job2", 100}}}},
    ChartKind{kMachineWaits,
              "Time that the machine lost waiting",
              "%",
              "",
              true,
              {{{"system_pressure_cpu_some", "for CPU", "job", 100},
                {"system_pressure_memory_full", "for memory", "third", 100},
                {"system_pressure_io_full", "for disk", "job2", 100}}}},
};

// What the job shares its cgroup's figure with is its page cache; without a container or a limit it tells nothing.
bool is_in_container(const Run& run) { return run.limits.memory_limit_bytes || !run.metadata.container_image.empty(); }

std::vector<PageLimit> limits_of(std::string_view id, const Run& run, const RunFacts& facts) {
  std::vector<PageLimit> limits;
  const auto add = [&](double value, std::string name) {
    if (value > 0) limits.push_back({value, std::move(name)});
  };
  if (id == "cpu") {
    const bool quota = run.limits.cpu_quota_cores && *run.limits.cpu_quota_cores <= facts.cores;
    add(facts.cores, quota ? "CPU quota" : facts.cores_limited ? "allowed:" : "the machine's");
  }
  if (id == "memory") add(facts.memory_bytes, facts.memory_limited ? "memory limit" : "the machine's");
  if (id == "gpu") add(facts.gpus, "the machine's");
  if (id == "vram") add(facts.vram_bytes, "the machine's");
  return limits;
}

bool is_shown(const ChartKind& kind, const SeriesFold& series, const Run& run) {
  // A sleeping job on a busy machine lost nothing: the machine's figure stands in only where the job's is not known.
  const bool own = series.has_value("cgroup_pressure_cpu_some") && JudgedRun::of(run).own_cgroup;
  if ((kind.id == kJobWaits && !own) || (kind.id == kMachineWaits && own)) return false;
  for (const ChartLine& line : kind.lines) {
    const double highest = line.column.empty() ? kAbsent : series.highest(line.column);
    if (!is_absent(highest) && (highest > 0 || !kind.hide_zero)) return true;
  }
  return false;
}

}  // namespace

std::span<const std::string_view> charted_columns() {
  static const std::vector<std::string_view> columns = [] {
    std::vector<std::string_view> names{kOomColumn, kThrottleColumn};
    for (const ChartKind& kind : kKinds)
      for (const ChartLine& line : kind.lines)
        if (!line.column.empty()) names.push_back(line.column);
    return names;
  }();
  return columns;
}

std::vector<PageChart> charts_of(const SeriesFold& series, const Run& run, const RunFacts& facts) {
  std::vector<PageChart> charts;
  for (const ChartKind& kind : kKinds) {
    if (!is_shown(kind, series, run)) continue;
    PageChart chart{std::string(kind.id),    std::string(kind.title),        std::string(kind.unit),
                    std::string(kind.empty), limits_of(kind.id, run, facts), {}};
    for (const ChartLine& line : kind.lines) {
      if (line.column.empty() || !series.has_value(line.column)) continue;
      if (line.name == "container" && !is_in_container(run)) continue;
      chart.lines.push_back({std::string(line.name), line.role, series.find(line.column), line.scale});
    }
    charts.push_back(std::move(chart));
  }
  return charts;
}

void write_page_chart(JsonWriter& json, const SeriesFold& series, const PageChart& chart) {
  json.object();
  json.key("id").value(chart.id);
  json.key("title").value(chart.title);
  json.key("unit").value(chart.unit);
  json.key("empty").value(chart.empty);
  json.key("limits").array();
  for (const PageLimit& limit : chart.limits) {
    json.object().key("value");
    write_number(json, limit.value);
    json.key("name").value(limit.name).end_object();
  }
  json.end_array();
  json.key("lines").array();
  for (const PageLine& line : chart.lines) write_page_line(json, series, line);
  json.end_array();
  json.end_object();
}

void write_page_events(JsonWriter& json, const SeriesFold& series) {
  const size_t oom = series.find(kOomColumn), throttled = series.find(kThrottleColumn);
  const auto begin_s = [&](size_t point) { return point == 0 ? 0 : series.end_s(point - 1); };
  json.key("oom").array();
  for (size_t point = 0, count = 0; point < series.points() && count < kMostEvents; ++point) {
    if (!(series.value(oom, point, SeriesFold::Part::max) > 0)) continue;
    const double kills = series.value(oom, point, SeriesFold::Part::mean) * (series.end_s(point) - begin_s(point));
    json.array().number(series.end_s(point), 3).integer(std::max<int64_t>(1, std::llround(kills))).end_array();
    ++count;
  }
  json.end_array();
  json.key("throttled").array();
  for (size_t point = 0, count = 0; point < series.points() && count < kMostEvents; ++count) {
    while (point < series.points() && !(series.value(throttled, point, SeriesFold::Part::max) > 0)) ++point;
    if (point == series.points()) break;
    const double from = begin_s(point);
    double lost = 0;
    for (; point < series.points() && series.value(throttled, point, SeriesFold::Part::max) > 0; ++point)
      lost += series.value(throttled, point, SeriesFold::Part::mean) * (series.end_s(point) - begin_s(point));
    const double to = series.end_s(point - 1);
    json.array().number(from, 3).number(to, 3).number(to > from ? lost / (to - from) : 0, 4).end_array();
  }
  json.end_array();
}

}  // namespace tacho
