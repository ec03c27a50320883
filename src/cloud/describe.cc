#include "cloud/describe.h"

#include <algorithm>
#include <optional>

namespace tacho {
namespace {

constexpr int kDecimals = 3;

class Description {
 public:
  explicit Description(std::span<const std::string> hidden) : hidden_(hidden) {}

  template <class T>
  void add(std::string_view name, const std::optional<T>& value) {
    if (!value || std::find(hidden_.begin(), hidden_.end(), name) != hidden_.end()) return;
    fields_.push_back({name, *value});
  }
  std::vector<DescribedField> take() { return std::move(fields_); }

 private:
  std::span<const std::string> hidden_;
  std::vector<DescribedField> fields_;
};

}  // namespace

std::vector<DescribedField> describe_machine(const Host& host, const Cloud& cloud,
                                             std::span<const std::string> hidden) {
  Description fields(hidden);
  fields.add("host_id", host.host_id);
  fields.add("host_hostname", host.host_hostname);
  fields.add("host_ip", host.host_ip);
  fields.add("host_server_allocation", host.host_server_allocation);
  fields.add("host_vcpus", host.host_vcpus);
  fields.add("host_cpu_model", host.host_cpu_model);
  fields.add("host_memory_mib", host.host_memory_mib);
  fields.add("host_gpu_model", host.host_gpu_model);
  fields.add("host_gpu_count", host.host_gpu_count);
  fields.add("host_gpu_memory_mib", host.host_gpu_memory_mib);
  fields.add("host_storage_gb", host.host_storage_gb);
  fields.add("cloud_vendor_id", cloud.vendor_id);
  fields.add("cloud_account_id", cloud.account_id);
  fields.add("cloud_region_id", cloud.region_id);
  fields.add("cloud_zone_id", cloud.zone_id);
  fields.add("cloud_instance_type", cloud.instance_type);
  return fields.take();
}

void write_fields(JsonWriter& json, std::span<const DescribedField> fields) {
  for (const DescribedField& field : fields) {
    json.key(field.name);
    if (const auto* text = std::get_if<std::string>(&field.value)) json.value(std::string_view(*text));
    else if (const auto* whole = std::get_if<int64_t>(&field.value)) json.integer(*whole);
    else json.number(std::get<double>(field.value), kDecimals);
  }
}

std::string field_text(const DescribedField& field) {
  if (const auto* text = std::get_if<std::string>(&field.value)) return *text;
  Writer out(32);
  if (const auto* whole = std::get_if<int64_t>(&field.value)) out.put_int(*whole);
  else out.put_fixed(std::get<double>(field.value), kDecimals);
  return std::string(out.view());
}

}  // namespace tacho
