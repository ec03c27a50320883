#include "monitor/rows.h"

#include <algorithm>
#include <cmath>

#include "base/time_text.h"

namespace tacho {
namespace {

constexpr int kGbDecimals = 6, kRateDecimals = 4;
constexpr int64_t kLargestExact = int64_t{1} << 53;

std::optional<double> gb(const std::optional<int64_t>& bytes) {
  if (!bytes) return std::nullopt;
  return static_cast<double>(*bytes) * kBytesToGb;
}

// Members of one object. Numbers are written as short as they are: a row should stay below a kilobyte.
class RowWriter {
 public:
  explicit RowWriter(Writer& out) : json_(out) { json_.object(); }
  void end() { json_.end_object(); }

  void text(std::string_view name, std::string_view value) {
    if (!value.empty()) json_.key(name).value(value);
  }
  void whole(std::string_view name, const std::optional<int64_t>& value) {
    if (!value) return;
    json_.key(name);
    // Beyond this a double, which many readers make of it, is not exact.
    if (*value > kLargestExact || *value < -kLargestExact) json_.value(std::string_view(std::to_string(*value)));
    else json_.integer(*value);
  }
  void number(std::string_view name, const std::optional<double>& value, int decimals = kRateDecimals) {
    if (!value || !std::isfinite(*value)) return;
    json_.key(name);
    put(*value, decimals);
  }
  void size(std::string_view name, const std::optional<double>& gigabytes) { number(name, gigabytes, kGbDecimals); }
  void time(std::string_view name, int64_t realtime_ns) {
    scratch_.clear();
    put_timestamp(scratch_, realtime_ns);
    json_.key(name).value(scratch_.view());
  }

  // An array of what get() makes of each item; left out when it is empty or an item has no value, as an array has no
  // gaps.
  template <class Items, class Get>
  void numbers(std::string_view name, const Items& items, Get get, int decimals = kRateDecimals) {
    const auto known = [&](const auto& item) {
      const std::optional<double> value = get(item);
      return value && std::isfinite(*value);
    };
    if (items.empty() || !std::all_of(items.begin(), items.end(), known)) return;
    json_.key(name).array();
    for (const auto& item : items) put(*std::optional<double>(get(item)), decimals);
    json_.end_array();
  }
  template <class Items, class Get>
  void texts(std::string_view name, const Items& items, Get get) {
    if (items.empty()) return;
    json_.key(name).array();
    for (const auto& item : items) json_.value(get(item));
    json_.end_array();
  }

 private:
  // 12.5000 is 12.5, and 0.0000 is 0.
  void put(double value, int decimals) {
    scratch_.clear();
    scratch_.put_fixed(value, decimals);
    std::string_view digits = scratch_.view();
    if (digits.find('.') != std::string_view::npos) {
      while (digits.ends_with('0')) digits.remove_suffix(1);
      if (digits.ends_with('.')) digits.remove_suffix(1);
    }
    json_.raw(digits == "-0" ? "0" : digits);
  }

