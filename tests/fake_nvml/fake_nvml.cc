// A stand-in for libnvidia-ml.so.1: the C ABI that tacho calls, declared here a second time on purpose, so that a wrong
// layout in src/probe/gpu/nvml_api.h is found. What it answers is read at every call from the text file that FAKE_NVML
// names, so that a test can change the machine while tacho runs. A line each:
//
//   device name=H200 util=50 total=1000 reserved=10 used=100 temp=40 power=100 energy=100000 clock=1500 throttle=4
//   cores=16896
//          gen=5 width=16 rx=0 tx=0 (bytes a second; with counters=0 no PCIe counters) links=0 link_kib=0 mig=0
//          sm=0 occupancy=0 tensor=0 dram=0 (percent, or nan; without sm no GPM)
//   instance DEVICE total=100 used=40           a MIG instance of that device
//   process DEVICE compute|graphics|mps PID BYTES|na [instance]   PID: a number, "self", or @FILE that holds it
//   sample DEVICE PID SM AGE_MS                 a utilisation sample; AGE_MS is counted back from the call
//   error FUNCTION CODE [DEVICE]                that function fails ("all": every one)
//   delay FUNCTION MS [DEVICE]                  that function blocks first
//   driver 580.159                              its version
//
// FAKE_NVML_LOG names a file that gets a line a call of nvmlInit, nvmlShutdown and nvmlDeviceGetProcessUtilization.
// Built with FAKE_NVML_OLD it has the functions of 2011 only.
#include "abi.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <thread>

#include "machine.h"

using namespace fake;

namespace {

constexpr nvmlReturn_t kSuccess = 0, kInvalidArgument = 2, kNotSupported = 3, kNotFound = 6, kInsufficientSize = 7;

// What every function does first: finds out about its device, blocks and fails as told.
struct Call {
  Machine machine = read_machine();
  size_t device = 0;
  int instance = -1;
  nvmlReturn_t code = kSuccess;

  explicit Call(const char* function, nvmlDevice_t handle = nullptr) {
    const auto number = reinterpret_cast<size_t>(handle);
    device = number >= 1000 ? number / 1000 - 1 : number - 1;
    if (number >= 1000) instance = static_cast<int>(number % 1000);
    const int where = handle == nullptr ? -2 : static_cast<int>(device);
    const int blocked_ms = rule_value(machine.delays, function, where);
    if (blocked_ms > 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(blocked_ms));
      machine = read_machine();
    }
    code = rule_value(machine.errors, function, where);
    if (code == kSuccess && handle != nullptr && device >= machine.devices.size()) code = kInvalidArgument;
  }
  bool failed() const { return code != kSuccess; }
  const Settings& settings() const {
    return instance < 0 ? machine.devices[device] : machine.instances[static_cast<size_t>(instance)].settings;
  }
  unsigned long long get(const char* key, unsigned long long other = 0) const {
    const auto found = settings().find(key);
    return found == settings().end() ? other : std::stoull(found->second);
  }
  [[maybe_unused]] double real(const char* key) const { return std::strtod(settings().at(key).c_str(), nullptr); }
  bool has(const char* key) const { return settings().count(key) != 0; }
  nvmlReturn_t number(const char* key, unsigned int* out) const {
    if (failed()) return code;
    if (!has(key)) return kNotSupported;
    *out = static_cast<unsigned int>(get(key));
    return kSuccess;
  }
  nvmlReturn_t text(const std::string& value, char* out, unsigned int length) const {
    if (failed()) return code;
    if (value.size() >= length) return kInsufficientSize;
    std::memcpy(out, value.c_str(), value.size() + 1);
    return kSuccess;
  }
};

