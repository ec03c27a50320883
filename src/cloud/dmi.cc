#include "cloud/dmi.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace tacho {
namespace {

constexpr std::string_view kAzureTag = "7783-7084-3265-9085-8269-3286-77";

bool starts_with_ec2(const std::string& uuid) { return lower(uuid).starts_with("ec2"); }

// `name` as the first word of `text`, in any case.
bool begins_with_word(std::string_view text, std::string_view name) {
  const std::string word = lower(text);
  if (!word.starts_with(name)) return false;
  if (word.size() == name.size()) return true;
  const char next = word[name.size()];
  return !((next >= 'a' && next <= 'z') || (next >= '0' && next <= '9'));
}

}  // namespace

Dmi Dmi::read(const Roots& roots) {
  const auto line = [&](const char* name) { return read_first_line(roots.sys + "/class/dmi/id/" + name); };
  return {line("sys_vendor"),        line("product_name"), line("bios_version"),
          line("chassis_asset_tag"), line("product_uuid"), read_first_line(roots.sys + "/hypervisor/uuid")};
}

std::vector<std::string_view> vendors_of(const Dmi& dmi) {
  std::vector<std::string_view> vendors;
  const auto add = [&](std::string_view vendor, bool matches) {
    if (matches) vendors.push_back(vendor);
  };
  const std::string& maker = dmi.sys_vendor;
  const std::string& product = dmi.product_name;
  add("aws", maker == "Amazon EC2" || lower(dmi.bios_version).find("amazon") != std::string::npos ||
                 starts_with_ec2(dmi.product_uuid) || starts_with_ec2(dmi.hypervisor_uuid));
  add("gcp", product == "Google Compute Engine" || maker == "Google");
  add("azure", dmi.chassis_asset_tag == kAzureTag);  // the maker alone is any Hyper-V
  add("hcloud", maker == "Hetzner");
  add("upcloud", maker == "UpCloud");
  add("vultr", maker == "Vultr");
  add("alicloud", maker == "Alibaba Cloud" || product == "Alibaba Cloud ECS");
  // Any OpenStack: the service itself tells whether it is OVH's.
  add("ovh", product == "OpenStack Nova" || product == "OpenStack Compute" || maker == "OpenStack Foundation");
  add("digitalocean", maker == "DigitalOcean");
  add("oracle", dmi.chassis_asset_tag == "OracleCloud.com");
  add("linode", maker == "Linode" || maker == "Akamai");
  add("scaleway", maker == "Scaleway");
  add("exoscale", maker == "Exoscale");
  return vendors;
}

bool is_own_machine(const Dmi& dmi) {
  constexpr auto kMakers = std::to_array<std::string_view>(
      {"dell", "hp", "hpe", "hewlett", "lenovo", "supermicro", "super micro", "fujitsu", "asus", "asustek", "gigabyte",
       "giga-byte", "vmware", "innotek", "virtualbox", "parallels", "apple"});
  const auto names = [&](const std::string& text) {
    return std::any_of(kMakers.begin(), kMakers.end(),
                       [&](std::string_view maker) { return begins_with_word(text, maker); });
  };
  return names(dmi.sys_vendor) || begins_with_word(dmi.product_name, "virtualbox");
}

}  // namespace tacho
