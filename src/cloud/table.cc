#include "cloud/table.h"

#define TACHO_CLOUDS(CLOUD) \
  CLOUD(Aws)                \
  CLOUD(Gcp)                \
  CLOUD(Azure)              \
  CLOUD(Hcloud)             \
  CLOUD(Upcloud)            \
  CLOUD(Vultr)              \
  CLOUD(Alicloud)           \
  CLOUD(Ovh)                \
  CLOUD(Digitalocean)       \
  CLOUD(Oracle)             \
  CLOUD(Linode)             \
  CLOUD(Scaleway)           \
  CLOUD(Exoscale)

namespace tacho {

#define TACHO_DECLARE(name) extern const Vendor k##name;
#define TACHO_LIST(name) k##name,
TACHO_CLOUDS(TACHO_DECLARE)

std::span<const Vendor> all_vendors() {
  static const Vendor kVendors[] = {TACHO_CLOUDS(TACHO_LIST)};
  return kVendors;
}

const Vendor* find_vendor(std::string_view id) {
  for (const Vendor& vendor : all_vendors())
    if (vendor.id == id) return &vendor;
  return nullptr;
}

std::vector<std::string_view> vendors_of(const Dmi& dmi) {
  std::vector<std::string_view> vendors;
  for (const Vendor& vendor : all_vendors())
    if (vendor.firmware(dmi)) vendors.push_back(vendor.id);
  return vendors;
}

#undef TACHO_DECLARE
#undef TACHO_LIST

}  // namespace tacho