[[maybe_unused]] double seconds() {
  static const auto start = std::chrono::steady_clock::now();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <class Info>
nvmlReturn_t processes(const char* function, const char* list, nvmlDevice_t handle, unsigned int* count, Info* infos) {
  const Call call(function, handle);
  if (call.failed()) return call.code;
  std::vector<Process> found;
  for (const Process& process : call.machine.processes)
    if (process.device == call.device && process.list == list &&
        (call.instance < 0 || process.instance == call.instance))
      found.push_back(process);
  const unsigned int room = *count;
  *count = static_cast<unsigned int>(found.size());
  if (found.empty()) return kSuccess;
  if (infos == nullptr || room < found.size()) return kInsufficientSize;
  for (size_t i = 0; i < found.size(); ++i) {
    infos[i].pid = found[i].pid;
    infos[i].usedGpuMemory = found[i].bytes;
    if constexpr (sizeof(Info) > 16) infos[i].gpuInstanceId = infos[i].computeInstanceId = ~0u;
  }
  return kSuccess;
}

}  // namespace

extern "C" {

static nvmlReturn_t start(const char* name) {
  log("init");
  return Call(name).code;
}
static nvmlReturn_t handle_of(const char* name, unsigned int index, nvmlDevice_t* device) {
  const auto handle = reinterpret_cast<nvmlDevice_t>(size_t{index} + 1);
  const Call call(name, handle);
  if (!call.failed()) *device = handle;
  return call.code;
}
static nvmlReturn_t count_of(const char* name, unsigned int* count) {
  const Call call(name);
  *count = static_cast<unsigned int>(call.machine.devices.size());
  return call.code;
}

nvmlReturn_t nvmlInit() { return start("nvmlInit"); }
nvmlReturn_t nvmlDeviceGetCount(unsigned int* count) { return count_of("nvmlDeviceGetCount", count); }
nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int i, nvmlDevice_t* d) {
  return handle_of("nvmlDeviceGetHandleByIndex", i, d);
}
nvmlReturn_t nvmlShutdown() {
  log("shutdown");
  return kSuccess;
}
const char* nvmlErrorString(nvmlReturn_t) { return "a made-up error"; }
nvmlReturn_t nvmlSystemGetDriverVersion(char* out, unsigned int length) {
  const Call call("nvmlSystemGetDriverVersion");
  return call.text(call.machine.driver, out, length);
}
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t d, char* out, unsigned int length) {
  const Call call("nvmlDeviceGetName", d);
  if (call.failed()) return call.code;
  const auto name = call.settings().find("name");
  return call.text(name == call.settings().end() ? "Fake" : name->second, out, length);
}
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t d, char* out, unsigned int length) {
  const Call call("nvmlDeviceGetUUID", d);
  return call.text("GPU-fake-" + std::to_string(call.device), out, length);
}
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t d, nvmlUtilization_t* out) {
  const Call call("nvmlDeviceGetUtilizationRates", d);
  return call.number("util", &out->gpu);
}
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t d, nvmlMemory_t* out) {
  const Call call("nvmlDeviceGetMemoryInfo", d);
  if (call.failed()) return call.code;
  if (!call.has("total")) return kNotSupported;
  const auto used = call.get("used") + call.get("reserved");
  *out = {call.get("total"), call.get("total") - used, used};
  return kSuccess;
}
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t d, int sensor, unsigned int* out) {
  return sensor != 0 ? kInvalidArgument : Call("nvmlDeviceGetTemperature", d).number("temp", out);
}
nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t d, unsigned int* out) {
  return Call("nvmlDeviceGetPowerUsage", d).number("power", out);
}
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t d, int type, unsigned int* out) {
  return type != 0 && type != 1 ? kInvalidArgument : Call("nvmlDeviceGetClockInfo", d).number("clock", out);
}
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t d, unsigned long long* out) {
  unsigned int mask = 0;
  const nvmlReturn_t code = Call("nvmlDeviceGetCurrentClocksThrottleReasons", d).number("throttle", &mask);
  *out = mask;
  return code;
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t d, unsigned int* n, nvmlProcessInfo_v1_t* infos) {
  return processes("nvmlDeviceGetComputeRunningProcesses", "compute", d, n, infos);
}
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t d, unsigned int* n, nvmlProcessInfo_v1_t* infos) {
  return processes("nvmlDeviceGetGraphicsRunningProcesses", "graphics", d, n, infos);
}

#ifndef FAKE_NVML_OLD

