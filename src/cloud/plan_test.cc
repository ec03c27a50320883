// Who is asked, and where: the firmware's word, forcing, overrides. Nothing is sent.
#include "cloud/plan.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "os/metadata_off.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

constexpr const char* kEight = "aws,gcp,azure,hcloud,upcloud,vultr,alicloud,ovh";
constexpr const char* kExtra = ",digitalocean,oracle,linode,scaleway,exoscale";

class PlanTest : public testing::Test {
 protected:
  PlanTest() {
    std::filesystem::create_directories(dir_ / "sys/class/dmi/id");
    std::filesystem::create_directories(dir_ / "sys/hypervisor");
    for (const char* name :
         {"TACHO_IMDS_URL", "AWS_EC2_METADATA_SERVICE_ENDPOINT", "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE",
          "AWS_EC2_METADATA_DISABLED", "GCE_METADATA_HOST", "ECS_CONTAINER_METADATA_URI_V4", "TACHO_CLOUD_PROBE",
          "TACHO_CLOUD_EXTRA", "TACHO_NO_CLOUD"})
      ::unsetenv(name);
  }
  ~PlanTest() override {
    for (const std::string& name : set_) ::unsetenv(name.c_str());
  }

  void set(const std::string& name, const std::string& value) {
    ::setenv(name.c_str(), value.c_str(), 1);
    set_.push_back(name);
  }
  // A machine whose firmware says this, and nothing else.
  Plan plan(const std::map<std::string, std::string>& files) {
    for (const auto& [name, text] : files)
      spill(name == "hypervisor" ? dir_ / "sys/hypervisor/uuid" : dir_ / ("sys/class/dmi/id/" + name), text + "\n");
    const Plan plan = plan_probes(Dmi::read({dir_ / "proc", dir_ / "sys", dir_ / "etc"}));
    for (const auto& [name, text] : files)
      std::filesystem::remove(name == "hypervisor" ? dir_ / "sys/hypervisor/uuid"
                                                   : dir_ / ("sys/class/dmi/id/" + name));
    return plan;
  }

  TempDir dir_;
  std::vector<std::string> set_;
};

TEST_F(PlanTest, EachRowOfTheFirmwareTable) {
  EXPECT_EQ(plan({{"sys_vendor", "Amazon EC2"}}).key(), "aws");
  EXPECT_EQ(plan({{"sys_vendor", "Xen"}, {"bios_version", "4.11.amazon"}}).key(), "aws");
  EXPECT_EQ(plan({{"sys_vendor", "Xen"}, {"product_uuid", "EC2B1C5E-0000-0000-0000-000000000000"}}).key(), "aws");
  EXPECT_EQ(plan({{"hypervisor", "ec2f0a00-0000-0000-0000-000000000000"}}).key(), "aws");
  EXPECT_EQ(plan({{"product_name", "Google Compute Engine"}}).key(), "gcp");
  EXPECT_EQ(plan({{"sys_vendor", "Google"}}).key(), "gcp");
  EXPECT_EQ(
      plan({{"sys_vendor", "Microsoft Corporation"}, {"chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77"}}).key(),
      "azure");
  EXPECT_EQ(plan({{"sys_vendor", "Hetzner"}, {"product_name", "vServer"}}).key(), "hcloud");
  EXPECT_EQ(plan({{"sys_vendor", "UpCloud"}}).key(), "upcloud");
  EXPECT_EQ(plan({{"sys_vendor", "Vultr"}}).key(), "vultr");
  EXPECT_EQ(plan({{"sys_vendor", "Alibaba Cloud"}}).key(), "alicloud");
  EXPECT_EQ(plan({{"product_name", "Alibaba Cloud ECS"}}).key(), "alicloud");
  EXPECT_EQ(plan({{"product_name", "OpenStack Nova"}}).key(), "ovh");
  EXPECT_EQ(plan({{"product_name", "OpenStack Compute"}}).key(), "ovh");
  EXPECT_EQ(plan({{"sys_vendor", "OpenStack Foundation"}}).key(), "ovh");
  EXPECT_TRUE(plan({{"sys_vendor", "Alibaba Cloud"}}).candidates[0].context.dmi_match);
}

TEST_F(PlanTest, VendorsThatAreNotSentAreAskedOnRequestOnly) {
  const std::vector<std::pair<const char*, std::map<std::string, std::string>>> rows = {
      {"oracle", {{"sys_vendor", "QEMU"}, {"chassis_asset_tag", "OracleCloud.com"}}},
      {"digitalocean", {{"sys_vendor", "DigitalOcean"}}},
      {"linode", {{"sys_vendor", "Linode"}}},
      {"linode", {{"sys_vendor", "Akamai"}}},
      {"scaleway", {{"sys_vendor", "Scaleway"}}},
      {"exoscale", {{"sys_vendor", "Exoscale"}}}};
  for (const auto& [id, files] : rows) EXPECT_EQ(plan(files).key(), "") << id;
  set("TACHO_CLOUD_EXTRA", "1");
  for (const auto& [id, files] : rows) EXPECT_EQ(plan(files).key(), id);
  EXPECT_EQ(plan({}).key(), std::string(kEight) + kExtra);
}

