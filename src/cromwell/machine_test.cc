#include "cromwell/machine.h"

#include <gtest/gtest.h>

#include "base/units.h"

namespace tacho {
namespace {

struct TypeCase {
  const char* type;
  int64_t cpus, mib;  // 0: not known
};
class MachineType : public testing::TestWithParam<TypeCase> {};
TEST_P(MachineType, IsRead) {
  const auto machine = machine_of_type(GetParam().type);
  ASSERT_EQ(machine.has_value(), GetParam().cpus != 0) << GetParam().type;
  if (!machine) return;
  EXPECT_EQ(machine->cpus, GetParam().cpus) << GetParam().type;
  EXPECT_EQ(machine->memory_bytes / kMiB, GetParam().mib) << GetParam().type;
}
INSTANTIATE_TEST_SUITE_P(
    All, MachineType,
    testing::Values(TypeCase{"custom-4-8192", 4, 8192}, TypeCase{"n2-custom-8-16384", 8, 16384},
                    TypeCase{"n2d-custom-16-131072-ext", 16, 131072}, TypeCase{"n1-custom-1-1024", 1, 1024},
                    TypeCase{"projects/p/zones/z/machineTypes/custom-2-2048", 2, 2048},
                    TypeCase{"n1-standard-1", 1, 3840}, TypeCase{"n1-highmem-8", 8, 53248},
                    TypeCase{"n1-highcpu-2", 2, 1843}, TypeCase{"e2-medium", 2, 4096},
                    TypeCase{"e2-standard-16", 16, 65536}, TypeCase{"n2-highmem-4", 4, 32768},
                    TypeCase{"c3-standard-22-lssd", 22, 90112}, TypeCase{"a2-highgpu-1g", 12, 87040},
                    TypeCase{"f1-micro", 1, 614}, TypeCase{"", 0, 0}, TypeCase{"custom-4", 0, 0},
                    TypeCase{"custom-x-1", 0, 0}, TypeCase{"custom-4-8192-abc", 0, 0}, TypeCase{"custom-0-8192", 0, 0},
                    TypeCase{"custom--4-8192", 0, 0}, TypeCase{"a-b-custom-1-1024", 0, 0},
                    TypeCase{"n1-standard-", 0, 0}, TypeCase{"z9-mega-4", 0, 0},
                    TypeCase{"custom-99999999999999999999-1", 0, 0}, TypeCase{"mycustom-1-2", 0, 0}));

// Google's own tables, where a rule of so much a CPU would be wrong or was missing.
INSTANTIATE_TEST_SUITE_P(
    ShapesThatFollowNoRule, MachineType,
    testing::Values(TypeCase{"n2-highmem-96", 96, 768 * 1024}, TypeCase{"n2-highmem-128", 128, 864 * 1024},
                    TypeCase{"c3d-highcpu-16", 16, 32 * 1024}, TypeCase{"c3d-highcpu-30", 30, 59 * 1024},
                    TypeCase{"c3d-highcpu-60", 60, 118 * 1024}, TypeCase{"c3d-highcpu-90", 90, 177 * 1024},
                    TypeCase{"c3d-highcpu-180", 180, 354 * 1024}, TypeCase{"c3d-highcpu-360", 360, 708 * 1024},
                    TypeCase{"c3d-standard-360-lssd", 360, 1440 * 1024}, TypeCase{"c3-highcpu-176", 176, 352 * 1024},
                    TypeCase{"c3-highcpu-192-metal", 192, 512 * 1024}, TypeCase{"c4-standard-2", 2, 7 * 1024},
                    TypeCase{"c4-standard-8", 8, 30 * 1024}, TypeCase{"c4-highmem-4-lssd-v1", 4, 31 * 1024},
                    TypeCase{"c4-standard-288-lssd-metal", 288, 1080 * 1024}, TypeCase{"c4-highcpu-96", 96, 192 * 1024},
                    TypeCase{"c4d-highcpu-2", 2, 3 * 1024}, TypeCase{"c4d-highcpu-384", 384, 720 * 1024},
                    TypeCase{"c4d-standard-2", 2, 7 * 1024}, TypeCase{"c4d-standard-8-lssd", 8, 31 * 1024},
                    TypeCase{"c4d-highmem-4", 4, 31 * 1024}, TypeCase{"c4d-highmem-384", 384, 3024 * 1024},
                    TypeCase{"c4a-highmem-72-lssd", 72, 576 * 1024}, TypeCase{"n4d-highcpu-96", 96, 192 * 1024},
                    TypeCase{"g4-standard-6", 6, 22 * 1024}, TypeCase{"g4-standard-48", 48, 180 * 1024},
                    TypeCase{"z3-highmem-88-highlssd", 88, 704 * 1024},
                    TypeCase{"h4d-highmem-192-lssd", 192, 1488 * 1024}, TypeCase{"m2-hypermem-416", 416, 8832 * 1024},
                    TypeCase{"m3-ultramem-128", 128, 3904 * 1024}, TypeCase{"a3-highgpu-1g-nolssd", 26, 234 * 1024},
                    TypeCase{"a3-ultragpu-8g", 224, 2952 * 1024}, TypeCase{"n2-highmem-", 0, 0},
                    TypeCase{"x4-megamem-1920-metal", 1920, 32768 * 1024},
                    TypeCase{"x4-480-6t-metal", 480, 6144 * 1024}, TypeCase{"x4-960-16t-metal", 960, 16384 * 1024},
                    TypeCase{"z3-highmem-192-highlssd-metal", 192, 1536 * 1024},
                    TypeCase{"z4d-highmem-8-highlssd", 8, 63 * 1024},
                    TypeCase{"z4d-highmem-384-standardlssd", 384, 3024 * 1024},
                    TypeCase{"m4n-hypermem-64", 64, 992 * 1024}, TypeCase{"a4x-maxgpu-4g-metal", 144, 960 * 1024},
                    TypeCase{"e2-custom-micro-1024", 2, 1024}, TypeCase{"e2-custom-medium-6144", 2, 6144},
                    TypeCase{"e2-custom-medium-6144-ext", 0, 0}, TypeCase{"n2-custom-medium-6144", 0, 0},
                    TypeCase{"e2-custom-large-6144", 0, 0}, TypeCase{"c3-highcpu-7-metal", 0, 0}));

struct MemoryCase {
  const char* text;
  int64_t bytes;  // −1: refused
};
class Memory : public testing::TestWithParam<MemoryCase> {};
TEST_P(Memory, IsRead) {
  EXPECT_EQ(parse_memory_bytes(GetParam().text).value_or(-1), GetParam().bytes) << GetParam().text;
}
INSTANTIATE_TEST_SUITE_P(All, Memory,
                         testing::Values(MemoryCase{"512 MB", 512 * kMiB}, MemoryCase{"512MB", 512 * kMiB},
                                         MemoryCase{"2 GB", 2048 * kMiB}, MemoryCase{"3.75 GB", 3840 * kMiB},
                                         MemoryCase{"2 GiB", 2048 * kMiB}, MemoryCase{"2Gi", 2048 * kMiB},
                                         MemoryCase{"2 G", 2048 * kMiB}, MemoryCase{"4 KB", 4096},
                                         MemoryCase{"4 K", 4096}, MemoryCase{"4 KiB", 4096}, MemoryCase{"4 Ki", 4096},
                                         MemoryCase{"1 TB", 1048576 * kMiB}, MemoryCase{"7 B", 7}, MemoryCase{"7", 7},
                                         MemoryCase{" 8  gb ", 8192 * kMiB}, MemoryCase{"", -1}, MemoryCase{"GB", -1},
                                         MemoryCase{"2 XB", -1}, MemoryCase{"-1 GB", -1}, MemoryCase{"2 GBs", -1},
                                         MemoryCase{"1e300 GB", -1}, MemoryCase{"nan GB", -1},
                                         MemoryCase{"two GB", -1}));

TEST(Machine, ReadsCpus) {
  EXPECT_EQ(parse_cpus("4"), 4);
  EXPECT_EQ(parse_cpus("2.5"), 3);
  EXPECT_EQ(parse_cpus("0.1"), 1);
  for (const char* text : {"", "0", "-1", "four", "inf", "1e30"}) EXPECT_FALSE(parse_cpus(text)) << text;
}

struct ShapeCase {
  const char* platform;
  int64_t cpus, mib, got_cpus, got_mib;
};
class BatchShape : public testing::TestWithParam<ShapeCase> {};
TEST_P(BatchShape, IsDerived) {
  const ShapeCase& wish = GetParam();
  const Machine machine = batch_shape(wish.cpus, wish.mib * kMiB, wish.platform);
  EXPECT_EQ(machine.cpus, wish.got_cpus);
  EXPECT_EQ(machine.memory_bytes, wish.got_mib * kMiB);
}
INSTANTIATE_TEST_SUITE_P(
    All, BatchShape,
    testing::Values(ShapeCase{"", 1, 2048, 1, 2048}, ShapeCase{"", 3, 4096, 4, 4096}, ShapeCase{"", 1, 2000, 1, 2048},
                    ShapeCase{"", 4, 1024, 4, 3840},     // 3.6 GiB at least, in steps of 256 MiB
                    ShapeCase{"", 1, 8192, 2, 8192},     // 6.5 GiB a CPU at most
                    ShapeCase{"", 2, 65536, 10, 65536},  // 64 / 6.5 = 9.8
                    ShapeCase{"Intel Cascade Lake", 1, 1024, 2, 2048},
                    ShapeCase{"Intel Ice Lake", 33, 65536, 36, 65536},
                    ShapeCase{"Intel Cascade Lake", 2, 32768, 4, 32768}, ShapeCase{"AMD Rome", 1, 512, 2, 1024},
                    ShapeCase{"AMD Rome", 5, 8192, 8, 8192}, ShapeCase{"AMD Rome", 17, 32768, 32, 32768},
                    ShapeCase{"AMD Rome", 200, 98304, 96, 98304}, ShapeCase{"Intel Skylake", 5, 8192, 6, 8192}));

}  // namespace
}  // namespace tacho
