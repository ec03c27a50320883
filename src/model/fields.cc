#include "model/fields.h"

#include <algorithm>
#include <array>

namespace tacho {
namespace {

constexpr std::array<std::string_view, 3> kGroupWords{"host", "cloud", "private"};
constexpr std::array<std::string_view, 5> kPrivate{"host_id", "host_hostname", "host_ip", "cloud_account_id",
                                                   "command"};
// What tells one machine from another in the device lists of JSON lines; hidden with both groups that it belongs to.
constexpr std::array<std::string_view, 3> kIdentifiers{"mac_address", "disk_serial", "gpu_uuid"};

struct Alias {
  std::string_view seed, wire;
};
constexpr std::array<Alias, 3> kAliases{{{"host_name", "host_hostname"},
                                         {"host_allocation", "host_server_allocation"},
                                         {"host_gpu_vram_mib", "host_gpu_memory_mib"}}};

// clang-format off
constexpr auto kFields = std::to_array<std::string_view>({
    "host_id", "host_hostname", "host_ip", "host_server_allocation", "host_vcpus", "host_cpu_model", "host_memory_mib",
    "host_gpu_model", "host_gpu_count", "host_gpu_memory_mib", "host_storage_gb",
    "cloud_vendor_id", "cloud_account_id", "cloud_region_id", "cloud_zone_id", "cloud_instance_type",
    "command", "working_directory", "pid", "container_image", "env", "language", "orchestrator", "executor", "team",
    "project_name", "job_name", "stage_name", "task_name", "external_run_id", "tags",
    "mac_address", "disk_serial", "gpu_uuid",
});
// clang-format on

}  // namespace

std::span<const std::string_view> field_words() {
  static const std::vector<std::string_view> words = [] {
    std::vector<std::string_view> all(kGroupWords.begin(), kGroupWords.end());
    all.insert(all.end(), kFields.begin(), kFields.end());
    for (const Alias& alias : kAliases) all.push_back(alias.seed);
    return all;
  }();
  return words;
}

std::vector<std::string> fields_named(std::string_view word) {
  std::string name(word);
  std::replace(name.begin(), name.end(), '-', '_');
  if (name == "host_*" || name == "cloud_*") name.resize(name.size() - 2);  // as the documentation writes the groups
  std::vector<std::string> fields;
  if (name == "private") fields.assign(kPrivate.begin(), kPrivate.end());
  if (name == "host" || name == "cloud") {
    for (const std::string_view field : kFields)
      if (field.starts_with(name + "_")) fields.emplace_back(field);
  }
  if (name == "private" || name == "host") fields.insert(fields.end(), kIdentifiers.begin(), kIdentifiers.end());
  if (!fields.empty()) return fields;
  for (const Alias& alias : kAliases)
    if (name == alias.seed) name = alias.wire;
  if (std::find(kFields.begin(), kFields.end(), name) != kFields.end()) fields.push_back(name);
  return fields;
}

}  // namespace tacho
