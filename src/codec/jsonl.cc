#include "codec/jsonl.h"

#include <algorithm>

#include "base/units.h"

namespace tacho {

// The members that several objects need: null where unknown, MiB in the wanted form, rates of two counters.
class JsonlEncoder::Line {
 public:
  Line(Writer& out, const JsonlEncoder& encoder, const Row& row, const Detail& now)
      : json_(out), encoder_(encoder), row_(row), now_(now) {}

  void write(std::span<const std::string> messages);

 private:
  void cpu();
  void cores();
  void memory();
  void network();
  void disks();
  void gpus();
  void limits();
  void extended();

  void text(std::string_view name, std::string_view value) {
    json_.key(name);
    value.empty() ? json_.null() : json_.value(value);
  }
  template <class Number>
  void number(std::string_view name, const std::optional<Number>& value, int decimals) {
    json_.key(name).number(value ? static_cast<double>(*value) : kAbsent, decimals);
  }
  void integer(std::string_view name, const std::optional<int64_t>& value) {
    json_.key(name);
    value ? json_.integer(*value) : json_.null();
  }
  void mib(std::string_view name, double value_mib, int decimals = 3) {
    json_.key(name).number(value_mib, encoder_.compatible_ ? 0 : decimals);
  }
  template <class Number>
  void mib_of(std::string_view name, const std::optional<Number>& bytes, int decimals = 3) {
    mib(name, bytes ? static_cast<double>(*bytes) / static_cast<double>(kMiB) : kAbsent, decimals);
  }
  // With the digits of the machine's memory columns: a line and a row say the same number.
  void memory_of(std::string_view name, const std::optional<int64_t>& bytes) { mib_of(name, bytes, 1); }
  void percent(std::string_view name, const std::optional<int64_t>& part, const std::optional<int64_t>& whole) {
    const bool known = part && whole && *whole > 0;
    json_.key(name).number(known ? 100.0 * static_cast<double>(*part) / static_cast<double>(*whole) : kAbsent, 2);
  }
  // A counter that fell was reset: it starts at 0 again. `before` is absent for a device that is new.
  void rate(std::string_view name, const std::optional<int64_t>& before, const std::optional<int64_t>& now,
            double seconds) {
    const double added = before && now ? static_cast<double>(std::max<int64_t>(0, *now - *before)) : kAbsent;
    json_.key(name).number(seconds > 0 ? added / seconds : kAbsent, 3);
  }
  double seconds_since(int64_t stamp_ns) const {
    return encoder_.has_before_ ? as_seconds(now_.stamp_ns - stamp_ns) : 0;
  }
  double cell_value(int index) const {
    return index >= 0 && static_cast<size_t>(index) < row_.cells.size() ? row_.cells[static_cast<size_t>(index)]
                                                                        : kAbsent;
  }
  void cell(std::string_view name, int index) {
    json_.key(name).number(cell_value(index), index >= 0 ? encoder_.schema_[static_cast<size_t>(index)].decimals : 0);
  }
  // "enx001122334455" is made of the address: "enx" and its place in the list.
  std::string unnamed(const NetDetail& net) const {
    std::string digits;
    for (const char c : net.mac_address)
      if (c != ':') digits += c;
    const size_t at = digits.empty() ? std::string::npos : net.interface.find(digits);
    if (at == std::string::npos) return net.interface;
    return net.interface.substr(0, at) + std::to_string(&net - now_.network.data() + 1);
  }
  // The same device in the Detail before; null when it was not there.
  template <class Device>
  const Device* earlier(const std::vector<Device>& devices, std::string Device::*key, const Device& device) const {
    if (!encoder_.has_before_) return nullptr;
    for (const Device& other : devices)
      if (other.*key == device.*key) return &other;
    return nullptr;
  }