nvmlReturn_t nvmlInit_v2() { return start("nvmlInit_v2"); }
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int* count) { return count_of("nvmlDeviceGetCount_v2", count); }
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int i, nvmlDevice_t* d) {
  return handle_of("nvmlDeviceGetHandleByIndex_v2", i, d);
}
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t d, nvmlPciInfo_t* out) {
  const Call call("nvmlDeviceGetPciInfo_v3", d);
  if (call.failed()) return call.code;
  std::memset(out, 0, sizeof *out);
  std::snprintf(out->busId, sizeof out->busId, "00000000:%02zX:00.0", call.device + 1);
  std::snprintf(out->busIdLegacy, sizeof out->busIdLegacy, "legacy");
  return kSuccess;
}
nvmlReturn_t nvmlDeviceGetNumGpuCores(nvmlDevice_t d, unsigned int* out) {
  return Call("nvmlDeviceGetNumGpuCores", d).number("cores", out);
}
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t d, nvmlMemory_v2_t* out) {
  const Call call("nvmlDeviceGetMemoryInfo_v2", d);
  if (call.failed()) return call.code;
  if (out->version != 0x02000028) return 25;  // argument version mismatch
  if (!call.has("total")) return kNotSupported;
  out->total = call.get("total");
  out->reserved = call.get("reserved");
  out->used = call.get("used");
  out->free = out->total - out->reserved - out->used;
  return kSuccess;
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t d, unsigned int* n, nvmlProcessInfo_t* infos) {
  return processes("nvmlDeviceGetComputeRunningProcesses_v3", "compute", d, n, infos);
}
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t d, unsigned int* n, nvmlProcessInfo_t* infos) {
  return processes("nvmlDeviceGetGraphicsRunningProcesses_v3", "graphics", d, n, infos);
}
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t d, unsigned int* n, nvmlProcessInfo_t* infos) {
  return processes("nvmlDeviceGetMPSComputeRunningProcesses_v3", "mps", d, n, infos);
}

// As the driver does: needs room for 72 entries before it looks, and leaves the count alone when there are none.
nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t d, nvmlProcessUtilizationSample_t* out, unsigned int* count,
                                             unsigned long long last_seen) {
  const Call call("nvmlDeviceGetProcessUtilization", d);
  if (call.failed()) return call.code;
  const auto now_us =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
  log("utilization " + std::to_string(call.device) + " " + std::to_string(now_us - static_cast<long long>(last_seen)));
  if (out == nullptr || *count < 72) {
    *count = 72;
    return kInsufficientSize;
  }
  unsigned int filled = 0;
  for (const Sample& sample : call.machine.samples) {
    const auto stamp = static_cast<unsigned long long>(now_us - sample.age_us);
    if (sample.device == call.device && stamp > last_seen) out[filled++] = {sample.pid, stamp, sample.sm, 0, 0, 0};
  }
  if (filled == 0) return kNotFound;
  *count = filled;
  return kSuccess;
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t d, unsigned int* current, unsigned int* pending) {
  *pending = 0;
  return Call("nvmlDeviceGetMigMode", d).number("mig", current);
}
nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t d, unsigned int* count) {
  const Call call("nvmlDeviceGetMaxMigDeviceCount", d);
  *count = 7;
  return call.code;
}
nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t d, unsigned int index, nvmlDevice_t* out) {
  const Call call("nvmlDeviceGetMigDeviceHandleByIndex", d);
  if (call.failed()) return call.code;
  for (size_t i = 0; i < call.machine.instances.size(); ++i) {
    if (call.machine.instances[i].device != call.device) continue;
    // With a gap at 0, as real ones have.
    if (index-- != 1) continue;
    *out = reinterpret_cast<nvmlDevice_t>(1000 * (call.device + 1) + i);
    return kSuccess;
  }
  return kNotFound;
}

