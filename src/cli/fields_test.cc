#include "cli/fields.h"

#include <gtest/gtest.h>

namespace tacho {
namespace {

using Names = std::vector<std::string>;

TEST(Fields, SeedAndWireNamesAreOne) {
  EXPECT_EQ(*hidden_fields("host_name"), Names{"host_hostname"});
  EXPECT_EQ(*hidden_fields("host_hostname"), Names{"host_hostname"});
  EXPECT_EQ(*hidden_fields("host_allocation"), Names{"host_server_allocation"});
  EXPECT_EQ(*hidden_fields("host_gpu_vram_mib"), Names{"host_gpu_memory_mib"});
  EXPECT_EQ(*hidden_fields("host-ip"), Names{"host_ip"});
}

TEST(Fields, Groups) {
  EXPECT_EQ(*hidden_fields("private"), (Names{"host_id", "host_hostname", "host_ip", "cloud_account_id", "command",
                                              "mac_address", "disk_serial", "gpu_uuid"}));
  EXPECT_EQ(hidden_fields("host")->size(), 14u) << "eleven of its own and the identifiers of its devices";
  EXPECT_EQ(*hidden_fields("cloud"),
            (Names{"cloud_vendor_id", "cloud_account_id", "cloud_region_id", "cloud_zone_id", "cloud_instance_type"}));
}

TEST(Fields, EveryWordIsTaken) {
  for (const std::string_view word : hide_words()) EXPECT_TRUE(hidden_fields(word)) << word;
}

TEST(Fields, UnknownFieldsNameTheNearest) {
  EXPECT_EQ(hidden_fields("host_ipp").error().message(), "unknown field host_ipp; did you mean host_ip?");
  EXPECT_FALSE(hidden_fields("timestamp"));
}

}  // namespace
}  // namespace tacho
