// A vendor of GPUs, as the GPU probes know it: how its devices are reached, and what the doctor says of them. To add
// one: a file gpu_NAME.cc with its backend (gpu_device.h) that ends with its GpuVendor, and a line in gpu_vendors.cc.
// Constant data; a backend lives on the thread that it is given to.
#pragma once
#include <memory>
#include <span>

#include "base/result.h"
#include "probe/gpu/gpu_counters.h"
#include "probe/gpu/gpu_device.h"
#include "probe/kit/probe.h"

namespace tacho {

// What has to be looked after while a vendor's devices are read: a process that speaks to the driver. Of the sampling
// thread.
class GpuMinder {
 public:
  virtual ~GpuMinder() = default;
  virtual void look_after(ProbeContext& context) = 0;  // once a tick
  virtual bool in_trouble() const = 0;                 // and that was told
};

struct GpuAccess {
  std::unique_ptr<GpuBackend> backend;
  std::shared_ptr<GpuMinder> minder;  // null: there is nothing to look after
};
struct GpuCounterAccess {
  std::unique_ptr<GpuCounterSource> source;
  std::shared_ptr<GpuMinder> minder;
};

struct GpuVendor {
  std::string_view name;
  // not_available: none of its GPUs is here. Another error: they are, and cannot be read.
  Result<GpuAccess> (*open)(ProbeContext& context);
  // Power, temperature and traffic; null: by what the backend's samples say.
  Result<GpuCounterAccess> (*counters)(ProbeContext& context);
  // For the doctor: ok; not here (false); or what is wrong, and what to do.
  Result<bool> (*check)(const Roots& roots);
};

// In the order in which their devices are listed.
std::span<const GpuVendor* const> gpu_vendors();

}  // namespace tacho