// sm, occupancy, tensor and dram are in percent, or nan. Two samples must be a tenth of a second apart for dram.
nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t d, nvmlGpmSupport_t* out) {
  const Call call("nvmlGpmQueryDeviceSupport", d);
  if (call.failed()) return call.code;
  if (out->version != 1) return kInvalidArgument;
  out->isSupportedDevice = call.has("sm") ? 1 : 0;
  return kSuccess;
}
nvmlReturn_t nvmlGpmSampleAlloc(nvmlGpmSample_t* out) {
  *out = new nvmlGpmSample_st{};
  return kSuccess;
}
nvmlReturn_t nvmlGpmSampleFree(nvmlGpmSample_t sample) {
  delete sample;
  return kSuccess;
}
nvmlReturn_t nvmlGpmSampleGet(nvmlDevice_t d, nvmlGpmSample_t sample) {
  const Call call("nvmlGpmSampleGet", d);
  if (call.failed()) return call.code;
  *sample = {d, seconds()};
  return kSuccess;
}
nvmlReturn_t nvmlGpmMetricsGet(nvmlGpmMetricsGet_t* get) {
  if (get->version != 1 || get->sample1 == nullptr || get->sample2 == nullptr) return kInvalidArgument;
  if (get->sample1->device != get->sample2->device || get->sample2->at_s <= get->sample1->at_s) return kInvalidArgument;
  const Call call("nvmlGpmMetricsGet", get->sample1->device);
  if (call.failed()) return call.code;
  for (unsigned int i = 0; i < get->numMetrics; ++i) {
    nvmlGpmMetric_t& metric = get->metrics[i];
    const char* name = metric.metricId == 2   ? "sm"
                       : metric.metricId == 3 ? "occupancy"
                       : metric.metricId == 5 ? "tensor"
                                              : "dram";
    metric.nvmlReturn = call.has(name) ? kSuccess : kNotSupported;
    const bool close = metric.metricId == 10 && get->sample2->at_s - get->sample1->at_s < 0.1;
    metric.value = close ? std::nan("") : call.has(name) ? call.real(name) : 0;
  }
  return kSuccess;
}

// energy is in mW: the counter grows by that much a second.
nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t d, unsigned long long* out) {
  const Call call("nvmlDeviceGetTotalEnergyConsumption", d);
  if (call.failed()) return call.code;
  if (!call.has("energy")) return kNotSupported;
  *out = 5'000'000 + static_cast<unsigned long long>(static_cast<double>(call.get("energy")) * seconds());
  return kSuccess;
}
nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t d, int counter, unsigned int* out) {
  const Call call("nvmlDeviceGetPcieThroughput", d);
  if (call.failed()) return call.code;
  *out = static_cast<unsigned int>(call.get(counter == 0 ? "tx" : "rx") / 1000);
  return kSuccess;
}
nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t d, unsigned int* out) {
  return Call("nvmlDeviceGetMaxPcieLinkGeneration", d).number("gen", out);
}
nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t d, unsigned int* out) {
  return Call("nvmlDeviceGetMaxPcieLinkWidth", d).number("width", out);
}

static void fill_field(const Call& call, nvmlFieldValue_t& field) {
  field.nvmlReturn = kSuccess;
  field.valueType = 1;
  const auto links = call.get("links");
  const auto grown = [&](const char* key, double scale) {
    return static_cast<unsigned long long>(static_cast<double>(call.get(key)) * scale * seconds());
  };
  if (field.fieldId == 91 && links > 0) {
    field.value.uiVal = static_cast<unsigned int>(links);
  } else if (field.fieldId == 165 && field.scopeId < links) {
    field.value.uiVal = 1;
  } else if (field.fieldId == 164 && field.scopeId < links) {
    field.value.uiVal = 26562;
  } else if ((field.fieldId == 138 || field.fieldId == 139) && links > 0) {
    field.valueType = 3;
    const bool all = field.scopeId == ~0u;
    field.value.ullVal = grown("link_kib", (all ? static_cast<double>(links) : 1) * (field.fieldId == 139 ? 2 : 1));
  } else if ((field.fieldId == 197 || field.fieldId == 198) && call.get("counters", 1) == 1 && call.has("rx")) {
    // 32 bits, about to run over.
    field.value.uiVal = static_cast<unsigned int>(4'294'900'000 + grown(field.fieldId == 197 ? "tx" : "rx", 1));
  } else {
    field.nvmlReturn = kNotSupported;
  }
}
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t d, int count, nvmlFieldValue_t* fields) {
  const Call call("nvmlDeviceGetFieldValues", d);
  if (call.failed()) return call.code;
  for (int i = 0; i < count; ++i) fill_field(call, fields[i]);
  return kSuccess;
}

#endif

}  // extern "C"
