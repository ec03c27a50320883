// Disk traffic and space of the machine, from /proc/diskstats and statvfs of the local file systems.
#include <algorithm>
#include <cmath>
#include <map>

#include "base/saturate.h"
#include "base/text.h"
#include "base/units.h"
#include "os/mounts.h"
#include "probe/disk_table.h"
#include "probe/kit/listed_devices.h"
#include "probe/kit/make.h"
#include "probe/space_table.h"
#include "probe/system.h"
#include "probe/zfs_pools.h"

namespace tacho {
namespace {

enum Field : size_t { read_bytes, write_bytes, busy_ms, completed, weighted_ms, total_bytes, free_bytes };

// Printed with three decimals of a GB: whole megabytes. All three columns are made of the same two whole numbers, so
// that total = used + free holds in what is printed.
double megabytes(const Reading& now, Field field) { return std::round(static_cast<double>(now.get(field)) / 1e6); }

double total_gb(const Reading&, const Reading& now, double) {
  return now.has(total_bytes) ? megabytes(now, total_bytes) / 1e3 : kAbsent;
}
double free_gb(const Reading&, const Reading& now, double) {
  return now.has(free_bytes) ? megabytes(now, free_bytes) / 1e3 : kAbsent;
}
double used_gb(const Reading&, const Reading& now, double) {
  if (!now.has(total_bytes) || !now.has(free_bytes)) return kAbsent;
  return (megabytes(now, total_bytes) - megabytes(now, free_bytes)) / 1e3;
}

double latency_ms(const Reading& before, const Reading& now, double) {
  if (!before.has(completed) || !now.has(completed)) return kAbsent;
  const int64_t requests = now.get(completed) - before.get(completed);
  if (requests <= 0) return kAbsent;
  return static_cast<double>(now.get(busy_ms) - before.get(busy_ms)) / static_cast<double>(requests);
}

constexpr Column kColumns[] = {
    {12, "system_disk_read_bytes", "bytes", 0, Rule::delta, read_bytes, 1,
     "Bytes read from all disks of the machine in this interval.", nullptr},
    {13, "system_disk_write_bytes", "bytes", 0, Rule::delta, write_bytes, 1,
     "Bytes written to all disks of the machine in this interval.", nullptr},
    {14, "system_disk_space_total_gb", "GB", 3, Rule::custom, total_bytes, kBytesToGb,
     "Size of all local file systems.", total_gb},
    {15, "system_disk_space_used_gb", "GB", 3, Rule::custom, total_bytes, kBytesToGb,
     "Space in use on all local file systems, with what is kept for root.", used_gb},
    {16, "system_disk_space_free_gb", "GB", 3, Rule::custom, free_bytes, kBytesToGb,
     "Space free to users on all local file systems.", free_gb},
    {106, "system_disk_latency_ms", "ms", 3, Rule::custom, busy_ms, 1,
     "Average time of a disk request that completed in this interval.", latency_ms},
    {107, "system_disk_queue_length", "requests", 3, Rule::rate, weighted_ms, 1e-3,
     "Disk requests in flight, averaged over the interval, all disks together.", nullptr},
    {278, "system_disk_requests", "count", 0, Rule::delta, completed, 1,
     "Reads and writes that the disks of the machine completed in this interval.", nullptr},
};

constexpr int64_t kLookForDevicesNs = 5 * kNsPerSec;

class DiskProbe final : public Probe {
 public:
  explicit DiskProbe(ProbeContext& context)
      : context_(context),
        file_(context.roots.proc + "/diskstats"),
        table_(context.roots),
        space_(context.roots),
        pools_(context) {}

