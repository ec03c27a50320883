// /proc/cpuinfo: what the processor is called. Pure; no I/O, no allocation; views point into the text.
//   x86_64   vendor_id	: AuthenticAMD   cpu family	: 25   model	: 1   model name	: AMD EPYC
//   aarch64  CPU implementer	: 0x41   …   CPU part	: 0xd0c     (no name: a table gives it)
//   ppc64le  cpu		: POWER9 (architected), altivec supported
//   s390x    processor 0: version = FF,  identification = 123456,  machine = 8561
//   riscv64  uarch		: sifive,u74-mc   and   isa		: rv64imafdc
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace tacho {

struct ArmCluster {
  uint32_t implementer = 0, part = 0;
  int64_t cores = 0;
};

struct CpuInfo {
  int64_t processors = 0;              // lines "processor"
  std::string_view model_name;         // x86_64; the first
  std::string_view vendor;             // x86_64; the first
  int64_t family = -1, model = -1;     // x86_64; of the first; -1: not told
  std::string_view power_cpu;          // ppc64le
  std::string_view s390_machine;       // s390x
  std::string_view uarch, isa;         // riscv64
  std::array<ArmCluster, 8> clusters;  // aarch64, in order of first appearance
  size_t cluster_count = 0;
};

CpuInfo parse_cpuinfo(std::string_view text);

// "Neoverse-N1" for 0x41, 0xd0c; empty when it is not in the table.
std::string_view arm_core_name(uint32_t implementer, uint32_t part);

}  // namespace tacho