  JsonWriter json_;
  const JsonlEncoder& encoder_;
  const Row& row_;
  const Detail& now_;
};

void JsonlEncoder::Line::write(std::span<const std::string> messages) {
  const int64_t unix_ms = row_.realtime_ns / kNsPerMs;
  json_.object();
  json_.key("timestamp_secs").integer(unix_ms / 1000);
  json_.key("timestamp").number(static_cast<double>(unix_ms) / 1000, 3);
  if (row_.index > 0) json_.key("actual_interval_ms").integer((row_.interval_ns + kNsPerMs / 2) / kNsPerMs);
  text("job_name", encoder_.job_name_);
  // From the row: at begin() the job may not have been started yet.
  cell("tracked_pid", encoder_.cells_.pid);
  cpu();
  memory();
  network();
  disks();
  gpus();
  limits();
  extended();
  if (!messages.empty()) {
    json_.key("messages").array();
    for (const std::string& message : messages) json_.value(message);
    json_.end_array();
  }
  json_.key("resource-tracker-version").value(encoder_.version_);
  json_.key("tacho_version").value(encoder_.version_);
  json_.end_object();
}

void JsonlEncoder::Line::cpu() {
  const Cells& at = encoder_.cells_;
  json_.key("cpu").object();
  cell("utilization_pct", at.cpu_usage);
  cores();
  cell("utime_secs", at.utime);
  cell("stime_secs", at.stime);
  cell("process_count", at.processes);
  const double seconds = seconds_since(encoder_.before_ns_.cgroup);
  const bool both = now_.cgroup_usage_s && encoder_.before_.cgroup_usage_s && seconds > 0;
  const double used_s = both ? std::max(0.0, *now_.cgroup_usage_s - *encoder_.before_.cgroup_usage_s) : kAbsent;
  json_.key("cgroup_utilization_pct").number(used_s / seconds, 4);
  number("cgroup_usage_secs", now_.cgroup_usage_s, 4);
  cell("process_cores_used", at.process_cpu);
  cell("process_child_count", at.children);
  cell("process_utime_secs", at.process_utime);
  cell("process_stime_secs", at.process_stime);
  mib_of("process_pss_mib", now_.process_pss_bytes);
  mib_of("process_rss_mib", now_.process_rss_bytes);
  text("process_memory_source", now_.process_memory_source != nullptr ? now_.process_memory_source : "");
  cell("process_disk_read_bytes", at.disk_read);
  cell("process_disk_write_bytes", at.disk_write);
  cell("process_gpu_usage", at.gpu_usage);
  cell("process_gpu_vram_mib", at.gpu_vram);  // no whole number in the older client either
  cell("process_gpu_utilized", at.gpu_utilized);
  json_.end_object();
}

void JsonlEncoder::Line::cores() {
  // Cores that came or went make the two lists differ in length: then nothing is known about this interval.
  const std::vector<CoreDetail>& before = encoder_.before_.cores;
  const bool comparable = encoder_.has_before_ && before.size() == now_.cores.size();
  json_.key("per_core_pct").array();
  for (size_t i = 0; i < now_.cores.size(); ++i) {
    const int64_t total_ns = comparable ? now_.cores[i].total_ns - before[i].total_ns : 0;
    const int64_t busy_ns = comparable ? now_.cores[i].busy_ns - before[i].busy_ns : 0;
    // An interval shorter than a clock tick: no time was accounted, so none was busy.
    const double share = total_ns > 0 ? static_cast<double>(busy_ns) / static_cast<double>(total_ns) : 0;
    json_.number(comparable ? 100 * std::clamp(share, 0.0, 1.0) : kAbsent, 2);
  }
  json_.end_array();
}

void JsonlEncoder::Line::memory() {
  const MemoryDetail& memory = now_.memory;
  std::optional<int64_t> swap_used_bytes;
  if (memory.swap_total_bytes && memory.swap_free_bytes)
    swap_used_bytes = *memory.swap_total_bytes - *memory.swap_free_bytes;
  json_.key("memory").object();
  memory_of("total_mib", memory.total_bytes);
  memory_of("free_mib", memory.free_bytes);
  // Whole numbers are rounded, but this one cut: used and available together must not be more than there is.
  const bool cut = encoder_.compatible_ && memory.available_bytes;
  memory_of("available_mib", cut ? *memory.available_bytes / kMiB * kMiB : memory.available_bytes);
  memory_of("used_mib", memory.used_bytes);
  percent("used_pct", memory.used_bytes, memory.total_bytes);
  memory_of("buffers_mib", memory.buffers_bytes);
  memory_of("cached_mib", memory.cached_bytes);
  memory_of("swap_total_mib", memory.swap_total_bytes);
  memory_of("swap_used_mib", swap_used_bytes);
  if (memory.swap_total_bytes == 0) json_.key("swap_used_pct").integer(0);  // without swap, as the contract has it
  else percent("swap_used_pct", swap_used_bytes, memory.swap_total_bytes);
  memory_of("active_mib", memory.active_bytes);
  memory_of("inactive_mib", memory.inactive_bytes);
  json_.end_object();
}

void JsonlEncoder::Line::network() {
  const double seconds = seconds_since(encoder_.before_ns_.network);
  json_.key("network").array();
  for (const NetDetail& net : now_.network) {
    if (net.interface == "lo") continue;
    const NetDetail* before = earlier(encoder_.before_.network, &NetDetail::interface, net);
    json_.object();
    json_.key("interface")
        .value(encoder_.hides_macs_ ? std::string_view(unnamed(net)) : std::string_view(net.interface));
    text("mac_address", encoder_.hides_macs_ ? "" : std::string_view(net.mac_address));
    text("driver", net.driver);
    text("operstate", net.operstate);
    json_.key("speed_mbps").integer(net.speed_mbps);
    integer("mtu", net.mtu);
    rate("rx_bytes_per_sec", before != nullptr ? std::optional(before->rx_bytes) : std::nullopt, net.rx_bytes, seconds);
    rate("tx_bytes_per_sec", before != nullptr ? std::optional(before->tx_bytes) : std::nullopt, net.tx_bytes, seconds);
    json_.key("rx_bytes_total").integer(net.rx_bytes);
    json_.key("tx_bytes_total").integer(net.tx_bytes);
    json_.key("counted").value(net.counted);
    json_.end_object();
  }
  json_.end_array();
}

void JsonlEncoder::Line::disks() {
  const double seconds = seconds_since(encoder_.before_ns_.disks);
  json_.key("disk").array();
  for (const DiskDetail& disk : now_.disks) {
    const DiskDetail* before = earlier(encoder_.before_.disks, &DiskDetail::device, disk);
    json_.object();
    json_.key("device").value(disk.device);
    text("model", disk.model);
    text("vendor", disk.vendor);
    text("serial", encoder_.hides_serials_ ? "" : std::string_view(disk.serial));
    text("device_type", disk.device_type);
    integer("capacity_bytes", disk.capacity_bytes == 0 ? std::nullopt : disk.capacity_bytes);
    json_.key("mounts").array();
    for (const MountDetail& mount : disk.mounts) {
      json_.object();
      json_.key("mount_point").value(mount.mount_point);
      json_.key("filesystem").value(mount.filesystem);
      json_.key("total_bytes").integer(mount.total_bytes);
      json_.key("used_bytes").integer(mount.used_bytes);
      json_.key("available_bytes").integer(mount.available_bytes);
      percent("used_pct", mount.used_bytes, mount.total_bytes);
      json_.end_object();
    }
    json_.end_array();
    rate("read_bytes_per_sec", before != nullptr ? before->read_bytes : std::nullopt, disk.read_bytes, seconds);
    rate("write_bytes_per_sec", before != nullptr ? before->write_bytes : std::nullopt, disk.write_bytes, seconds);
    integer("read_bytes_total", disk.read_bytes);
    integer("write_bytes_total", disk.write_bytes);
    json_.key("counted").value(disk.counted);
    json_.end_object();
  }
  json_.end_array();
}

void JsonlEncoder::Line::gpus() {
  json_.key("gpu").array();
  for (const GpuDetail& gpu : now_.gpus) {
    json_.object();
    text("uuid", encoder_.hides_uuids_ ? "" : std::string_view(gpu.uuid));
    text("name", gpu.name);
    text("device_type", gpu.device_type);
    text("host_id", encoder_.hides_host_ ? "" : std::string_view(gpu.host_id));  // the host's name
    json_.key("detail").object();
    for (const auto& [name, value] : gpu.detail) json_.key(name).value(value);
    json_.end_object();
    number("utilization_pct", gpu.utilization_pct, 2);
    integer("vram_total_bytes", gpu.vram_total_bytes);
    integer("vram_used_bytes", gpu.vram_used_bytes);
    percent("vram_used_pct", gpu.vram_used_bytes, gpu.vram_total_bytes);
    number("temperature_celsius", gpu.temperature_celsius, 0);
    number("power_watts", gpu.power_watts, 3);
    number("frequency_mhz", gpu.frequency_mhz, 0);
    integer("core_count", gpu.core_count);
    json_.end_object();
  }
  json_.end_array();
}

void JsonlEncoder::Line::limits() {
  json_.key("limits").object();
  number("cpu_quota_cores", now_.limits.cpu_quota_cores, 4);
  number("cpuset_cpus", now_.limits.cpuset_cpus, 0);
  mib_of("memory_limit_mib", now_.limits.memory_limit_bytes);
  json_.end_object();
}

// The columns beyond the compatible ones, under their CSV names.
void JsonlEncoder::Line::extended() {
  const auto is_extended = [](const Column& column) { return column.position > 32; };
  const Schema& schema = encoder_.schema_;
  if (std::none_of(schema.begin(), schema.end(), is_extended)) return;
  json_.key("extended").object();
  for (size_t i = 0; i < schema.size(); ++i)
    if (is_extended(schema[i])) cell(schema[i].name, static_cast<int>(i));
  json_.end_object();
}

void JsonlEncoder::begin(const Run& run, const Schema& schema, bool compatible) {
  schema_ = schema;
  compatible_ = compatible;
  job_name_ = is_hidden(run, "job_name") ? "" : run.metadata.job_name;
  version_ = run.version;
  hides_macs_ = is_hidden(run, "mac_address");
  hides_serials_ = is_hidden(run, "disk_serial");
  hides_uuids_ = is_hidden(run, "gpu_uuid");
  hides_host_ = is_hidden(run, "host_hostname") || is_hidden(run, "host_name") || is_hidden(run, "host_id");
  has_before_ = false;
  const auto at = [&](std::string_view name) {
    for (size_t i = 0; i < schema_.size(); ++i)
      if (schema_[i].name == name) return static_cast<int>(i);
    return -1;
  };
  cells_ = {at("system_cpu_usage"),
            at("system_utime"),
            at("system_stime"),
            at("system_processes"),
            at("process_cpu_usage"),
            at("process_children"),
            at("process_utime"),
            at("process_stime"),
            at("process_disk_read_bytes"),
            at("process_disk_write_bytes"),
            at("process_gpu_usage"),
            at("process_gpu_vram_mib"),
            at("process_gpu_utilized"),
            is_hidden(run, "pid") ? -1 : at("process_pid")};
}

void JsonlEncoder::baseline(const Detail& detail) {
  const auto keep = [&](auto Detail::*list, int64_t& stamp_ns) {
    if ((detail.*list).empty() && has_before_) return;
    before_.*list = detail.*list;
    stamp_ns = detail.stamp_ns;
  };
  keep(&Detail::cores, before_ns_.cores);
  keep(&Detail::network, before_ns_.network);
  keep(&Detail::disks, before_ns_.disks);
  if (detail.cgroup_usage_s || !has_before_) {
    before_.cgroup_usage_s = detail.cgroup_usage_s;
    before_ns_.cgroup = detail.stamp_ns;
  }
  has_before_ = true;
}

void JsonlEncoder::write(Writer& out, const Row& row, const Detail& detail, std::span<const std::string> messages) {
  Line(out, *this, row, detail).write(messages);
  out.put('\n');
  baseline(detail);
}

}  // namespace tacho
