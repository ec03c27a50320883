// The part of NVIDIA's management library (libnvidia-ml.so.1) that tacho calls, declared here so that no header of
// NVIDIA's is needed. The C ABI is stable: a function that changed its structures got a new suffix (_v2, _v3) and the
// old one stayed. Layouts are those of driver 580, checked by static_assert; older drivers miss the newer functions.
// NVML itself is thread-safe.
#pragma once
#include <cstddef>

namespace tacho::nvml {

using Device = struct DeviceHandle*;

// nvmlReturn_t; a plain int because drivers return codes that are newer than this list.
using Return = int;
inline constexpr Return kSuccess = 0;
inline constexpr Return kUninitialized = 1;
inline constexpr Return kInvalidArgument = 2;
inline constexpr Return kNotSupported = 3;
inline constexpr Return kNoPermission = 4;
inline constexpr Return kNotFound = 6;
inline constexpr Return kInsufficientSize = 7;
inline constexpr Return kDriverNotLoaded = 9;
inline constexpr Return kTimeout = 10;
inline constexpr Return kLibraryNotFound = 12;
inline constexpr Return kFunctionNotFound = 13;
inline constexpr Return kGpuIsLost = 15;
inline constexpr Return kResetRequired = 16;
inline constexpr Return kLibraryVersionMismatch = 18;
inline constexpr Return kArgumentVersionMismatch = 25;
inline constexpr Return kDeprecated = 26;
inline constexpr Return kGpuNotFound = 28;
inline constexpr Return kUnknown = 999;

struct Utilization {
  unsigned int gpu, memory;  // percent
};
static_assert(sizeof(Utilization) == 8);

struct Memory {
  unsigned long long total, free, used;  // used includes what the driver reserves
};
static_assert(sizeof(Memory) == 24);

struct MemoryV2 {
  unsigned int version;
  unsigned long long total, reserved, free, used;
};
static_assert(sizeof(MemoryV2) == 40);
inline constexpr unsigned int kMemoryV2 = sizeof(MemoryV2) | 2u << 24;

inline constexpr unsigned long long kValueNotAvailable = ~0ull;

struct ProcessInfoV1 {
  unsigned int pid;
  unsigned long long used_gpu_memory;
};
static_assert(sizeof(ProcessInfoV1) == 16);

// Of the functions with _v2 and with _v3.
struct ProcessInfo {
  unsigned int pid;
  unsigned long long used_gpu_memory;  // kValueNotAvailable where the driver does not tell
  unsigned int gpu_instance_id, compute_instance_id;
};
static_assert(sizeof(ProcessInfo) == 24);

struct ProcessUtilizationSample {
  unsigned int pid;
  unsigned long long time_stamp;  // µs since 1970
  unsigned int sm_util, mem_util, enc_util, dec_util;
};
static_assert(sizeof(ProcessUtilizationSample) == 32 && offsetof(ProcessUtilizationSample, sm_util) == 16);

// Of nvmlDeviceGetPciInfo_v3; the older functions fill the first 16 bytes alike and need 52 in all.
struct PciInfo {
  char bus_id_legacy[16];
  unsigned int domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(PciInfo) == 68 && offsetof(PciInfo, bus_id) == 36);

enum ValueType : int {
  kDouble,
  kUnsignedInt,
  kUnsignedLong,
  kUnsignedLongLong,
  kSignedLongLong,
  kSignedInt,
  kUnsignedShort
};

struct FieldValue {
  unsigned int field_id, scope_id;
  long long timestamp, latency_us;
  int value_type;
  Return status;
  union {
    double as_double;
    int as_int;
    unsigned int as_uint;
    unsigned long as_ulong;
    unsigned long long as_ullong;
    long long as_llong;
    unsigned short as_ushort;
  } value;
};
static_assert(sizeof(FieldValue) == 40 && offsetof(FieldValue, value) == 32);

// Field identifiers of nvmlDeviceGetFieldValues.
inline constexpr unsigned int kFieldNvlinkLinkCount = 91;
inline constexpr unsigned int kFieldNvlinkDataTx = 138;  // KiB; scope: a link, or all
inline constexpr unsigned int kFieldNvlinkDataRx = 139;
inline constexpr unsigned int kFieldNvlinkSpeed = 164;  // MB/s; scope: a link
inline constexpr unsigned int kFieldNvlinkState = 165;  // 1: active; scope: a link
inline constexpr unsigned int kFieldPcieTxBytes = 197;  // 32 bits that wrap, drivers since 550
inline constexpr unsigned int kFieldPcieRxBytes = 198;
inline constexpr unsigned int kAllLinks = ~0u;
inline constexpr unsigned int kMaxLinks = 18;

// GPM, the counters of a GPU's units (Hopper and newer, driver 525): two samples, and what happened between them.
using GpmSample = struct GpmSampleHandle*;
inline constexpr unsigned int kGpmSmUtil = 2, kGpmSmOccupancy = 3, kGpmAnyTensorUtil = 5, kGpmDramUtil = 10;  // percent
struct GpmSupport {
  unsigned int version, is_supported;
};
static_assert(sizeof(GpmSupport) == 8);
struct GpmMetric {
  unsigned int id;
  Return status;
  double value;
  const char *short_name, *long_name, *unit;
};
static_assert(sizeof(GpmMetric) == 40 && offsetof(GpmMetric, value) == 8);
// The driver's own structure has room for all metrics, more in each version: it is asked for four, and finds more room
// than any has.
struct GpmMetrics {
  unsigned int version, count;
  GpmSample first, second;
  GpmMetric metrics[512];
};
static_assert(offsetof(GpmMetrics, metrics) == 24);
inline constexpr unsigned int kGpmVersion = 1;

inline constexpr int kTemperatureGpu = 0;
inline constexpr int kClockGraphics = 0, kClockSm = 1;
inline constexpr int kPcieTx = 0;
inline constexpr int kPcieRx = 1;
inline constexpr unsigned int kMigEnabled = 1;
inline constexpr unsigned int kTextSize = 96;  // at least what names, UUIDs and versions need

// Every function that tacho calls: null when the library does not have it. Only init, count and handle_by_index are
// required.
struct Api {
  Return (*init)() = nullptr;
  Return (*shutdown)() = nullptr;
  Return (*device_count)(unsigned int*) = nullptr;
  Return (*handle_by_index)(unsigned int, Device*) = nullptr;
  Return (*driver_version)(char*, unsigned int) = nullptr;
  const char* (*error_string)(Return) = nullptr;