  void read(Reading& out) override {
    stamp_ns_ = out.stamp_ns;
    fresh_ = (out.stamp_ns < look_again_ns_ && update_counted()) || update_all(out.stamp_ns);
    if (fresh_) {
      const DiskTotals& totals = table_.totals();
      out.set(read_bytes, totals.read_bytes);
      out.set(write_bytes, totals.write_bytes);
      out.set(busy_ms, totals.busy_ms);
      out.set(completed, totals.completed);
      out.set(weighted_ms, totals.weighted_ms);
    }
    Space sum;
    if (!space_.read(sum)) {
      if (space_.misses_one())
        context_.note(
            "system_disk_space_* were empty at times: a local file system that was in the sums could not be read");
      return;
    }
    out.set(total_bytes, sum.total_bytes);
    out.set(free_bytes, std::min(sum.free_bytes, sum.total_bytes));
  }

  void describe(Detail& detail) override;

  std::vector<DeviceColumn> list_devices() override {
    devices_.clear();
    std::vector<DeviceColumn> columns;
    for (const DiskEntry& entry : table_.entries()) {
      if (!entry.counted()) continue;
      const std::string name = "disk_" + harmless_text(entry.name);
      columns.push_back({name + "_read_bytes", DeviceRule::delta, 1, 0});
      columns.push_back({name + "_write_bytes", DeviceRule::delta, 1, 0});
      columns.push_back({name + "_busy", DeviceRule::share_of_time, 1e-3, 4});
      devices_.add(entry.name);
    }
    return columns;
  }

  void read_devices(std::span<DeviceValue> values) override {
    if (!fresh_) return;
    const auto entries = table_.entries();
    devices_.find(table_.changes(), entries, [](const DiskEntry& entry) { return entry.counted(); });
    for (size_t i = 0; i < devices_.size(); ++i) {
      const DiskEntry* const entry = devices_.entry(i, entries);
      if (entry == nullptr) continue;
      values[3 * i].value = saturating_multiply(entry->last.sectors_read, kSectorBytes);
      values[3 * i + 1].value = saturating_multiply(entry->last.sectors_written, kSectorBytes);
      values[3 * i + 2].value = entry->last.io_ms;
    }
  }

 private:
  bool update_all(int64_t now_ns) {
    std::string_view text;
    if (!file_.read(context_.buffer, text) || !table_.update(text)) return false;
    look_again_ns_ = now_ns + kLookForDevicesNs;
    find_counted();
    if (table_.guessed() && !noted_) {
      noted_ = true;
      context_.note("disks were told apart from partitions by their names: there is no /sys/block here");
    }
    return true;
  }
  // Most machines have a disk or two among many loop devices and partitions: their own files cost a third of all lines.
  void find_counted() {
    if (counted_of_ == table_.changes() || described_ || !context_.roots.are_real()) return;
    counted_of_ = table_.changes();
    counted_.clear();
    const auto entries = table_.entries();
    for (size_t i = 0; i < entries.size(); ++i)
      if (entries[i].counted())
        counted_.push_back({i, KeptFile(context_.roots.sys + "/block/" + entries[i].name + "/stat")});
    if (counted_.size() > 2 || table_.guessed()) counted_.clear();
  }
  bool update_counted() {
    for (Counted& disk : counted_) {
      std::string_view text;
      if (!disk.file.read(context_.buffer, text)) return counted_.clear(), false;  // unplugged: all lines tell
      table_.update_one(disk.index, text);
    }
    return !counted_.empty();
  }
  std::string disk_of(const FileSystem& file_system) const;
  void refresh_static();

