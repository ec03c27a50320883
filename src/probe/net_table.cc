#include "probe/net_table.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/path.h"
#include "base/saturate.h"
#include "base/text.h"
#include "os/file.h"

namespace tacho {
namespace {

bool is_loopback(std::string_view name) { return name == "lo"; }

// "DEVTYPE=vlan" of an interface's uevent file; empty for ordinary ones.
std::string device_type(const std::string& path) {
  const auto text = read_whole_file(path + "/uevent", 4096);
  if (!text) return {};
  for (const std::string_view line : split(*text, '\n'))
    if (line.starts_with("DEVTYPE=")) return std::string(line.substr(8));
  return {};
}

// Without sysfs only the usual names of bridges tell.
bool looks_like_bridge(std::string_view name) {
  return name.starts_with("docker") || name.starts_with("br-") || name.starts_with("virbr") ||
         name.starts_with("cni") || name.starts_with("lxcbr") || name.starts_with("lxdbr");
}

// The same name may be another interface's by now, whose counters need not be smaller.
bool is_another(const NetEntry& entry) {
  std::array<char, 24> text;
  if (!entry.index_file) return false;
  const ssize_t got = ::pread(entry.index_file.get(), text.data(), text.size(), 0);
  return got <= 0 || parse_int<int64_t>(trim({text.data(), static_cast<size_t>(got)})) != entry.index;
}

}  // namespace

void NetTable::reset(std::string sys, std::string proc_net) {
  sys_ = std::move(sys);
  proc_net_ = std::move(proc_net);
  entries_.clear();
}

std::string NetTable::sysfs_path(std::string_view name) const { return sys_ + "/class/net/" + std::string(name); }

bool NetTable::has_device(std::string_view name) const { return file_exists(sysfs_path(name) + "/device"); }

// Bridges, bonds, teams and VLANs: what they carry was carried by the interfaces below them already.
bool NetTable::carries_others(std::string_view name) const {
  if (guessed_) {
    const std::string word(name);
    return looks_like_bridge(name) || file_exists(proc_net_ + "/bonding/" + word) ||
           file_exists(proc_net_ + "/vlan/" + word);
  }
  const std::string path = sysfs_path(name);
  if (file_exists(path + "/bridge") || file_exists(path + "/bonding")) return true;
  const std::string type = device_type(path);
  if (type == "vlan" || type == "bond" || type == "bridge" || type == "team") return true;
  bool has_lower = false;
  list_directory(path, [&](std::string_view entry) { has_lower |= entry.starts_with("lower_"); });
  return has_lower;
}

void NetTable::classify() {
  guessed_ = sys_.empty() || !file_exists(sys_ + "/class/net");
  bool any_device = false;
  for (NetEntry& entry : entries_) {
    entry.counted = false;
    if (guessed_ || is_loopback(entry.name) || !has_device(entry.name)) continue;
    any_device = true;
    // A virtual function whose master is real hardware, too (Azure, failover pairs): the master shows its bytes.
    const std::string master = read_link(sysfs_path(entry.name) + "/master");
    entry.counted = master.empty() || !has_device(last_part(master));
  }
  if (any_device) return;
  for (NetEntry& entry : entries_) entry.counted = !is_loopback(entry.name) && !carries_others(entry.name);
}

bool NetTable::update(std::string_view net_dev) {
  busiest_ns_ = 0;
  const bool good = update_entries(net_dev);
  busy_ns_ = saturating_add(busy_ns_, busiest_ns_);
  return good;
}

int64_t NetTable::busy_ns() const {
  const auto has_speed = [](const NetEntry& entry) { return entry.counted && entry.speed_mbps > 0; };
  return std::any_of(entries_.begin(), entries_.end(), has_speed) ? busy_ns_ : -1;
}

bool NetTable::update_entries(std::string_view net_dev) {
  NetDevLines lines(net_dev);
  size_t count = 0;
  for (NetLine line; lines.next(line); ++count) {
    if (count >= entries_.size() || entries_[count].name != line.name || is_another(entries_[count])) {
      // What was folded already adds nothing when it is folded again.
      rebuild(net_dev);
      return true;
    }
    fold(entries_[count], line.counters);
  }
  if (count == 0) return false;  // no reading: what was counted stands
  if (count != entries_.size()) rebuild(net_dev);
  return true;
}

void NetTable::rebuild(std::string_view net_dev) {
  ++changes_;
  std::vector<NetEntry> old = std::move(entries_);
  entries_.clear();
  NetDevLines lines(net_dev);
  for (NetLine line; lines.next(line);) {
    NetEntry entry;
    entry.name = line.name;
    if (!sys_.empty())
      entry.index = parse_int<int64_t>(read_first_line(sysfs_path(line.name) + "/ifindex")).value_or(-1);
    // The same name with another index is another interface.
    const auto kept = std::find_if(old.begin(), old.end(),
                                   [&](const NetEntry& e) { return e.name == entry.name && e.index == entry.index; });
    if (kept != old.end()) entry = std::move(*kept);
    entries_.push_back(std::move(entry));
  }
  classify();
  for (NetEntry& entry : entries_) {
    entry.index_file.reset();
    if (entry.counted && entry.index > 0)
      entry.index_file = Fd(::open((sysfs_path(entry.name) + "/ifindex").c_str(), O_RDONLY | O_CLOEXEC));
  }
  lines = NetDevLines(net_dev);
  size_t index = 0;
  for (NetLine line; lines.next(line);) fold(entries_[index++], line.counters);
}

void NetTable::fold(NetEntry& entry, std::string_view counters) {
  if (!entry.counted && !keep_all_) {
    entry.known = false;
    return;
  }
  NetCounters now;
  if (!parse_net_counters(counters, now)) return;
  const bool began_anew = now.rx_bytes < entry.last.rx_bytes || now.tx_bytes < entry.last.tx_bytes;
  if (entry.known && entry.counted && !began_anew) {
    totals_.rx_bytes = saturating_add(totals_.rx_bytes, now.rx_bytes - entry.last.rx_bytes);
    totals_.tx_bytes = saturating_add(totals_.tx_bytes, now.tx_bytes - entry.last.tx_bytes);
    if (entry.speed_mbps > 0) {
      const auto most =
          static_cast<double>(std::max(now.rx_bytes - entry.last.rx_bytes, now.tx_bytes - entry.last.tx_bytes));
      // Bits over megabits a second are microseconds.
      const double ns = most * 8 * 1e3 / static_cast<double>(entry.speed_mbps);
      busiest_ns_ = std::max(busiest_ns_, static_cast<int64_t>(std::min(ns, 1e15)));
    }
    totals_.drops = saturating_add(totals_.drops, std::max<int64_t>(0, now.drops - entry.last.drops));
    totals_.errors = saturating_add(totals_.errors, std::max<int64_t>(0, now.errors - entry.last.errors));
  }
  entry.last = now;
  entry.known = true;
}

}  // namespace tacho
