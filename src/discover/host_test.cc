// Host facts over kernel trees: names of processors, ids that are really ids, storage, what the environment overrides.
#include "discover/host.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "discover/host_id.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

Roots fixture(const std::string& name) {
  const std::string root = std::string(TACHO_FIXTURES) + "/" + name;
  return {root + "/proc", root + "/sys", root + "/etc"};
}

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }

 private:
  const char* name_;
};

TEST(Host, X86VirtualMachine) {
  const Host host = discover_host(fixture("x86_vm"));
  EXPECT_EQ(host.host_id, "i-0abcdef1234567890");
  EXPECT_EQ(host.host_vcpus, 2);
  EXPECT_EQ(host.host_cpu_model, "AMD EPYC 7R13 Processor");
  EXPECT_EQ(host.host_memory_mib, 24684100 / 1024);
  ASSERT_TRUE(host.host_storage_gb.has_value());
  EXPECT_DOUBLE_EQ(*host.host_storage_gb, 21.475);  // 41943040 × 512 bytes, three decimals; the CD drive is no disk
  EXPECT_FALSE(host.host_server_allocation.has_value());
  EXPECT_FALSE(host.host_gpu_count.has_value());
  EXPECT_TRUE(host.host_hostname.has_value());
}

TEST(Host, ArmClustersInOrderOfTheirSize) {
  const Host host = discover_host(fixture("arm_clusters"));
  EXPECT_EQ(host.host_cpu_model, "Neoverse-N1 + Cortex-A72");
  EXPECT_EQ(host.host_vcpus, 6);  // online 0-3,8-9
  EXPECT_EQ(host.host_id, "0f1e2d3c4b5a69788796a5b4c3d2e1f0");
}

// A machine of many CPUs: of x86 the first block is enough, of Arm the last core counts, too.
TEST(Host, CpuModelBeyondTheFirstPiece) {
  const TempDir dir;
  const auto model_of = [&](const std::string& block, const std::string& last) {
    std::string text;
    for (int i = 0; i < 1000; ++i) text += "processor\t: " + std::to_string(i) + "\n" + block + "\n";
    std::ofstream(dir / "cpuinfo") << text << last;
    return discover_host({dir.path(), "/nonexistent", "/nonexistent"}).host_cpu_model;
  };
  const std::string x86 =
      "vendor_id\t: GenuineIntel\nmodel\t\t: 85\nmodel name\t: Xeon\n" + std::string(500, 'f') + "\n";
  EXPECT_EQ(model_of(x86, ""), "Xeon");
  EXPECT_EQ(model_of(std::string(300, 'f') + "\n", x86), "Xeon");  // wherever it stands
  EXPECT_EQ(model_of("CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n",
                     "processor\t: 1000\nCPU implementer\t: 0x41\nCPU part\t: 0xd08\n"),
            "Neoverse-N1 + Cortex-A72");
}

TEST(Host, CpuModelOfOtherArchitectures) {
  EXPECT_EQ(cpu_model("processor 0: version = FF,  identification = 1,  machine = 8561\n"), "IBM/S390 8561");
  EXPECT_EQ(cpu_model("processor : 0\ncpu : POWER9 (architected),  altivec\n"), "POWER9 (architected), altivec");
  EXPECT_EQ(cpu_model("isa : rv64imafdc\n"), "rv64imafdc");
  EXPECT_EQ(cpu_model("isa : rv64imafdc\nuarch : sifive,u74-mc\n"), "sifive,u74-mc");
  EXPECT_EQ(cpu_model("CPU implementer : 0x61\nCPU part : 0x22\n"), "implementer 0x61 part 0x022");
  EXPECT_EQ(cpu_model(""), "");
}

TEST(Host, UnknownIsAbsent) {
  const Host host = discover_host({"/nonexistent", "/nonexistent", "/nonexistent"});
  EXPECT_FALSE(host.host_id.has_value());
  EXPECT_FALSE(host.host_cpu_model.has_value());
  EXPECT_FALSE(host.host_memory_mib.has_value());
  EXPECT_FALSE(host.host_storage_gb.has_value());
  EXPECT_TRUE(host.host_vcpus.has_value());  // the C library knows
}

TEST(HostId, PlaceholdersAreNoIds) {
  for (const char* text : {"", " ", "0", "0000-0000", "FFFFFFFF", "Not Specified", "TO BE FILLED BY O.E.M.", "None",
                           "N/A", "Default string", "System Serial Number", "0123456789", "unknown",
                           "03000200-0400-0500-0006-000700080009", "00000000-0000-0000-0000-000000000000"})
    EXPECT_TRUE(is_dmi_placeholder(text)) << text;
  for (const char* text : {"VMware-56 4d", "F00", "01234567890", "C02XK0AAJGH5"})
    EXPECT_FALSE(is_dmi_placeholder(text)) << text;
  // Serial and asset tag say nothing: the UUID has its turn.
  EXPECT_EQ(local_host_id(fixture("azure")), "F5A2C2E0-1D2B-4A6C-9B1F-0123456789AB");
}

