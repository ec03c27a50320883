#include "cloud/table.h"

namespace tacho {
namespace {

constexpr std::string_view kLinkLocal = "http://169.254.169.254";

constexpr auto kVendors = std::to_array<Vendor>({
    {"aws", true, "TACHO_IMDS_AWS_URL", ask_aws, kLinkLocal, "http://[fd00:ec2::254]"},
    {"gcp", true, "TACHO_IMDS_GCP_URL", ask_gcp, "http://metadata.google.internal", kLinkLocal,
     "metadata.google.internal"},
    {"azure", true, "TACHO_IMDS_AZURE_URL", ask_azure, kLinkLocal},
    {"hcloud", true, "TACHO_IMDS_HCLOUD_URL", ask_hcloud, kLinkLocal},
    {"upcloud", true, "TACHO_IMDS_UPCLOUD_URL", ask_upcloud, kLinkLocal},
    {"vultr", true, "TACHO_IMDS_VULTR_URL", ask_vultr, kLinkLocal},
    {"alicloud", true, "TACHO_IMDS_ALICLOUD_URL", ask_alicloud, "http://100.100.100.200"},
    {"ovh", true, "TACHO_IMDS_OVH_URL", ask_ovh, kLinkLocal},
    {"digitalocean", false, "TACHO_IMDS_DIGITALOCEAN_URL", ask_digitalocean, kLinkLocal},
    {"oracle", false, "TACHO_IMDS_ORACLE_URL", ask_oracle, kLinkLocal},
    {"linode", false, "TACHO_IMDS_LINODE_URL", ask_linode, kLinkLocal},
    {"scaleway", false, "TACHO_IMDS_SCALEWAY_URL", ask_scaleway, "http://169.254.42.42", "http://[fd00:42::42]"},
    {"exoscale", false, "TACHO_IMDS_EXOSCALE_URL", ask_exoscale, kLinkLocal},
});

}  // namespace

std::span<const Vendor> all_vendors() { return kVendors; }

const Vendor* find_vendor(std::string_view id) {
  for (const Vendor& vendor : kVendors)
    if (vendor.id == id) return &vendor;
  return nullptr;
}

}  // namespace tacho
