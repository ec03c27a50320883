// Network traffic of the machine or of the job's network namespace, from /proc/net/dev.
#include <algorithm>
#include <functional>
#include <utility>

#include "base/path.h"
#include "base/text.h"
#include "base/units.h"
#include "probe/kit/listed_devices.h"
#include "probe/kit/make.h"
#include "probe/net_table.h"
#include "probe/system.h"
#include "procfs/net_snmp.h"

namespace tacho {
namespace {

enum Field : size_t { rx_bytes, tx_bytes, drops, errors, retransmits, busy_ns };

// Share of the interval that the busiest interface would have needed at its speed.
double busiest_share(const Reading& before, const Reading& now, double seconds) {
  if (!before.has(busy_ns) || !now.has(busy_ns) || seconds <= 0) return kAbsent;
  return std::clamp(as_seconds(now.get(busy_ns) - before.get(busy_ns)) / seconds, 0.0, 1.0);
}

constexpr Column kColumns[] = {
    {17, "system_net_recv_bytes", "bytes", 0, Rule::delta, rx_bytes, 1,
     "Bytes received by the network interfaces in this interval, each byte once.", nullptr},
    {18, "system_net_sent_bytes", "bytes", 0, Rule::delta, tx_bytes, 1,
     "Bytes sent by the network interfaces in this interval, each byte once.", nullptr},
    {274, "system_net_drops", "count", 0, Rule::delta, drops, 1,
     "Packets that the network interfaces dropped in this interval, received and sent.", nullptr},
    {275, "system_net_errors", "count", 0, Rule::delta, errors, 1,
     "Errors of the network interfaces in this interval, receiving and sending.", nullptr},
    {276, "system_net_retransmits", "count", 0, Rule::delta, retransmits, 1,
     "TCP segments that were sent again in this interval.", nullptr},
    {277, "system_net_busiest", "share", 4, Rule::custom, busy_ns, 1,
     "Traffic of the busiest interface, in its busier direction, as a share of its speed; empty where none has one.",
     busiest_share},
};

constexpr int64_t kKeepNs = 30 * kNsPerSec;  // link state and speed change now and then

class NetProbe final : public Probe {
 public:
  explicit NetProbe(ProbeContext& context) : context_(context) { choose_namespace(); }

  void read(Reading& out) override {
    stamp_ns_ = out.stamp_ns;
    if (context_.net_pid != pid_) choose_namespace();
    fresh_ = update_table();
    if (!fresh_) return;
    out.set(rx_bytes, table_.totals().rx_bytes);
    out.set(tx_bytes, table_.totals().tx_bytes);
    out.set(drops, table_.totals().drops);
    out.set(errors, table_.totals().errors);
    refresh_speeds();
    set_known(out, busy_ns, table_.busy_ns());
    if (moved_ || context_.facts.closing) {
      std::string_view text;
      retransmits_ = snmp_.read(context_.buffer, text) ? parse_retransmits(text) : -1;
    }
    set_known(out, retransmits, retransmits_);
  }

  void describe(Detail& detail) override;

  std::vector<DeviceColumn> list_devices() override {
    devices_.clear();
    std::vector<DeviceColumn> columns;
    for (const NetEntry& entry : table_.entries()) {
      if (!entry.counted) continue;
      const std::string name = "net_" + shown_name(entry.name, devices_.size() + 1);
      columns.push_back({name + "_recv_bytes", DeviceRule::delta, 1, 0});
      columns.push_back({name + "_sent_bytes", DeviceRule::delta, 1, 0});
      devices_.add(entry.name);
    }
    return columns;
  }

  void read_devices(std::span<DeviceValue> values) override {
    if (!fresh_) return;
    const auto entries = table_.entries();
    devices_.find(table_.changes(), entries, [](const NetEntry& entry) { return entry.counted; });
    for (size_t i = 0; i < devices_.size(); ++i) {
      const NetEntry* const entry = devices_.entry(i, entries);
      if (entry == nullptr) continue;
      values[2 * i].value = entry->last.rx_bytes;
      values[2 * i + 1].value = entry->last.tx_bytes;
    }
  }

 private:
  std::string shown_name(const std::string& name, size_t number) const;

  void choose_namespace();
  bool update_table();
  NetDetail look_up(const std::string& name) const;
  int64_t speed_of(const std::string& name) const;
  void refresh_static();
  void refresh_speeds();

