#include "procfs/drm_fdinfo.h"

#include "base/text.h"

namespace tacho {
namespace {

// "123456 ns", "1024 KiB", "4096": a number and perhaps a unit.
std::optional<int64_t> quantity(std::string_view text) {
  const size_t space = text.find_first_of(" \t");
  const auto number = parse_int<int64_t>(text.substr(0, space));
  if (!number || *number < 0) return std::nullopt;
  const std::string_view unit = space == std::string_view::npos ? "" : trim(text.substr(space));
  int shift = 0;
  if (unit == "KiB" || unit == "kB") shift = 10;
  else if (unit == "MiB") shift = 20;
  if (*number > (INT64_MAX >> shift)) return std::nullopt;
  return *number << shift;
}

}  // namespace

// drm-driver:	amdgpu
// drm-client-id:	8
// drm-pdev:	0000:03:00.0
// drm-memory-vram:	38912 KiB
// drm-engine-gfx:	87450001 ns
std::optional<DrmFdinfo> parse_drm_fdinfo(std::string_view text) {
  DrmFdinfo info;
  std::optional<int64_t> resident, total;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view key = trim(line.substr(0, colon));
    const std::string_view value = trim(line.substr(colon + 1));
    if (key == "drm-driver") {
      info.driver = value;
    } else if (key == "drm-pdev") {
      info.pdev = value;
    } else if (key == "drm-client-id") {
      info.client_id = parse_int<uint64_t>(value);
    } else if (key == "drm-engine-gfx" || key == "drm-engine-compute") {
      const auto ns = quantity(value);
      if (ns && *ns <= INT64_MAX - info.engine_ns.value_or(0)) info.engine_ns = info.engine_ns.value_or(0) + *ns;
    } else if (key == "drm-memory-vram") {
      info.vram_bytes = quantity(value);
    } else if (key == "drm-resident-vram") {
      resident = quantity(value);
    } else if (key == "drm-total-vram") {
      total = quantity(value);
    }
  }
  if (info.driver.empty()) return std::nullopt;
  // The older name is being retired in favour of these two.
  if (!info.vram_bytes) info.vram_bytes = resident ? resident : total;
  return info;
}

}  // namespace tacho