TEST(HostId, AssetTagOnlyWhenItIsAnInstance) {
  TempDir dir;
  std::filesystem::create_directories(dir / "sys/class/dmi/id");
  const Roots roots{dir / "proc", dir / "sys", dir / "etc"};
  for (const char* tag : {"ASSET-1234", "i-", "i-xyz", "i-12G45678", "inventory 7"}) {
    spill(dir / "sys/class/dmi/id/board_asset_tag", tag);
    EXPECT_FALSE(local_host_id(roots).has_value()) << tag;
  }
  spill(dir / "sys/class/dmi/id/board_asset_tag", "i-12345678\n");
  EXPECT_EQ(local_host_id(roots), "i-12345678");
}

TEST(HostId, MachineIdOfAnImageIsNoId) {
  EXPECT_TRUE(in_container(fixture("container")));
  EXPECT_FALSE(local_host_id(fixture("container")).has_value());
  EXPECT_FALSE(in_container(fixture("x86_vm")));
  // Mounted from the host it is the host's.
  TempDir dir;
  std::filesystem::create_directories(dir / "proc/self");
  std::filesystem::create_directories(dir / "etc");
  const Roots roots{dir / "proc", dir / "sys", dir / "etc"};
  const std::string overlay = "1 0 0:9 / / rw - overlay overlay rw\n";
  spill(dir / "etc/machine-id", "ffeeddccbbaa99887766554433221100\n");
  spill(dir / "proc/self/mountinfo", overlay);
  EXPECT_FALSE(local_host_id(roots).has_value());
  spill(dir / "proc/self/mountinfo", overlay + "2 1 8:1 /etc/machine-id /etc/machine-id ro - ext4 /dev/sda1 rw\n");
  EXPECT_EQ(local_host_id(roots), "ffeeddccbbaa99887766554433221100");
}

TEST(HostId, UninitializedAndEmptyFallThroughToDbus) {
  TempDir dir;
  std::filesystem::create_directories(dir / "etc");
  std::filesystem::create_directories(dir / "var/lib/dbus");
  const Roots roots{dir / "proc", dir / "sys", dir / "etc"};
  for (const char* text : {"", "\n", "uninitialized\n"}) {
    spill(dir / "etc/machine-id", text);
    EXPECT_FALSE(local_host_id(roots).has_value());
  }
  spill(dir / "var/lib/dbus/machine-id", "abc123abc123abc123abc123abc123ab\n");
  EXPECT_EQ(local_host_id(roots), "abc123abc123abc123abc123abc123ab");
}

TEST(Host, EnvironmentBeatsDiscovery) {
  {
    const Variable id("TACHO_HOST_ID_VALUE", "my-machine");
    const Variable allocation("TACHO_HOST_ALLOCATION", "dedicated");
    const Host host = discover_host(fixture("x86_vm"));
    EXPECT_EQ(host.host_id, "my-machine");
    EXPECT_EQ(host.host_server_allocation, "dedicated");
  }
  const Variable id("TACHO_HOST_ID_VALUE", "");
  const Variable allocation("TACHO_HOST_ALLOCATION", "mine");
  const Host host = discover_host(fixture("x86_vm"));
  EXPECT_FALSE(host.host_id.has_value());
  EXPECT_FALSE(host.host_server_allocation.has_value());
}

TEST(Host, AllocationUnderLimits) {
  Host host;
  host.host_vcpus = 8;
  host.host_memory_mib = 1000;
  EXPECT_FALSE(allocation_under({}, host).has_value());
  EXPECT_FALSE(allocation_under({8.0, 8, int64_t{960} << 20}, host).has_value());
  EXPECT_EQ(allocation_under({7.5, std::nullopt, std::nullopt}, host), "shared");
  EXPECT_EQ(allocation_under({std::nullopt, 7, std::nullopt}, host), "shared");
  EXPECT_EQ(allocation_under({std::nullopt, std::nullopt, int64_t{940} << 20}, host), "shared");
  set_allocation(host, {7.5, std::nullopt, std::nullopt});
  EXPECT_EQ(host.host_server_allocation, "shared");
  const Variable hidden("TACHO_HOST_ALLOCATION", "");
  Host other = host;
  other.host_server_allocation.reset();
  set_allocation(other, {7.5, std::nullopt, std::nullopt});
  EXPECT_FALSE(other.host_server_allocation.has_value());
}

}  // namespace
}  // namespace tacho
