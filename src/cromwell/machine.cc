#include "cromwell/machine.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/path.h"
#include "base/text.h"
#include "base/units.h"

namespace tacho {
namespace {

// Families whose memory grows with the CPUs, in MiB for each. Of those with `whole_gib` Google gives away no part of
// one.
struct Family {
  std::string_view prefix;
  double mib_per_cpu;
  bool whole_gib = false;
};
// clang-format off
constexpr std::array kFamilies = {
    Family{"n1-standard-", 3840},  Family{"n1-highmem-", 6656},   Family{"n1-highcpu-", 921.6},
    Family{"n2-standard-", 4096},  Family{"n2-highmem-", 8192},   Family{"n2-highcpu-", 1024},
    Family{"n2d-standard-", 4096}, Family{"n2d-highmem-", 8192},  Family{"n2d-highcpu-", 1024},
    Family{"n4-standard-", 4096},  Family{"n4-highmem-", 8192},   Family{"n4-highcpu-", 2048},
    Family{"n4a-standard-", 4096}, Family{"n4a-highmem-", 8192},  Family{"n4a-highcpu-", 2048},
    Family{"n4d-standard-", 4096}, Family{"n4d-highmem-", 8192},  Family{"n4d-highcpu-", 2048},
    Family{"e2-standard-", 4096},  Family{"e2-highmem-", 8192},   Family{"e2-highcpu-", 1024},
    Family{"c2-standard-", 4096},  Family{"c2d-standard-", 4096}, Family{"c2d-highmem-", 8192},
    Family{"c2d-highcpu-", 2048},  Family{"c3-standard-", 4096},  Family{"c3-highmem-", 8192},
    Family{"c3-highcpu-", 2048},   Family{"c3d-standard-", 4096}, Family{"c3d-highmem-", 8192},
    Family{"c3d-highcpu-", 2048},  Family{"c4a-standard-", 4096}, Family{"c4a-highmem-", 8192},
    Family{"c4a-highcpu-", 2048},  Family{"t2d-standard-", 4096}, Family{"t2a-standard-", 4096},
    Family{"g2-standard-", 4096},  Family{"z3-highmem-", 8192},   Family{"c4-highcpu-", 2048},
    Family{"z4d-highmem-", 8064, true},
    Family{"c4-standard-", 3840, true},  Family{"c4-highmem-", 7936, true},  Family{"c4d-standard-", 3968, true},
    Family{"c4d-highmem-", 8064, true},  Family{"c4d-highcpu-", 1920, true}, Family{"g4-standard-", 3840, true},
};
// clang-format on

// Those that follow no such rule, also where their neighbours do.
struct Single {
  std::string_view name;
  int64_t cpus;
  double gib;
};
// clang-format off
constexpr std::array kSingles = {
    Single{"f1-micro", 1, 0.6},                   Single{"g1-small", 1, 1.7},
    Single{"e2-micro", 2, 1},                     Single{"e2-small", 2, 2},
    Single{"e2-medium", 2, 4},                    Single{"n2-highmem-128", 128, 864},
    Single{"c3d-highcpu-30", 30, 59},             Single{"c3d-highcpu-60", 60, 118},
    Single{"c3d-highcpu-90", 90, 177},            Single{"c3d-highcpu-180", 180, 354},
    Single{"c3d-highcpu-360", 360, 708},          Single{"c3-highcpu-192-metal", 192, 512},
    Single{"c3-standard-192-metal", 192, 768},    Single{"c3-highmem-192-metal", 192, 1536},
    Single{"c4-highcpu-288-metal", 288, 576},     Single{"c4-standard-288-metal", 288, 1080},
    Single{"c4-highmem-288-metal", 288, 2232},    Single{"c4a-standard-96-metal", 96, 384},
    Single{"c4a-highmem-96-metal", 96, 768},      Single{"c4d-highcpu-384-metal", 384, 768},
    Single{"c4d-standard-384-metal", 384, 1536},  Single{"c4d-highmem-384-metal", 384, 3072},
    Single{"h3-standard-88", 88, 352},            Single{"h4d-standard-192", 192, 720},
    Single{"h4d-highmem-192", 192, 1488},         Single{"m1-ultramem-40", 40, 961},
    Single{"m1-ultramem-80", 80, 1922},           Single{"m1-ultramem-160", 160, 3844},
    Single{"m1-megamem-96", 96, 1433.6},          Single{"n1-ultramem-40", 40, 961},
    Single{"n1-ultramem-80", 80, 1922},           Single{"n1-ultramem-160", 160, 3844},
    Single{"n1-megamem-96", 96, 1433.6},          Single{"m2-ultramem-208", 208, 5888},
    Single{"m2-ultramem-416", 416, 11776},        Single{"m2-megamem-416", 416, 5888},
    Single{"m2-hypermem-416", 416, 8832},         Single{"m3-ultramem-32", 32, 976},
    Single{"m3-ultramem-64", 64, 1952},           Single{"m3-ultramem-128", 128, 3904},
    Single{"m3-megamem-64", 64, 976},             Single{"m3-megamem-128", 128, 1952},
    Single{"m4-ultramem-56", 56, 1488},           Single{"m4-ultramem-112", 112, 2976},
    Single{"m4-ultramem-224", 224, 5952},         Single{"m4-megamem-28", 28, 372},
    Single{"m4-megamem-56", 56, 744},             Single{"m4-megamem-112", 112, 1488},
    Single{"m4-megamem-224", 224, 2976},          Single{"m4-hypermem-16", 16, 248},
    Single{"m4-hypermem-32", 32, 496},            Single{"m4-hypermem-64", 64, 992},
    Single{"m4n-ultramem-56", 56, 1488},          Single{"m4n-ultramem-112", 112, 2976},
    Single{"m4n-ultramem-224", 224, 5952},        Single{"m4n-megamem-28", 28, 372},
    Single{"m4n-megamem-56", 56, 744},            Single{"m4n-megamem-112", 112, 1488},
    Single{"m4n-megamem-224", 224, 2976},         Single{"m4n-hypermem-16", 16, 248},
    Single{"m4n-hypermem-32", 32, 496},           Single{"m4n-hypermem-64", 64, 992},
    Single{"a2-highgpu-1g", 12, 85},              Single{"a2-highgpu-2g", 24, 170},
    Single{"a2-highgpu-4g", 48, 340},             Single{"a2-highgpu-8g", 96, 680},
    Single{"a2-megagpu-16g", 96, 1360},           Single{"a2-ultragpu-1g", 12, 170},
    Single{"a2-ultragpu-2g", 24, 340},            Single{"a2-ultragpu-4g", 48, 680},
    Single{"a2-ultragpu-8g", 96, 1360},           Single{"a3-highgpu-1g", 26, 234},
    Single{"a3-highgpu-2g", 52, 468},             Single{"a3-highgpu-4g", 104, 936},
    Single{"a3-highgpu-8g", 208, 1872},           Single{"a3-megagpu-8g", 208, 1872},
    Single{"a3-edgegpu-8g", 208, 1872},           Single{"a3-ultragpu-8g", 224, 2952},
    Single{"a4-highgpu-8g", 224, 3968},           Single{"a4x-highgpu-4g", 140, 884},
    Single{"a4x-maxgpu-4g-metal", 144, 960},      Single{"z3-highmem-192-metal", 192, 1536},
    Single{"x4-megamem-960-metal", 960, 16384},   Single{"x4-960-16t-metal", 960, 16384},
    Single{"x4-megamem-1440-metal", 1440, 24576}, Single{"x4-1440-24t-metal", 1440, 24576},
    Single{"x4-megamem-1920-metal", 1920, 32768}, Single{"x4-1920-32t-metal", 1920, 32768},
    Single{"x4-480-6t-metal", 480, 6144},         Single{"x4-480-8t-metal", 480, 8192},
    Single{"x4-960-12t-metal", 960, 12288},
};
// clang-format on

// How the same machine is called with local disks, or without them.
constexpr std::array<std::string_view, 5> kDiskEndings = {"-lssd-v1", "-highlssd", "-standardlssd", "-nolssd", "-lssd"};

// c4-standard-288-lssd-metal → c4-standard-288-metal
std::string without_disks(std::string_view type) {
  constexpr std::string_view kMetal = "-metal";
  const bool metal = type.ends_with(kMetal);
  if (metal) type.remove_suffix(kMetal.size());
  for (const std::string_view ending : kDiskEndings) {
    if (!type.ends_with(ending)) continue;
    type.remove_suffix(ending.size());
    break;
  }
  return std::string(type).append(metal ? kMetal : "");
}

constexpr int64_t kMostCpus = 1'000'000, kMostMib = int64_t{1} << 32;

// [FAMILY-]custom-CPUS-MIB[-ext], and e2-custom-medium-MIB, whose shared cores are two CPUs to the machine.
std::optional<Machine> custom(std::string_view type) {
  constexpr std::string_view kWord = "custom-";
  const size_t at = type.find(kWord);
  if (at == std::string_view::npos || (at != 0 && type[at - 1] != '-')) return std::nullopt;
  if (at != 0 && type.substr(0, at - 1).find('-') != std::string_view::npos)
    return std::nullopt;  // one word is a family
  const auto parts = split(type.substr(at + kWord.size()), '-');
  if (parts.size() < 2 || parts.size() > 3 || (parts.size() == 3 && parts[2] != "ext")) return std::nullopt;
  const bool shares_cores = type.starts_with("e2-") && parts.size() == 2 &&
                            (parts[0] == "micro" || parts[0] == "small" || parts[0] == "medium");
  const auto cpus = shares_cores ? std::optional<int64_t>(2) : parse_int<int64_t>(parts[0]);
  const auto mib = parse_int<int64_t>(parts[1]);
  if (!cpus || !mib || *cpus <= 0 || *mib <= 0 || *cpus > kMostCpus || *mib > kMostMib) return std::nullopt;
  return Machine{*cpus, *mib * kMiB};
}

int64_t round_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

struct MachineLimits {
  double least_gib_per_cpu, most_gib_per_cpu;
  int64_t most_cpus;
  int64_t (*cpus)(int64_t wanted);
};

int64_t n1_cpus(int64_t wanted) { return wanted <= 1 ? 1 : round_up(wanted, 2); }
int64_t n2_cpus(int64_t wanted) {
  return wanted <= 32 ? round_up(std::max<int64_t>(wanted, 2), 2) : round_up(wanted, 4);
}
int64_t n2d_cpus(int64_t wanted) {
  if (wanted > 16) return std::min<int64_t>(round_up(wanted, 16), 96);
  int64_t cpus = 2;
  while (cpus < wanted) cpus *= 2;
  return cpus;
}

MachineLimits limits_of(std::string_view platform) {
  if (platform == "Intel Cascade Lake" || platform == "Intel Ice Lake") return {1, 8, kMostCpus, n2_cpus};
  if (platform == "AMD Rome") return {0.5, 8, 96, n2d_cpus};
  return {0.9, 6.5, kMostCpus, n1_cpus};
}

}  // namespace

std::optional<Machine> machine_of_type(std::string_view type) {
  type = trim(type);
  type = last_part(type);
  if (const auto machine = custom(type)) return machine;
  const std::string name = without_disks(type);
  for (const Single& single : kSingles)
    if (name == single.name) return Machine{single.cpus, std::llround(single.gib * static_cast<double>(kGiB))};
  for (const Family& family : kFamilies) {
    if (!name.starts_with(family.prefix)) continue;
    const auto cpus = parse_int<int64_t>(std::string_view(name).substr(family.prefix.size()));
    if (!cpus || *cpus <= 0 || *cpus > kMostCpus) return std::nullopt;
    const int64_t bytes = std::llround(family.mib_per_cpu * static_cast<double>(*cpus) * static_cast<double>(kMiB));
    return Machine{*cpus, family.whole_gib ? bytes / kGiB * kGiB : bytes};
  }
  return std::nullopt;
}

std::optional<int64_t> parse_memory_bytes(std::string_view text) {
  text = trim(text);
  const size_t digits = std::min(text.find_first_not_of("0123456789.eE+-"), text.size());
  // "1e3 MB" is a number; the E of "5 EB" stands behind the blank and is no unit of Cromwell's.
  const auto number = parse_double(text.substr(0, digits));
  const std::string unit = lower(trim(text.substr(digits)));
  if (!number || !std::isfinite(*number) || *number < 0) return std::nullopt;
  constexpr std::string_view kLetters = "kmgt";
  double factor = 1;
  if (!unit.empty() && unit != "b" && unit != "bytes") {
    const size_t power = kLetters.find(unit[0]);
    const std::string_view rest = std::string_view(unit).substr(1);
    if (power == std::string_view::npos || (!rest.empty() && rest != "b" && rest != "ib" && rest != "i"))
      return std::nullopt;
    factor = std::ldexp(1.0, 10 * static_cast<int>(power + 1));
  }
  const double bytes = *number * factor;
  if (bytes >= 9.0e18) return std::nullopt;
  return std::llround(bytes);
}

std::optional<int64_t> parse_cpus(std::string_view text) {
  const auto number = parse_double(trim(text));
  if (!number || !std::isfinite(*number) || *number <= 0 || *number > static_cast<double>(kMostCpus))
    return std::nullopt;
  return static_cast<int64_t>(std::ceil(*number));
}

Machine batch_shape(int64_t cpus, int64_t memory_bytes, std::string_view cpu_platform) {
  constexpr int64_t kStep = 256 * kMiB;
  const MachineLimits limits = limits_of(trim(cpu_platform));
  const auto bytes_of = [](double gib) { return gib * static_cast<double>(kGiB); };
  Machine machine{limits.cpus(cpus), round_up(std::clamp<int64_t>(memory_bytes, 0, kMostMib * kMiB), kStep)};
  const double needed = std::ceil(static_cast<double>(machine.memory_bytes) / bytes_of(limits.most_gib_per_cpu));
  if (needed > static_cast<double>(machine.cpus))
    machine.cpus = std::min(limits.most_cpus, limits.cpus(static_cast<int64_t>(needed)));
  const auto least =
      static_cast<int64_t>(std::ceil(bytes_of(limits.least_gib_per_cpu) * static_cast<double>(machine.cpus)));
  if (machine.memory_bytes < least) machine.memory_bytes = round_up(least, kStep);
  return machine;
}

}  // namespace tacho