  ProbeContext& context_;
  KeptFile file_;
  DiskTable table_;
  SpaceTable space_;
  struct Counted {
    size_t index;  // of the table's entry
    KeptFile file;
  };
  std::vector<Counted> counted_;
  ListedDevices devices_;  // of devices.csv
  uint64_t counted_of_ = 0;
  int64_t look_again_ns_ = 0;
  bool noted_ = false;
  bool described_ = false;
  bool fresh_ = false;  // the last reading of counters worked
  int64_t stamp_ns_ = 0;
  ZfsPools pools_;
  // What does not change while devices and mounts stay the same.
  uint64_t static_of_devices_ = 0, static_of_mounts_ = 0;
  std::map<std::string, BlockFacts> facts_;  // of every whole device
  std::vector<std::string> disk_names_;      // that hold the file systems of space_, in their order
};

void DiskProbe::refresh_static() {
  if (static_of_devices_ == table_.changes() && static_of_mounts_ == space_.changes()) return;
  static_of_devices_ = table_.changes();
  static_of_mounts_ = space_.changes();
  facts_.clear();
  for (const DiskEntry& entry : table_.entries())
    if (entry.role != BlockRole::partition) facts_.emplace(entry.name, block_facts(context_.roots, entry.name));
  disk_names_.clear();
  for (const SpaceTable::Entry& entry : space_.entries()) disk_names_.push_back(disk_of(entry.file_system));
}

// The whole device that holds a file system, by device number; empty when it is not in /proc/diskstats.
std::string DiskProbe::disk_of(const FileSystem& file_system) const {
  if (!file_system.pool.empty()) return "zfs:" + file_system.pool;
  DeviceNumber device = file_system.device;
  if (device.major == 0) {
    const auto source = block_device_at(file_system.source);
    if (!source) return {};
    device = *source;
  }
  const auto entries = table_.entries();
  for (const DiskEntry& entry : entries) {
    if (DeviceNumber{entry.major, entry.minor} != device) continue;
    if (entry.role != BlockRole::partition) return entry.name;
    for (const DiskEntry& disk : entries)
      if (disk.role != BlockRole::partition && is_partition_of(context_.roots, disk.name, entry.name)) return disk.name;
  }
  return {};
}

MountDetail mount_detail(const SpaceTable::Entry& entry) {
  return {entry.file_system.mount_point, entry.file_system.type, entry.space.total_bytes,
          entry.space.total_bytes - entry.space.free_bytes, entry.space.free_bytes};
}

void DiskProbe::describe(Detail& detail) {
  const bool first = !described_;  // before the job starts: nothing may hold it up
  if (first) {
    described_ = true;
    counted_.clear();
    table_.keep_all();
    fresh_ = update_all(0);
  }
  if (!fresh_) return;  // counters of an earlier tick are no reading
  refresh_static();
  const auto is_pool = [](const SpaceTable::Entry& entry) { return !entry.file_system.pool.empty(); };
  if (!first && !context_.facts.closing && std::any_of(space_.entries().begin(), space_.entries().end(), is_pool))
    pools_.look(stamp_ns_);
  std::map<std::string, DiskDetail> disks;  // sorted by name
  for (const DiskEntry& entry : table_.entries()) {
    if (entry.role == BlockRole::partition) continue;
    const BlockFacts& known = facts_[entry.name];
    disks[entry.name] = {entry.name,
                         known.model,
                         known.vendor,
                         known.serial,
                         known.type,
                         known.capacity_bytes,
                         {},
                         saturating_multiply(entry.last.sectors_read, kSectorBytes),
                         saturating_multiply(entry.last.sectors_written, kSectorBytes),
                         entry.counted()};
  }
  for (size_t i = 0; i < disk_names_.size(); ++i) {
    const SpaceTable::Entry& entry = space_.entries()[i];
    if (!entry.known || disk_names_[i].empty()) continue;
    DiskDetail& disk = disks[disk_names_[i]];
    if (disk.device.empty()) {  // a ZFS pool: no device of its own, its disks are listed and counted themselves
      disk.device = disk_names_[i];
      disk.capacity_bytes = pools_.size_bytes(entry.file_system.pool).value_or(entry.space.total_bytes);
    }
    disk.mounts.push_back(mount_detail(entry));
  }
  for (auto& [name, disk] : disks) detail.disks.push_back(std::move(disk));
}

Status check(const Roots& roots) { return need_file(roots.proc + "/diskstats", kMountProcHint); }

}  // namespace

const ProbeInfo kDiskProbe = {"disk",   ProbeDefault::on,      "disk traffic, latency and space of the machine",
                              kColumns, make_probe<DiskProbe>, check};

}  // namespace tacho
