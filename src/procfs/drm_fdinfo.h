// /proc/PID/fdinfo/N of an open DRM device (Documentation/gpu/drm-usage-stats.rst): what one client of a GPU driver has
// used. amdgpu writes these lines since Linux 5.19. Pure: no I/O, no allocation.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace tacho {

struct DrmFdinfo {
  std::string_view driver;  // "amdgpu"; views into the text
  std::string_view pdev;    // "0000:03:00.0"
  std::optional<uint64_t> client_id;
  std::optional<int64_t> engine_ns;   // graphics and compute together, cumulative
  std::optional<int64_t> vram_bytes;  // now
};

// Nothing when the text is not of a DRM device.
std::optional<DrmFdinfo> parse_drm_fdinfo(std::string_view text);

}  // namespace tacho