  Return (*name)(Device, char*, unsigned int) = nullptr;
  Return (*uuid)(Device, char*, unsigned int) = nullptr;
  Return (*pci_info)(Device, PciInfo*) = nullptr;
  Return (*pci_info_old)(Device, PciInfo*) = nullptr;
  Return (*core_count)(Device, unsigned int*) = nullptr;

  Return (*utilization)(Device, Utilization*) = nullptr;
  Return (*memory_v2)(Device, MemoryV2*) = nullptr;
  Return (*memory)(Device, Memory*) = nullptr;
  Return (*temperature)(Device, int, unsigned int*) = nullptr;
  Return (*power)(Device, unsigned int*) = nullptr;
  Return (*clock)(Device, int, unsigned int*) = nullptr;
  Return (*clock_events)(Device, unsigned long long*) = nullptr;

  // Compute, graphics and MPS contexts. In the same order: the newer function or the one of 2011, of which one is used.
  Return (*processes[3])(Device, unsigned int*, ProcessInfo*) = {};
  Return (*processes_v1[3])(Device, unsigned int*, ProcessInfoV1*) = {};
  Return (*process_utilization)(Device, ProcessUtilizationSample*, unsigned int*, unsigned long long) = nullptr;

  Return (*mig_mode)(Device, unsigned int*, unsigned int*) = nullptr;
  Return (*mig_device_count)(Device, unsigned int*) = nullptr;
  Return (*mig_device)(Device, unsigned int, Device*) = nullptr;

  Return (*gpm_support)(Device, GpmSupport*) = nullptr;
  Return (*gpm_alloc)(GpmSample*) = nullptr;
  Return (*gpm_free)(GpmSample) = nullptr;
  Return (*gpm_sample)(Device, GpmSample) = nullptr;
  Return (*gpm_metrics)(GpmMetrics*) = nullptr;

  Return (*total_energy)(Device, unsigned long long*) = nullptr;
  Return (*field_values)(Device, int, FieldValue*) = nullptr;
  Return (*pcie_throughput)(Device, int, unsigned int*) = nullptr;
  Return (*pcie_max_generation)(Device, unsigned int*) = nullptr;
  Return (*pcie_max_width)(Device, unsigned int*) = nullptr;
};

}  // namespace tacho::nvml
