// The GPU probes. "gpu": utilisation, memory and the job's share of all NVIDIA (NVML, loaded at run time by a process of
// its own, gpu_reader.h) and AMD (sysfs, fdinfo) devices, asked for on a thread of its own at the pace of ticks. "gpu_extra":
// power, temperature, PCIe and NVLink on a second thread, because those calls block for milliseconds. Without a GPU there
// is no thread, no process and no delay.
// A probe itself is used by the sampling thread only.
#pragma once
#include "model/run.h"
#include "probe/gpu_sampler.h"
#include "probe/probe.h"

namespace tacho {

extern const ProbeInfo kGpuProbe, kGpuExtraProbe;

// host_gpu_model, host_gpu_count and host_gpu_memory_mib once the driver has answered; nothing before, and nothing when
// `probe` is another one. Never waits.
void fill_host_gpu(const Probe& probe, Host& host);
// How the job's GPU numbers are obtained, for run.json: "nvml", "amdgpu" or "none".
std::string_view gpu_method(const Probe& probe);

// The fields of kGpuProbe's reading from what the GPU thread found. Pure.
void fill_gpu_reading(const GpuSnapshot& snapshot, Reading& out);
// Whether GPUs can be read here, and if not, what to do. Asks the driver, but waits two seconds at the most.
Status check_gpu(const Roots& roots);

}  // namespace tacho
