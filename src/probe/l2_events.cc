// Event numbers as the makers publish them, in the form of PERF_TYPE_RAW (unit mask × 256 + event):
//   AMD    Processor Programming Reference of families 17h, 19h and 1Ah, PMCx064 "Core to L2 cacheable request access
//          status": bit 3 data cache miss, bits 4–7 data cache hits; as in Linux
//          tools/perf/pmu-events/arch/x86/amdzen*.
//   Intel  perfmon event files of the P-cores (SKL, SKX, CLX, ICL, ICX, TGL, RKL, SPR, EMR, GNR): L2_RQSTS (24h),
//          ALL_DEMAND_DATA_RD (E1h) and DEMAND_DATA_RD_MISS (21h). Processors with two kinds of cores are left out.
//   Arm    Architecture Reference Manual, common events L2D_CACHE (16h) and L2D_CACHE_REFILL (17h), which the
//          Technical Reference Manual of every Neoverse core lists.
#include "probe/l2_events.h"

#include <algorithm>
#include <span>
#include <string_view>

namespace tacho {
namespace {

constexpr PerfEvent raw(uint64_t config) { return {4, config}; }

constexpr L2Events kAmd{raw(0xf864), raw(0x0864)};
constexpr L2Events kIntel{raw(0xe124), raw(0x2124)};
constexpr L2Events kArm{raw(0x16), raw(0x17)};

constexpr uint16_t kIntelFamily6[] = {
    0x4e, 0x5e, 0x8e, 0x9e, 0xa5, 0xa6,  // Skylake, Kaby Lake, Coffee Lake, Comet Lake
    0x55,                                // Skylake-SP, Cascade Lake, Cooper Lake
    0x66, 0x7d, 0x7e, 0x6a, 0x6c,        // Cannon Lake, Ice Lake, Ice Lake-SP
    0x8c, 0x8d, 0xa7,                    // Tiger Lake, Rocket Lake
    0x8f, 0xcf, 0xad, 0xae,              // Sapphire, Emerald and Granite Rapids
};

struct X86Family {
  std::string_view vendor;
  int64_t family;
  std::span<const uint16_t> models;  // empty: all of them
  L2Events events;
};

constexpr X86Family kX86[] = {
    {"AuthenticAMD", 0x17, {}, kAmd},              // Zen, Zen 2
    {"HygonGenuine", 0x18, {}, kAmd},              // Zen
    {"AuthenticAMD", 0x19, {}, kAmd},              // Zen 3, Zen 4
    {"AuthenticAMD", 0x1a, {}, kAmd},              // Zen 5
    {"GenuineIntel", 0x06, kIntelFamily6, kIntel}  //
};

struct ArmCore {
  uint32_t implementer, part;
};

constexpr ArmCore kNeoverse[] = {
    {0x41, 0xd0c}, {0x41, 0xd40}, {0x41, 0xd49}, {0x41, 0xd4f},  // N1, V1, N2, V2
    {0x41, 0xd84}, {0x41, 0xd8e}, {0x6d, 0xd49},                 // V3, N3, N2 in Azure Cobalt 100
};

}  // namespace

std::optional<L2Events> l2_events(const CpuInfo& cpu) {
  if (cpu.cluster_count == 1) {
    const ArmCluster& core = cpu.clusters[0];
    const bool known = std::any_of(std::begin(kNeoverse), std::end(kNeoverse), [&](const ArmCore& one) {
      return one.implementer == core.implementer && one.part == core.part;
    });
    return known ? std::optional(kArm) : std::nullopt;
  }
  for (const X86Family& known : kX86) {
    if (cpu.vendor != known.vendor || cpu.family != known.family) continue;
    if (known.models.empty() || std::find(known.models.begin(), known.models.end(), cpu.model) != known.models.end())
      return known.events;
  }
  return std::nullopt;
}

}  // namespace tacho
