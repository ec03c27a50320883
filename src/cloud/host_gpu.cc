#include "cloud/host_gpu.h"

#include "base/log.h"
#include "base/units.h"
#include "os/clock.h"
#include "probe/gpu/gpu.h"

namespace tacho {
namespace {

constexpr int64_t kPatienceNs = 2 * kNsPerSec, kPauseNs = 10 * kNsPerMs;

}  // namespace

void find_host_gpu(const Roots& roots, Host& host) {
  if (const Status status = kGpuProbe.check(roots); !status) {
    log::debug(status.error().message());
    return;
  }
  ProbeContext context;
  context.roots = roots;
  const auto probe = kGpuProbe.make(context);
  if (!probe) return;
  Clock& clock = system_clock();
  const int64_t deadline_ns = clock.monotonic_ns() + kPatienceNs;
  Reading reading;
  Run run;
  while (!run.host.host_gpu_count && clock.monotonic_ns() < deadline_ns) {
    reading.clear();
    reading.stamp_ns = clock.monotonic_ns();
    (*probe)->prepare();
    (*probe)->read(reading);
    (*probe)->describe_run(run);
    if (!run.host.host_gpu_count) clock.wait({}, clock.monotonic_ns() + kPauseNs);
  }
  host.host_gpu_model = run.host.host_gpu_model;
  host.host_gpu_count = run.host.host_gpu_count;
  host.host_gpu_memory_mib = run.host.host_gpu_memory_mib;
}

}  // namespace tacho
