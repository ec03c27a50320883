#include "monitor/mount_disks.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/units.h"

namespace tacho {
namespace {

constexpr double kMb = 1e-6;
constexpr int64_t kPatience_ns = 20 * kNsPerMs;
constexpr int64_t kFirstPatience_ns = 80 * kNsPerMs;          // the sizes in the runtime row are told once
constexpr int64_t kLookAgain_ns = kNsPerSec - 50 * kNsPerMs;  // a tick of one second may come early
// A file system without a disk of its own, such as a container's root: nothing is gone that could come back.
constexpr int64_t kNoDevice_ns = 10 * kNsPerSec;

// A counter that went back (32 bits, or a disk that was put back) adds nothing, and counts from there.
double added(int64_t before, int64_t now) { return now > before ? static_cast<double>(now - before) : 0; }

// No disk is behind it, so that its rates are 0 and not unknown.
bool is_in_memory(const MountPlace& place) { return place.type == "tmpfs" || place.type == "ramfs"; }

// A link may lead to any mount. What is not there leads nowhere.
bool has_no_links(const std::string& path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    struct stat info {};
    if (::lstat(path.substr(0, end).c_str(), &info) != 0) return errno == ENOENT;
    if (S_ISLNK(info.st_mode)) return false;
    if (end == std::string::npos) return true;
  }
}

}  // namespace

MountDisks::MountDisks(const Roots& roots, std::vector<std::string> mounts, SpaceWorkers::Ask ask)
    : mountinfo_path_(roots.proc + "/self/mountinfo"),
      watch_(mountinfo_path_),
      diskstats_(roots.proc + "/diskstats"),
      ask_(ask),
      workers_(mounts, std::move(ask)),
      entries_(mounts.size()),
      values_(mounts.size()),
      counted_(mounts.size()) {
  for (size_t i = 0; i < mounts.size(); ++i) values_[i].mount = std::move(mounts[i]);
}

void MountDisks::prepare() {
  if (watch_.changed()) changed_ = true;
  if (changed_) find_direct();
  if (!direct_) workers_.request();
}

void MountDisks::find_direct() {
  const auto text = read_whole_file(mountinfo_path_);
  direct_ = text && std::all_of(values_.begin(), values_.end(), [&](const DiskValues& disk) {
              return answers_from_memory(*text, disk.mount) && has_no_links(disk.mount);
            });
}

void MountDisks::ask() {
  if (!direct_) return workers_.take(answers_.empty() ? kFirstPatience_ns : kPatience_ns, answers_);
  answers_.resize(values_.size());
  for (size_t i = 0; i < answers_.size(); ++i) {
    answers_[i].ok = ask_(values_[i].mount, answers_[i].space, answers_[i].real_path);
    if (!answers_[i].ok) answers_[i].real_path.clear();
  }
}

void MountDisks::resolve() {
  const auto text = read_whole_file(mountinfo_path_);
  if (!text) return;
  for (size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    const std::string& path = answers_[i].real_path.empty() ? values_[i].mount : answers_[i].real_path;
    auto place = find_mount(*text, path);
    entry.found = place && (place->exact || !entry.was_exact);
    if (!entry.found) continue;
    entry.was_exact = place->exact;
    // btrfs and others number their file systems apart from the device that they are on.
    if (place->device.major == 0)
      if (const auto device = block_device_at(place->source)) place->device = *device;
    if (place->device != entry.place.device) entry.has_base = false;
    entry.place = std::move(*place);
  }
}

void MountDisks::read(int64_t stamp_ns, ReadBuffer& buffer) {
  ask();
  if (changed_ || (failed_ && stamp_ns >= looked_ns_ + look_again_ns_)) {
    changed_ = false;
    looked_ns_ = stamp_ns;
    resolve();
  }
  std::fill(counted_.begin(), counted_.end(), false);
  std::string_view text;
  if (diskstats_.read(buffer, text)) read_counters(text, stamp_ns);
  failed_ = false;
  look_again_ns_ = kNoDevice_ns;
  for (size_t i = 0; i < values_.size(); ++i) {
    const bool has_space = answers_[i].ok && entries_[i].found;
    values_[i].ok = has_space && (counted_[i] || is_in_memory(entries_[i].place));
    failed_ = failed_ || !values_[i].ok;
    if (!has_space) look_again_ns_ = kLookAgain_ns;
    if (!has_space) continue;
    values_[i].total_gb = static_cast<double>(answers_[i].space.total_bytes) * kBytesToGb;
    values_[i].used_gb = static_cast<double>(answers_[i].space.used_bytes) * kBytesToGb;
  }
}

void MountDisks::read_counters(std::string_view diskstats, int64_t stamp_ns) {
  DiskStatsLines lines(diskstats);
  for (DiskLine line; lines.next(line);)
    for (size_t i = 0; i < entries_.size(); ++i)
      if (entries_[i].found && entries_[i].place.device == DeviceNumber{line.major, line.minor})
        count(i, line, stamp_ns);
}

void MountDisks::count(size_t index, const DiskLine& line, int64_t stamp_ns) {
  Entry& entry = entries_[index];
  DiskValues& values = values_[index];
  DiskCounters now;
  if (!parse_disk_counters(line.counters, now)) return;
  counted_[index] = true;
  if (values.device != line.name) values.device = line.name;
  const double seconds = as_seconds(stamp_ns - entry.base_ns);
  if (entry.has_base && seconds <= 0) return;
  const auto rate = [&](int64_t DiskCounters::*counter) {
    return entry.has_base ? added(entry.base.*counter, now.*counter) / seconds : 0;
  };
  values.read_iops = rate(&DiskCounters::reads);
  values.write_iops = rate(&DiskCounters::writes);
  values.read_mb_per_s = rate(&DiskCounters::sectors_read) * kSectorBytes * kMb;
  values.write_mb_per_s = rate(&DiskCounters::sectors_written) * kSectorBytes * kMb;
  values.busy_percent = std::min(100.0, rate(&DiskCounters::io_ms) / 10);
  entry.base = now;
  entry.base_ns = stamp_ns;
  entry.has_base = true;
}

}  // namespace tacho
