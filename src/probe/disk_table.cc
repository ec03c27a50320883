#include "probe/disk_table.h"

#include <algorithm>

#include "base/saturate.h"

namespace tacho {
namespace {

bool is_line_of(const DiskEntry& entry, const DiskLine& line) {
  return entry.minor == line.minor && entry.major == line.major && entry.name == line.name;
}

int64_t added(int64_t before, int64_t now) { return std::max<int64_t>(0, now - before); }

// The kernel prints milliseconds as 32 bits: a busy queue is around in days. From the last eighth of the range to the
// first it went round; any other fall is a counter that began anew.
int64_t added_ms(int64_t before, int64_t now) {
  constexpr int64_t kRange = int64_t{1} << 32;
  const bool wrapped = before < kRange && before > kRange / 8 * 7 && now < kRange / 8;
  return wrapped ? now + kRange - before : added(before, now);
}

// A device that was taken out and put back under the same name.
bool began_anew(const DiskCounters& before, const DiskCounters& now) {
  return now.reads < before.reads || now.writes < before.writes || now.sectors_read < before.sectors_read ||
         now.sectors_written < before.sectors_written;
}

void add_to(int64_t& total, int64_t value) { total = saturating_add(total, value); }

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// sda1 of sda, nvme0n1p2 of nvme0n1.
bool looks_like_partition_of(std::string_view disk, std::string_view name) {
  if (disk.empty() || name.size() <= disk.size() || !name.starts_with(disk)) return false;
  const std::string_view rest = name.substr(disk.size());
  const bool ends_in_digit = disk.back() >= '0' && disk.back() <= '9';
  return ends_in_digit ? rest.starts_with('p') && all_digits(rest.substr(1)) : all_digits(rest);
}

}  // namespace

bool DiskTable::update(std::string_view diskstats) {
  DiskStatsLines lines(diskstats);
  size_t count = 0;
  for (DiskLine line; lines.next(line); ++count) {
    if (count >= entries_.size() || !is_line_of(entries_[count], line)) {
      // What was folded already adds nothing when it is folded again.
      rebuild(diskstats);
      return true;
    }
    fold(entries_[count], line.counters);
  }
  if (count == 0) return false;  // no reading: what was counted stands
  if (count != entries_.size()) rebuild(diskstats);
  return true;
}

void DiskTable::rebuild(std::string_view diskstats) {
  ++changes_;
  guessed_ = !file_exists(roots_.sys + "/block");
  std::vector<DiskEntry> old = std::move(entries_);
  entries_.clear();
  DiskStatsLines lines(diskstats);
  for (DiskLine line; lines.next(line);) {
    const auto kept = std::find_if(old.begin(), old.end(), [&](const DiskEntry& e) { return is_line_of(e, line); });
    if (kept != old.end()) {
      entries_.push_back(std::move(*kept));
    } else {
      DiskEntry entry;
      entry.name = line.name;
      entry.major = line.major;
      entry.minor = line.minor;
      entry.role = guessed_ ? BlockRole::unknown : block_role(roots_, entry.name);
      entries_.push_back(std::move(entry));
    }
  }
  if (guessed_) guess_roles();
  lines = DiskStatsLines(diskstats);
  size_t index = 0;
  for (DiskLine line; lines.next(line);) fold(entries_[index++], line.counters);
}

void DiskTable::guess_roles() {
  for (DiskEntry& entry : entries_) {
    const bool partition = std::any_of(entries_.begin(), entries_.end(), [&](const DiskEntry& disk) {
      return looks_like_partition_of(disk.name, entry.name);
    });
    entry.role = partition                           ? BlockRole::partition
                 : is_virtual_block_name(entry.name) ? BlockRole::whole
                                                     : BlockRole::bottom;
  }
}

void DiskTable::fold(DiskEntry& entry, std::string_view counters) {
  if (!entry.counted() && (!keep_all_ || entry.role == BlockRole::partition)) return;
  DiskCounters now;
  if (!parse_disk_counters(counters, now)) return;
  const DiskCounters& before = entry.last;
  if (entry.known && entry.counted() && !began_anew(before, now)) {
    add_to(totals_.read_bytes, saturating_multiply(added(before.sectors_read, now.sectors_read), kSectorBytes));
    add_to(totals_.write_bytes, saturating_multiply(added(before.sectors_written, now.sectors_written), kSectorBytes));
    add_to(totals_.busy_ms, added_ms(before.read_ms, now.read_ms));
    add_to(totals_.busy_ms, added_ms(before.write_ms, now.write_ms));
    add_to(totals_.completed, added(before.reads, now.reads));
    add_to(totals_.completed, added(before.writes, now.writes));
    add_to(totals_.weighted_ms, added_ms(before.weighted_ms, now.weighted_ms));
  }
  entry.last = now;
  entry.known = true;
}

}  // namespace tacho
