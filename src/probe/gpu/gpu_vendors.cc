// The vendors of GPUs. A new one is a new file and a new line here.
#include "probe/gpu/gpu_vendor.h"

#define TACHO_GPU_VENDORS(VENDOR) \
  VENDOR(Nvidia)                  \
  VENDOR(Amd)

namespace tacho {

#define TACHO_DECLARE(name) extern const GpuVendor k##name##Gpus;
#define TACHO_LIST(name) &k##name##Gpus,
TACHO_GPU_VENDORS(TACHO_DECLARE)

std::span<const GpuVendor* const> gpu_vendors() {
  static const GpuVendor* const kVendors[] = {TACHO_GPU_VENDORS(TACHO_LIST)};
  return kVendors;
}

#undef TACHO_DECLARE
#undef TACHO_LIST

}  // namespace tacho
