// Energy of the CPU packages and their memory, from the powercap files of RAPL (intel-rapl, which AMD's processors have
// too). A counter goes round at max_energy_range_uj, within minutes under load. Only root may read it on most machines
// (since Linux 5.10): then the column stays empty, and the doctor says so.
#include "base/saturate.h"
#include "base/text.h"
#include "probe/kit/make.h"
#include "probe/system.h"
#include "procfs/scan.h"

namespace tacho {
namespace {

enum Field : size_t { energy_uj };

constexpr Column kColumns[] = {
    {290, "system_cpu_energy_j", "J", 3, Rule::delta, energy_uj, 1e-6,
     "Energy of the CPU packages and their memory in this interval.", nullptr},
};

struct Zone {
  KeptFile file;
  int64_t range_uj = 0;  // where it goes round; 0: not known
  int64_t last_uj = -1;
};

// The packages and, below them, their memory. What is inside a package (cores, graphics) is in it already, and psys
// holds the packages.
std::vector<Zone> find_zones(const Roots& roots) {
  std::vector<Zone> zones;
  const std::string folder = roots.sys + "/class/powercap";
  list_directory(folder, [&](std::string_view entry) {
    if (!entry.starts_with("intel-rapl:")) return;
    const std::string zone = folder + "/" + std::string(entry), name = read_first_line(zone + "/name");
    if (!name.starts_with("package-") && name != "dram") return;
    zones.push_back({KeptFile(zone + "/energy_uj"),
                     parse_int<int64_t>(read_first_line(zone + "/max_energy_range_uj")).value_or(0), -1});
  });
  return zones;
}

class RaplProbe final : public Probe {
 public:
  RaplProbe(ProbeContext& context, std::vector<Zone> zones) : context_(context), zones_(std::move(zones)) {}

  // A zone that cannot be read leaves the whole empty: a part of it would look like less. Its own counter goes on.
  void read(Reading& out) override {
    bool all = !zones_.empty();
    for (Zone& zone : zones_) {
      std::string_view text;
      int64_t now_uj = 0;
      if (!zone.file.read(context_.buffer, text) || !Scanner(text).number(now_uj)) {
        all = false;
        continue;
      }
      if (zone.last_uj >= 0) sum_uj_ = saturating_add(sum_uj_, added(zone, now_uj));
      zone.last_uj = now_uj;
    }
    if (all) out.set(energy_uj, sum_uj_);
  }

 private:
  static int64_t added(const Zone& zone, int64_t now_uj) {
    if (now_uj >= zone.last_uj) return now_uj - zone.last_uj;
    // Gone round, unless it stands beyond where it may.
    return zone.range_uj >= zone.last_uj ? zone.range_uj - zone.last_uj + now_uj : 0;
  }

  ProbeContext& context_;
  std::vector<Zone> zones_;
  int64_t sum_uj_ = 0;
};

Status check(const Roots& roots) {
  std::vector<Zone> zones = find_zones(roots);
  if (zones.empty())
    return Error{Code::not_available, "no energy counters of the CPU (RAPL)", roots.sys + "/class/powercap",
                 "a virtual machine has none; elsewhere: modprobe intel_rapl_msr"};
  ReadBuffer buffer;
  std::string_view text;
  if (zones[0].file.read(buffer, text)) return ok();
  return Error{Code::denied, "the energy counters of the CPU are for root only", zones[0].file.path(),
               "run as root, or: chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj"};
}

Result<std::unique_ptr<Probe>> make(ProbeContext& context) {
  std::vector<Zone> zones = find_zones(context.roots);
  if (zones.empty()) return check(context.roots).error();
  return std::unique_ptr<Probe>(std::make_unique<RaplProbe>(context, std::move(zones)));
}

}  // namespace

const ProbeInfo kRaplProbe = {"rapl", ProbeDefault::on, "energy of the CPU packages and their memory", kColumns, make,
                              check};

}  // namespace tacho