  JsonWriter json_;
  Writer scratch_{64};
};

void put_disks(RowWriter& row, std::span<const DiskValues> disks) {
  row.numbers(
      "disk_used_gb", disks, [](const DiskValues& disk) { return disk.used_gb; }, kGbDecimals);
  row.numbers("disk_read_iops", disks, [](const DiskValues& disk) { return disk.read_iops; });
  row.numbers("disk_write_iops", disks, [](const DiskValues& disk) { return disk.write_iops; });
}

void put_more_disks(RowWriter& row, std::span<const DiskValues> disks) {
  row.texts("disk_ok", disks, [](const DiskValues& disk) { return disk.ok; });
  row.numbers("disk_read_mb_per_s", disks, [](const DiskValues& disk) { return disk.read_mb_per_s; });
  row.numbers("disk_write_mb_per_s", disks, [](const DiskValues& disk) { return disk.write_mb_per_s; });
  row.numbers(
      "disk_busy_percent", disks, [](const DiskValues& disk) { return disk.busy_percent; }, 2);
}

std::optional<double> swap_used_gb(const MemoryDetail& memory) {
  if (!memory.swap_total_bytes || !memory.swap_free_bytes) return std::nullopt;
  return static_cast<double>(std::max<int64_t>(0, *memory.swap_total_bytes - *memory.swap_free_bytes)) * kBytesToGb;
}

}  // namespace

std::optional<double> used_memory_gb(const MemoryDetail& memory) {
  if (!memory.total_bytes || !memory.free_bytes) return std::nullopt;
  const int64_t caches = memory.buffers_bytes.value_or(0) + memory.cached_bytes.value_or(0);
  const int64_t used = *memory.total_bytes - *memory.free_bytes - caches;
  return static_cast<double>(std::max<int64_t>(0, used)) * kBytesToGb;
}

void put_timestamp(Writer& out, int64_t realtime_ns) {
  const IsoTime time(realtime_ns);
  out.put(time.view().substr(0, 23));
  const auto micros = static_cast<int>(realtime_ns / 1000 % 1000);
  for (const int digit : {micros / 100, micros / 10 % 10, micros % 10}) out.put(static_cast<char>('0' + digit));
  out.put('Z');
}

void write_metrics_row(Writer& out, const MetricsSample& sample) {
  RowWriter row(out);
  row.time("timestamp", sample.realtime_ns);
  row.numbers(
      "cpu_used_percent", sample.cpu_used_percent, [](double percent) { return percent; }, 2);
  row.size("mem_used_gb", used_memory_gb(sample.memory));
  put_disks(row, sample.disks);
  row.whole("seq", sample.seq);
  row.text("event", sample.event);
  row.number("cpu_iowait_percent", sample.cpu_iowait_percent, 2);
  row.number("cpu_steal_percent", sample.cpu_steal_percent, 2);
  row.number("load1", sample.load1, 2);
  row.size("mem_available_gb", gb(sample.memory.available_bytes));
  row.size("mem_cached_gb", gb(sample.memory.cached_bytes));
  row.size("swap_used_gb", swap_used_gb(sample.memory));
  row.number("cgroup_cpu_cores", sample.cgroup_cpu_cores);
  row.number("cgroup_cpu_throttled_percent", sample.cgroup_cpu_throttled_percent, 2);
  row.size("cgroup_mem_used_gb", sample.cgroup_mem_used_gb);
  row.size("cgroup_mem_peak_gb", sample.cgroup_mem_peak_gb);
  row.size("cgroup_mem_limit_gb", sample.cgroup_mem_limit_gb);
  put_more_disks(row, sample.disks);
  row.number("net_rx_mb_per_s", sample.net_rx_mb_per_s);
  row.number("net_tx_mb_per_s", sample.net_tx_mb_per_s);
  row.numbers(
      "gpu_used_percent", sample.gpus, [](const GpuDetail& gpu) { return gpu.utilization_pct; }, 2);
  row.numbers(
      "gpu_mem_used_gb", sample.gpus, [](const GpuDetail& gpu) { return gb(gpu.vram_used_bytes); }, kGbDecimals);
  row.numbers(
      "gpu_power_w", sample.gpus, [](const GpuDetail& gpu) { return gpu.power_watts; }, 1);
  row.whole("proc_count", sample.proc_count);
  row.number("proc_cpu_cores", sample.proc_cpu_cores);
  row.size("proc_rss_gb", sample.proc_rss_gb);
  row.text("top_process", sample.top_process);
  row.whole("oom_kills", sample.oom_kills);
  row.number("psi_cpu_some", sample.pressure.cpu_some, 2);
  row.number("psi_mem_some", sample.pressure.memory_some, 2);
  row.number("psi_mem_full", sample.pressure.memory_full, 2);
  row.number("psi_io_some", sample.pressure.io_some, 2);
  row.number("psi_io_full", sample.pressure.io_full, 2);
  row.number("self_cpu_percent", sample.self_cpu_percent);
  row.size("self_rss_gb", sample.self_rss_gb);
  row.whole("rows_dropped", sample.rows_dropped);
  row.end();
}

void write_runtime_row(Writer& out, const RuntimeFacts& facts) {
  RowWriter row(out);
  row.whole("cpu_count", facts.cpu_count);
  row.size("mem_total_gb", gb(facts.mem_total_bytes));
  row.texts("disk_mounts", facts.disks, [](const DiskValues& disk) { return std::string_view(disk.mount); });
  row.numbers(
      "disk_total_gb", facts.disks, [](const DiskValues& disk) { return disk.total_gb; }, kGbDecimals);
  row.time("start_time", facts.start_realtime_ns);
  row.text("run_id", facts.run_id);
  row.text("tacho_version", TACHO_VERSION);
  row.text("monitor_form", form_name(facts.form));
  row.text("cpu_model", facts.cpu_model);
  row.text("kernel", facts.kernel);
  if (facts.boot_time_s) row.time("boot_time", *facts.boot_time_s * 1'000'000'000);
  row.whole("measure_interval_ms", facts.measure_interval_ms);
  row.whole("report_interval_ms", facts.report_interval_ms);
  row.size("mem_limit_gb", gb(facts.mem_limit_bytes));
  row.number("cpu_limit", facts.cpu_limit);
  row.size("swap_total_gb", gb(facts.swap_total_bytes));
  row.texts("disk_devices", facts.disks, [](const DiskValues& disk) { return std::string_view(disk.device); });
  if (!facts.gpus.empty()) row.whole("gpu_count", static_cast<int64_t>(facts.gpus.size()));
  row.texts("gpu_models", facts.gpus, [](const GpuDetail& gpu) { return std::string_view(gpu.name); });
  row.numbers(
      "gpu_mem_total_gb", facts.gpus, [](const GpuDetail& gpu) { return gb(gpu.vram_total_bytes); }, kGbDecimals);
  row.end();
}

}  // namespace tacho
