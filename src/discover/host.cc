#include "discover/host.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

#include "base/log.h"
#include "base/text.h"
#include "discover/host_id.h"
#include "os/block.h"
#include "os/environment.h"
#include "os/identity.h"
#include "procfs/cgroup_files.h"
#include "procfs/cpuinfo.h"
#include "procfs/meminfo.h"

namespace tacho {
namespace {

constexpr const char* kAllocationVariable = "TACHO_HOST_ALLOCATION";

template <class T>
std::optional<std::string> known(const T& text) {
  if (text.empty()) return std::nullopt;
  return std::string(text);
}

std::string collapse_blanks(std::string_view text) {
  std::string result;
  for (const char c : trim(text)) {
    const bool blank = c == ' ' || c == '\t';
    if (!blank) result += c;
    else if (result.back() != ' ') result += ' ';
  }
  return result;
}

std::string arm_model(const CpuInfo& info) {
  std::vector<ArmCluster> clusters(info.clusters.begin(),
                                   info.clusters.begin() + static_cast<std::ptrdiff_t>(info.cluster_count));
  std::stable_sort(clusters.begin(), clusters.end(),
                   [](const ArmCluster& a, const ArmCluster& b) { return a.cores > b.cores; });
  std::string model;
  for (const ArmCluster& cluster : clusters) {
    if (!model.empty()) model += " + ";
    const std::string_view name = arm_core_name(cluster.implementer, cluster.part);
    char number[48];
    std::snprintf(number, sizeof(number), "implementer 0x%02x part 0x%03x", cluster.implementer, cluster.part);
    model += name.empty() ? std::string_view(number) : name;
  }
  return model;
}

// On x86 the blocks of all CPUs name the same model, and the kernel takes its time to print them.
std::string beginning_of_cpuinfo(const Roots& roots) {
  std::string text;
  static_cast<void>(read_pieces(roots.proc + "/cpuinfo", [&](std::string_view piece) {
    text += piece;
    const size_t model = text.find("\nmodel name");
    const bool enough =
        model != std::string::npos && text.find("vendor_id") < model && text.find('\n', model + 1) != std::string::npos;
    return !enough && text.size() < kLargestRead;
  }));
  return text;
}

std::optional<int64_t> count_cpus(const Roots& roots) {
  const auto online = count_cpu_list(read_first_line(roots.sys + "/devices/system/cpu/online"));
  if (online) return online;
  if (const int count = online_cpus(); count > 0) return count;
  const int64_t lines = parse_cpuinfo(read_whole_file(roots.proc + "/cpuinfo").value_or("")).processors;
  if (lines > 0) return lines;
  return std::nullopt;
}

std::string find_address(const Roots& roots) {
  std::string address = default_source_address();
  if (!address.empty()) return address;
  return first_interface_address([&](std::string_view interface) {
    return file_exists(roots.sys + "/class/net/" + std::string(interface) + "/bridge");
  });
}

// The variable's value when it is set: empty hides the field.
bool from_environment(const char* variable, std::optional<std::string>& field) {
  const auto value = environment_raw(variable);
  if (!value) return false;
  field = known(trim(*value));
  return true;
}

}  // namespace

bool is_dmi_placeholder(std::string_view text) {
  constexpr std::array<std::string_view, 12> kPlaceholders = {"not specified",
                                                              "not available",
                                                              "not applicable",
                                                              "none",
                                                              "n/a",
                                                              "unknown",
                                                              "default string",
                                                              "to be filled by o.e.m.",
                                                              "system serial number",
                                                              "chassis serial number",
                                                              "0123456789",
                                                              "03000200-0400-0500-0006-000700080009"};
  const std::string word = lower(trim(text));
  if (std::find(kPlaceholders.begin(), kPlaceholders.end(), word) != kPlaceholders.end()) return true;
  // Empty, all zeros or all F, with or without the dashes of a UUID.
  const auto only = [&](char wanted) {
    return std::all_of(word.begin(), word.end(), [&](char c) { return c == wanted || c == '-'; });
  };
  return only('0') || only('f');
}

std::string cpu_model(std::string_view cpuinfo) {
  const CpuInfo info = parse_cpuinfo(cpuinfo);
  if (info.cluster_count > 0) return arm_model(info);
  if (!info.model_name.empty()) return collapse_blanks(info.model_name);
  if (!info.s390_machine.empty()) return "IBM/S390 " + std::string(info.s390_machine);
  return collapse_blanks(!info.power_cpu.empty() ? info.power_cpu : !info.uarch.empty() ? info.uarch : info.isa);
}

std::optional<std::string> allocation_under(const Limits& limits, const Host& host) {
  const auto cpus = static_cast<double>(host.host_vcpus.value_or(0));
  const bool quota = limits.cpu_quota_cores && *limits.cpu_quota_cores < cpus;
  const bool cpuset = limits.cpuset_cpus && static_cast<double>(*limits.cpuset_cpus) < cpus;
  const bool memory =
      limits.memory_limit_bytes && host.host_memory_mib &&
      static_cast<double>(*limits.memory_limit_bytes) < 0.95 * 1048576 * static_cast<double>(*host.host_memory_mib);
  if (quota || cpuset || memory) return "shared";
  return std::nullopt;
}

void set_allocation(Host& host, const Limits& limits) {
  if (!environment_raw(kAllocationVariable)) host.host_server_allocation = allocation_under(limits, host);
}

Host discover_host(const Roots& roots) {
  Host host;
  const MemInfo memory = parse_meminfo(read_whole_file(roots.proc + "/meminfo").value_or(""));
  if (!from_environment("TACHO_HOST_ID_VALUE", host.host_id))
    host.host_id = host_id_is_hashed() ? hashed_host_id(roots) : local_host_id(roots);
  host.host_hostname = known(valid_utf8(host_name()));
  host.host_ip = known(find_address(roots));
  host.host_vcpus = count_cpus(roots);
  host.host_cpu_model = known(valid_utf8(cpu_model(beginning_of_cpuinfo(roots))));
  if (memory.total >= 0) host.host_memory_mib = memory.total >> 20;
  if (const auto bytes = total_storage_bytes(roots))
    host.host_storage_gb = std::round(static_cast<double>(*bytes) / 1e6) / 1e3;
  from_environment(kAllocationVariable, host.host_server_allocation);
  const auto& allocation = host.host_server_allocation;
  if (allocation && *allocation != "dedicated" && *allocation != "shared") {
    log::warn("TACHO_HOST_ALLOCATION is neither dedicated nor shared: set it to one of them; it is left out");
    host.host_server_allocation.reset();
  }
  return host;
}

}  // namespace tacho