TEST_F(PlanTest, MakersOfHardwareHaveNoService) {
  for (const char* maker : {"Dell Inc.", "HP", "HPE", "Hewlett-Packard", "Hewlett Packard Enterprise", "LENOVO",
                            "Supermicro", "FUJITSU", "ASUS", "ASUSTeK COMPUTER INC.", "Gigabyte Technology Co., Ltd.",
                            "GIGABYTE", "VMware, Inc.", "innotek GmbH", "Parallels International GmbH.", "Apple Inc."})
    EXPECT_EQ(plan({{"sys_vendor", maker}}).key(), "") << maker;
  EXPECT_EQ(plan({{"sys_vendor", "Oracle Corporation"}, {"product_name", "VirtualBox"}}).key(), "");
  for (const char* maker : {"QEMU", "Microsoft Corporation", "HPC Systems", "Xen", "Default string"})
    EXPECT_EQ(plan({{"sys_vendor", maker}}).key(), kEight) << maker;
  EXPECT_EQ(plan({}).key(), kEight);  // no firmware tables at all
}

TEST_F(PlanTest, Forcing) {
  set("TACHO_CLOUD_PROBE", "all");
  EXPECT_EQ(plan({{"sys_vendor", "Dell Inc."}}).key(), kEight);
  set("TACHO_CLOUD_PROBE", "ovh, AWS");
  EXPECT_EQ(plan({{"sys_vendor", "Google"}}).key(), "aws,ovh");
  EXPECT_FALSE(plan({}).cacheable);
  set("TACHO_CLOUD_PROBE", "off");
  EXPECT_EQ(plan({{"sys_vendor", "Google"}}).key(), "");
  EXPECT_TRUE(metadata_is_off());
  set("TACHO_CLOUD_PROBE", "auto");
  EXPECT_FALSE(metadata_is_off());
  EXPECT_TRUE(plan({{"sys_vendor", "Google"}}).cacheable);
  set("TACHO_NO_CLOUD", "please");
  EXPECT_TRUE(metadata_is_off());
  set("TACHO_NO_CLOUD", "0");
  EXPECT_FALSE(metadata_is_off());
}

TEST_F(PlanTest, OverridesPassTheGate) {
  set("TACHO_IMDS_VULTR_URL", "http://127.0.0.1:1/");
  const Plan one = plan({{"sys_vendor", "Google"}});
  EXPECT_EQ(one.key(), "gcp,vultr");
  EXPECT_EQ(one.candidates[1].bases.at(0).url, "http://127.0.0.1:1");
  EXPECT_FALSE(one.cacheable);
  EXPECT_EQ(plan({{"sys_vendor", "Dell Inc."}}).key(), "vultr");
  set("TACHO_IMDS_URL", "http://127.0.0.1:2");
  const Plan all = plan({{"sys_vendor", "Dell Inc."}});
  EXPECT_EQ(all.key(), kEight);
  for (const Candidate& candidate : all.candidates) {
    ASSERT_EQ(candidate.bases.size(), 1u);
    EXPECT_EQ(candidate.bases[0].url, candidate.vendor->id == "vultr" ? "http://127.0.0.1:1" : "http://127.0.0.1:2");
  }
}

TEST_F(PlanTest, VariablesOfOtherPrograms) {
  set("GCE_METADATA_HOST", "127.0.0.1:8");
  set("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:9");
  Plan both = plan({{"sys_vendor", "Dell Inc."}});
  ASSERT_EQ(both.key(), "aws,gcp");
  EXPECT_EQ(both.candidates[0].bases[0].url, "http://127.0.0.1:9");
  EXPECT_EQ(both.candidates[1].bases[0].url, "http://127.0.0.1:8");
  set("AWS_EC2_METADATA_DISABLED", "true");
  EXPECT_EQ(plan({{"sys_vendor", "Dell Inc."}}).key(), "gcp");
  set("ECS_CONTAINER_METADATA_URI_V4", "http://169.254.170.2/v4/x");
  const Plan task = plan({{"sys_vendor", "Dell Inc."}});
  ASSERT_EQ(task.key(), "aws,gcp");
  EXPECT_FALSE(task.candidates[0].context.ask_imds);
  EXPECT_EQ(task.candidates[0].context.ecs_task_url, "http://169.254.170.2/v4/x/task");
}

TEST_F(PlanTest, OwnAddresses) {
  const Plan all = plan({});
  ASSERT_EQ(all.key(), kEight);
  EXPECT_EQ(all.candidates[0].bases.at(1).url, "http://[fd00:ec2::254]");
  EXPECT_EQ(all.candidates[1].bases.at(0).url, "http://metadata.google.internal");
  EXPECT_EQ(all.candidates[1].bases.at(1).url, "http://169.254.169.254");
  EXPECT_EQ(all.candidates[1].bases.at(1).host, "metadata.google.internal");
  EXPECT_EQ(all.candidates[6].bases.at(0).url, "http://100.100.100.200");
  set("TACHO_IMDS_AWS_URL", "ftp://127.0.0.1");  // refused; its own address is not wanted either
  EXPECT_EQ(plan({}).key(), std::string(kEight).substr(4));
}

}  // namespace
}  // namespace tacho
