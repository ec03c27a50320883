#include "procfs/meminfo.h"

#include <algorithm>

#include "base/saturate.h"
#include "procfs/scan.h"

namespace tacho {
namespace {

int64_t* find_field(MemInfo& info, std::string_view key) {
  // The first letter and the length leave one candidate.
  switch (key.size()) {
    case 6: return key == "Cached" ? &info.cached : key == "Active" ? &info.active : nullptr;
    case 7: return key == "MemFree" ? &info.free : key == "Buffers" ? &info.buffers : nullptr;
    case 8:
      return key == "MemTotal"   ? &info.total
             : key == "Inactive" ? &info.inactive
             : key == "SwapFree" ? &info.swap_free
                                 : nullptr;
    case 9: return key == "SwapTotal" ? &info.swap_total : nullptr;
    case 12: return key == "MemAvailable" ? &info.available : key == "SReclaimable" ? &info.reclaimable : nullptr;
    default: return nullptr;
  }
}

int64_t or_zero(int64_t value) { return std::max<int64_t>(0, value); }

}  // namespace

int64_t MemInfo::used() const {
  if (total < 0) return -1;
  if (available >= 0) return or_zero(total - available);
  if (free < 0) return -1;
  int64_t used = or_zero(total - free);
  for (const int64_t part : {buffers, cached, reclaimable}) used = or_zero(used - or_zero(part));
  return used;
}

int64_t MemInfo::cached_and_reclaimable() const {
  return cached < 0 ? -1 : saturating_add(cached, or_zero(reclaimable));
}

MemInfo parse_meminfo(std::string_view text) {
  MemInfo info;
  Scanner scan(text);
  while (!scan.done()) {
    const std::string_view line = scan.line();
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    int64_t* const field = find_field(info, line.substr(0, colon));
    if (field == nullptr) continue;
    int64_t kib = 0;
    if (Scanner(line.substr(colon + 1)).number(kib)) *field = saturating_multiply(kib, 1024);
    if (field == &info.reclaimable) break;  // the last one wanted; the kernel's order is fixed
  }
  return info;
}

}  // namespace tacho
