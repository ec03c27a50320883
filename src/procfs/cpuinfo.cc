#include "procfs/cpuinfo.h"

#include <algorithm>
#include <span>

#include "base/hex.h"
#include "base/text.h"
#include "procfs/scan.h"

namespace tacho {
namespace {

struct ArmName {
  uint32_t implementer, part;
  std::string_view name;
};

// As lscpu names them; the implementer's own register values (MIDR_EL1).
constexpr ArmName kArmNames[] = {
    {0x41, 0xd08, "Cortex-A72"},   {0x41, 0xd0c, "Neoverse-N1"}, {0x41, 0xd40, "Neoverse-V1"},
    {0x41, 0xd49, "Neoverse-N2"},  {0x41, 0xd4f, "Neoverse-V2"}, {0x41, 0xd84, "Neoverse-V3"},
    {0x41, 0xd8e, "Neoverse-N3"},  {0xc0, 0xac3, "Ampere-1"},    {0xc0, 0xac4, "Ampere-1a"},
    {0x48, 0xd01, "TaiShan-v110"}, {0x46, 0x001, "A64FX"},       {0x6d, 0xd49, "Azure-Cobalt-100"},
};

bool parse_identifier(std::string_view text, uint32_t& value) {
  const auto read = parse_hex<uint32_t>(text.starts_with("0x") ? text.substr(2) : text);
  value = read.value_or(0);
  return read.has_value();
}

void count_core(CpuInfo& info, uint32_t implementer, uint32_t part) {
  const std::span<ArmCluster> known(info.clusters.data(), info.cluster_count);
  const auto found = std::find_if(known.begin(), known.end(), [&](const ArmCluster& cluster) {
    return cluster.implementer == implementer && cluster.part == part;
  });
  if (found != known.end()) ++found->cores;
  else if (info.cluster_count < info.clusters.size()) info.clusters[info.cluster_count++] = {implementer, part, 1};
}

void keep_first(std::string_view& field, std::string_view value) {
  if (field.empty()) field = value;
}

void keep_first(int64_t& field, std::string_view value) {
  if (field < 0) field = parse_int<int64_t>(value).value_or(-1);
}

// "version = FF,  identification = 123456,  machine = 8561"
std::string_view s390_machine(std::string_view value) {
  constexpr std::string_view kKey = "machine = ";
  const size_t at = value.find(kKey);
  return at == std::string_view::npos ? std::string_view{} : Scanner(value.substr(at + kKey.size())).word();
}

}  // namespace

CpuInfo parse_cpuinfo(std::string_view text) {
  CpuInfo info;
  Scanner scan(text);
  uint32_t implementer = 0;
  bool has_implementer = false;
  while (!scan.done()) {
    const std::string_view line = scan.line();
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view key = trim(line.substr(0, colon));
    const std::string_view value = trim(line.substr(colon + 1));
    if (key == "processor") {
      ++info.processors;
      has_implementer = false;
    } else if (key.starts_with("processor ")) {
      ++info.processors;
      keep_first(info.s390_machine, s390_machine(value));
    } else if (key == "model name") {
      keep_first(info.model_name, value);
    } else if (key == "vendor_id") {
      keep_first(info.vendor, value);
    } else if (key == "cpu family") {
      keep_first(info.family, value);
    } else if (key == "model") {
      keep_first(info.model, value);
    } else if (key == "CPU implementer") {
      has_implementer = parse_identifier(value, implementer);
    } else if (key == "CPU part") {
      uint32_t part = 0;
      if (has_implementer && parse_identifier(value, part)) count_core(info, implementer, part);
    } else if (key == "cpu") {
      keep_first(info.power_cpu, value);
    } else if (key == "uarch") {
      keep_first(info.uarch, value);
    } else if (key == "isa") {
      keep_first(info.isa, value);
    }
  }
  return info;
}

std::string_view arm_core_name(uint32_t implementer, uint32_t part) {
  for (const ArmName& entry : kArmNames)
    if (entry.implementer == implementer && entry.part == part) return entry.name;
  return {};
}

}  // namespace tacho