  ProbeContext& context_;
  ListedDevices devices_;  // of devices.csv
  pid_t pid_ = 0;          // whose namespace is read; 0: tacho's own
  KeptFile file_, snmp_;
  std::vector<KeptFile> speed_files_;  // in the order of the table; without a path where it does not count
  uint64_t speeds_of_changes_ = 0;
  int64_t speeds_stamp_ns_ = 0;
  NetTable table_;
  int64_t stamp_ns_ = 0;
  bool described_ = false;
  bool fresh_ = false;  // the last reading worked
  // Not a byte went through any interface since the reading before, so nothing was sent again: the file of TCP, which
  // costs more than all others of this probe, is left unread.
  bool moved_ = true;
  size_t seen_text_ = 0;
  int64_t retransmits_ = -1;  // -1: not known
  bool noted_ = false;
  uint64_t static_of_changes_ = 0;
  int64_t static_stamp_ns_ = 0;
  std::vector<NetDetail> static_;  // names, addresses, state; in the order of the table
};

void NetProbe::choose_namespace() {
  pid_ = context_.net_pid;
  const Roots& roots = context_.roots;
  std::string process = roots.proc + "/" + std::to_string(pid_);
  // Every network namespace has net/dev as an inode of its own; ns/net would say the same, but not of every process.
  const bool own = pid_ == 0 || same_file(process + "/net/dev", roots.proc + "/net/dev");
  if (own) process = roots.proc;
  file_ = KeptFile(process + "/net/dev");
  snmp_ = KeptFile(process + "/net/snmp");
  retransmits_ = -1;
  // /sys shows the namespace it was mounted in, so another one's interfaces are only in that process's own /sys.
  table_.reset(own ? roots.sys : process + "/root/sys", process + "/net");
}

// "enx001122334455" is made of the address: where that is hidden, "enx" and its place in the list.
std::string NetProbe::shown_name(const std::string& name, size_t number) const {
  if (context_.hides_addresses) {
    std::string digits = read_first_line(table_.sysfs_path(name) + "/address");
    std::erase(digits, ':');
    const size_t at = digits.empty() ? std::string::npos : name.find(digits);
    if (at != std::string::npos) return harmless_text(name.substr(0, at)) + std::to_string(number);
  }
  return harmless_text(name);
}

bool NetProbe::update_table() {
  std::string_view text;
  if (!file_.read(context_.buffer, text) || !table_.update(text)) return false;
  const size_t seen = std::hash<std::string_view>()(text);
  moved_ = std::exchange(seen_text_, seen) != seen || retransmits_ < 0;
  if (table_.guessed() && !noted_) {
    noted_ = true;
    context_.note("network interfaces were told apart by their names: there is no /sys/class/net for them here");
  }
  return true;
}

// Refused (EINVAL) or −1 while the link is down or has no speed.
int64_t NetProbe::speed_of(const std::string& name) const {
  const int64_t mbps = parse_int<int64_t>(read_first_line(table_.sysfs_path(name) + "/speed")).value_or(-1);
  return mbps > 0 ? mbps : -1;
}

void NetProbe::refresh_speeds() {
  const bool changed = speeds_of_changes_ != table_.changes();
  if (!changed && stamp_ns_ - speeds_stamp_ns_ < kKeepNs) return;
  speeds_of_changes_ = table_.changes();
  speeds_stamp_ns_ = stamp_ns_;
  if (changed) speed_files_.clear();
  for (const NetEntry& entry : table_.entries())
    if (changed) speed_files_.emplace_back(entry.counted ? table_.sysfs_path(entry.name) + "/speed" : "");
  for (size_t i = 0; i < speed_files_.size(); ++i) {
    std::string_view text;
    const bool known = !speed_files_[i].path().empty() && speed_files_[i].read(context_.buffer, text);
    table_.set_speed(i, known ? parse_int<int64_t>(trim(text)).value_or(-1) : -1);
  }
}

NetDetail NetProbe::look_up(const std::string& name) const {
  const std::string path = table_.sysfs_path(name);
  NetDetail detail;
  detail.interface = valid_utf8(name);
  detail.mac_address = read_first_line(path + "/address");
  const std::string driver = read_link(path + "/device/driver");
  detail.driver = last_part(driver);
  detail.operstate = read_first_line(path + "/operstate");
  detail.speed_mbps = speed_of(name);
  if (const auto mtu = parse_int<int64_t>(read_first_line(path + "/mtu"))) detail.mtu = *mtu;
  return detail;
}

// Link state and speed change now and then, so they are looked up again twice a minute, not at every tick.
void NetProbe::refresh_static() {
  if (static_of_changes_ == table_.changes() && stamp_ns_ - static_stamp_ns_ < kKeepNs) return;
  static_of_changes_ = table_.changes();
  static_stamp_ns_ = stamp_ns_;
  static_.clear();
  for (const NetEntry& entry : table_.entries()) static_.push_back(look_up(entry.name));
}

void NetProbe::describe(Detail& detail) {
  if (!described_) {
    described_ = true;
    table_.keep_all();
    fresh_ = update_table();
  }
  if (!fresh_) return;  // counters of an earlier tick are no reading
  refresh_static();
  for (size_t i = 0; i < static_.size(); ++i) {
    const NetEntry& entry = table_.entries()[i];
    if (entry.name == "lo") continue;
    NetDetail item = static_[i];
    item.rx_bytes = entry.last.rx_bytes;
    item.tx_bytes = entry.last.tx_bytes;
    item.counted = entry.counted;
    detail.network.push_back(std::move(item));
  }
  std::sort(detail.network.begin(), detail.network.end(),
            [](const NetDetail& a, const NetDetail& b) { return a.interface < b.interface; });
}

Status check(const Roots& roots) { return need_file(roots.proc + "/net/dev", kMountProcHint); }

}  // namespace

const ProbeInfo kNetProbe = {"net",    ProbeDefault::on,     "network traffic of the machine",
                             kColumns, make_probe<NetProbe>, check};

}  // namespace tacho
