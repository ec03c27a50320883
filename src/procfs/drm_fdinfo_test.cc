#include "procfs/drm_fdinfo.h"

#include <gtest/gtest.h>

namespace tacho {
namespace {

TEST(DrmFdinfo, ReadsWhatAmdgpuWrites) {
  const auto info = parse_drm_fdinfo(
      "pos:\t0\nflags:\t02400002\nmnt_id:\t27\nino:\t1090\n"
      "drm-driver:\tamdgpu\ndrm-client-id:\t42\ndrm-pdev:\t0000:03:00.0\npasid:\t32783\n"
      "drm-memory-vram:\t38912 KiB\ndrm-memory-gtt: \t2052 KiB\ndrm-memory-cpu: \t0 KiB\n"
      "drm-engine-gfx:\t87450001 ns\ndrm-engine-compute:\t13 ns\ndrm-engine-dma:\t999 ns\n");
  ASSERT_TRUE(info);
  EXPECT_EQ(info->driver, "amdgpu");
  EXPECT_EQ(info->pdev, "0000:03:00.0");
  EXPECT_EQ(info->client_id, 42u);
  EXPECT_EQ(info->vram_bytes, 38912 * 1024);
  EXPECT_EQ(info->engine_ns, 87450014);  // dma is no usage of the cores
}

TEST(DrmFdinfo, TakesTheNewerMemoryNames) {
  const auto info = parse_drm_fdinfo("drm-driver: amdgpu\ndrm-total-vram: 8 MiB\ndrm-resident-vram: 3 MiB");
  ASSERT_TRUE(info);
  EXPECT_EQ(info->vram_bytes, 3 << 20);
  EXPECT_FALSE(info->engine_ns);
  EXPECT_FALSE(info->client_id);
}

TEST(DrmFdinfo, RefusesOtherFilesAndGarbage) {
  EXPECT_FALSE(parse_drm_fdinfo("pos:\t0\nflags:\t0100000\nmnt_id:\t15\n"));
  EXPECT_FALSE(parse_drm_fdinfo(""));
  const auto info = parse_drm_fdinfo(
      "drm-driver:\tamdgpu\ndrm-client-id:\t-1\ndrm-engine-gfx:\tx ns\n"
      "drm-memory-vram:\t9223372036854775807 KiB\nno colon\n:\n");
  ASSERT_TRUE(info);
  EXPECT_FALSE(info->client_id);
  EXPECT_FALSE(info->engine_ns);
  EXPECT_FALSE(info->vram_bytes);
}

}  // namespace
}  // namespace tacho
