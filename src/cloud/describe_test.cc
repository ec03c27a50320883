// The fields of a start body: wire names, nothing unknown, nothing hidden.
#include "cloud/describe.h"

#include <gtest/gtest.h>

namespace tacho {
namespace {

std::string json_of(const Host& host, const Cloud& cloud, const std::vector<std::string>& hidden) {
  Writer out;
  JsonWriter json(out);
  json.object();
  write_fields(json, describe_machine(host, cloud, hidden));
  json.end_object();
  return std::string(out.view());
}

TEST(Describe, UnknownIsLeftOut) { EXPECT_EQ(json_of({}, {}, {}), "{}"); }

TEST(Describe, WireNamesAndTypes) {
  Host host;
  host.host_hostname = "box";
  host.host_server_allocation = "shared";
  host.host_vcpus = 8;
  host.host_gpu_memory_mib = 81559;
  host.host_storage_gb = 21.5;
  const Cloud cloud{"aws", "1", "eu-west-1", "eu-west-1a", "t3.nano", "i-1"};
  EXPECT_EQ(json_of(host, cloud, {}),
            R"({"host_hostname":"box","host_server_allocation":"shared","host_vcpus":8,"host_gpu_memory_mib":81559,)"
            R"("host_storage_gb":21.500,"cloud_vendor_id":"aws","cloud_account_id":"1","cloud_region_id":"eu-west-1",)"
            R"("cloud_zone_id":"eu-west-1a","cloud_instance_type":"t3.nano"})");
  EXPECT_EQ(json_of(host, cloud,
                    {"host_hostname", "cloud_account_id", "host_storage_gb", "cloud_zone_id", "cloud_instance_type"}),
            R"({"host_server_allocation":"shared","host_vcpus":8,"host_gpu_memory_mib":81559,"cloud_vendor_id":"aws",)"
            R"("cloud_region_id":"eu-west-1"})");
  EXPECT_EQ(field_text({"host_storage_gb", 21.5}), "21.500");
  EXPECT_EQ(field_text({"host_vcpus", int64_t{8}}), "8");
}

}  // namespace
}  // namespace tacho
