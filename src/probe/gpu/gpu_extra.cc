// The probe "gpu_extra": what is slow to read of GPUs, on a thread of its own. Values carry the moment they were read
// at, so a row that finds no newer sum is empty, and sums and averages stay right at any pace; a level stands for a
// while.
#include <algorithm>
#include <mutex>

#include "base/units.h"
#include "os/clock.h"
#include "probe/gpu/gpu.h"
#include "probe/gpu/gpu_columns.h"
#include "probe/gpu/gpu_vendor.h"
#include "probe/kit/scales.h"

namespace tacho {
namespace {

enum Field : size_t {
  kEnergyUj,
  kEnergyStamp,
  kTemperatureMc,
  kPcieRx,
  kPcieTx,
  kPcieStamp,
  kPcieMax,
  kNvlinkRx,
  kNvlinkTx,
  kNvlinkStamp,
  kNvlinkMax,
  kEpoch,
  kSmActive,
  kSmOccupancy,
  kTensorActive,
  kDramActive,
  kJobSmActive,
  kJobTensorActive,
  kJobDramActive,
  kJobPcie,
  kJobNvlink,
};

bool newer(const Reading& before, const Reading& now, size_t value, size_t stamp) {
  return before.has(value) && now.has(value) && before.has(stamp) && now.has(stamp) &&
         now.get(stamp) > before.get(stamp) && now.get(kEpoch) == before.get(kEpoch);
}

double watts(const Reading& before, const Reading& now, double) {
  if (!newer(before, now, kEnergyUj, kEnergyStamp)) return kAbsent;
  const auto microjoules = static_cast<double>(now.get(kEnergyUj) - before.get(kEnergyUj));
  return microjoules * 1e3 / static_cast<double>(now.get(kEnergyStamp) - before.get(kEnergyStamp));
}

double joules(const Reading& before, const Reading& now, double) {
  if (!newer(before, now, kEnergyUj, kEnergyStamp)) return kAbsent;
  return static_cast<double>(now.get(kEnergyUj) - before.get(kEnergyUj)) * 1e-6;
}

template <size_t kValue, size_t kStamp>
double added(const Reading& before, const Reading& now, double) {
  if (!newer(before, now, kValue, kStamp)) return kAbsent;
  return static_cast<double>(now.get(kValue) - before.get(kValue));
}

constexpr Column kColumns[] = {
    {108, "system_gpu_power_w", "W", 3, Rule::custom, kEnergyUj, 1,
     "Average power of all GPUs, from their energy counters where they have one.", watts},
    {109, "system_gpu_temperature_c", "°C", 1, Rule::level, kTemperatureMc, 1e-3, "Temperature of the hottest GPU."},
    {110, "system_gpu_pcie_rx_bytes", "bytes", 0, Rule::custom, kPcieRx, 1, "Bytes that GPUs received over PCIe.",
     added<kPcieRx, kPcieStamp>},
    {111, "system_gpu_pcie_tx_bytes", "bytes", 0, Rule::custom, kPcieTx, 1, "Bytes that GPUs sent over PCIe.",
     added<kPcieTx, kPcieStamp>},
    {112, "system_gpu_pcie_max_bytes_per_s", "bytes/s", 0, Rule::level, kPcieMax, 1,
     "What the PCIe links of all GPUs can carry in one direction."},
    {113, "system_gpu_nvlink_rx_bytes", "bytes", 0, Rule::custom, kNvlinkRx, 1, "Bytes that GPUs received over NVLink.",
     added<kNvlinkRx, kNvlinkStamp>},
    {114, "system_gpu_nvlink_tx_bytes", "bytes", 0, Rule::custom, kNvlinkTx, 1, "Bytes that GPUs sent over NVLink.",
     added<kNvlinkTx, kNvlinkStamp>},
    {115, "system_gpu_nvlink_max_bytes_per_s", "bytes/s", 0, Rule::level, kNvlinkMax, 1,
     "Speed of all active NVLink links."},
    {280, "system_gpu_sm_active", "share", 4, Rule::level, kSmActive, kPerMillion,
     "Share of the GPUs' multiprocessors that had work, mean over GPUs (GPM: Hopper and newer)."},
    {281, "system_gpu_sm_occupancy", "share", 4, Rule::level, kSmOccupancy, kPerMillion,
     "Share of the warps that fit on the multiprocessors, mean over GPUs."},
    {282, "system_gpu_tensor_active", "share", 4, Rule::level, kTensorActive, kPerMillion,
     "Share of the time in which tensor cores worked, mean over GPUs."},
    {283, "system_gpu_dram_active", "share", 4, Rule::level, kDramActive, kPerMillion,
     "Share of the GPU memory's bandwidth that was used, mean over GPUs."},
    {291, "system_gpu_energy_j", "J", 3, Rule::custom, kEnergyUj, 1,
     "Energy of all GPUs, from their energy counters where they have one, else from their power.", joules},
    {292, "process_gpu_sm_active", "share", 4, Rule::level, kJobSmActive, kPerMillion,
     "Share of the multiprocessors that had work, of the busiest GPU on which the job holds a context."},
    {293, "process_gpu_tensor_active", "share", 4, Rule::level, kJobTensorActive, kPerMillion,
     "Share of the time in which tensor cores worked, of the job's GPU where it was highest."},
    {294, "process_gpu_dram_active", "share", 4, Rule::level, kJobDramActive, kPerMillion,
     "Share of the GPU memory's bandwidth that was used, of the job's GPU where it was highest."},
    {295, "process_gpu_pcie_busiest", "share", 4, Rule::level, kJobPcie, kPerMillion,
     "Traffic of a PCIe link in its busier direction as a share of its speed, of the job's GPU where it was highest."},
    {296, "process_gpu_nvlink_busiest", "share", 4, Rule::level, kJobNvlink, kPerMillion,
     "Traffic of a GPU's NVLink links in the busier direction as a share of their speed, of the job's GPU where it was "
     "highest."},
};

constexpr int64_t kLongestLevelNs = 10 * kNsPerSec;

// AMD has levels of power only: multiplied by the time since the card was read last, if that is not long ago.
class SampledCounters final : public GpuCounterSource {
 public:
  explicit SampledCounters(std::unique_ptr<GpuBackend> backend) : backend_(std::move(backend)) {
    request_.detail = true;
  }
  void read(bool tick, GpuCounters& out) override {
    const int64_t now_ns = system_clock().monotonic_ns();
    if (tick && now_ns >= next_ns_) {
      next_ns_ = now_ns + 450 * kNsPerMs;
      samples_.clear();
      backend_->sample(request_, samples_);
      if (read_ns_.size() < samples_.size()) read_ns_.resize(samples_.size(), 0);
      bool any = false, missing = false;
      for (size_t i = 0; i < samples_.size(); ++i) {
        const std::optional<int64_t>& power_mw = samples_[i].power_mw;
        missing |= !power_mw && read_ns_[i] != 0;
        if (!power_mw) continue;
        any = true;
        const int64_t span_ns = read_ns_[i] == 0 || now_ns - read_ns_[i] > kLongestLevelNs ? 0 : now_ns - read_ns_[i];
        add_to(energy_uj_, *power_mw * (span_ns / kNsPerUs) / 1000);
        read_ns_[i] = now_ns;
      }
      // As in gpu_counters.h: what fewer cards added is not shown yet.
      if (any && !missing) {
        shown_uj_ = energy_uj_;
        stamp_ns_ = now_ns;
      }
    }
    add_to(out.energy_uj, shown_uj_);
    out.energy_stamp_ns = std::max(out.energy_stamp_ns, stamp_ns_);
    for (const GpuSample& sample : samples_)
      if (sample.temperature_mc)
        out.temperature_mc = std::max(out.temperature_mc.value_or(INT64_MIN), *sample.temperature_mc);
  }

 private:
  std::unique_ptr<GpuBackend> backend_;
  GpuRequest request_;
  std::vector<GpuSample> samples_;
  std::vector<int64_t> read_ns_;  // a card each; 0: never
  std::optional<int64_t> energy_uj_, shown_uj_;
  int64_t stamp_ns_ = 0, next_ns_ = 0;
};

class CounterThread : public std::enable_shared_from_this<CounterThread> {
 public:
  explicit CounterThread(std::vector<std::unique_ptr<GpuCounterSource>> sources) : sources_(std::move(sources)) {}
  bool start() {
    return start_detached_thread("tacho-gpu-slow", [self = shared_from_this()] { self->run(); });
  }
  void stop() {
    const std::lock_guard lock(wait_lock_);
    stopping_ = true;
    wait_lock_.notify_all();
  }
  void tick() {
    const std::lock_guard lock(wait_lock_);
    asked_ = true;
    wait_lock_.notify_all();
  }
  GpuCounters newest() {
    const std::lock_guard lock(wait_lock_);
    return published_;
  }

 private:
  void run() {
    for (bool tick = true;;) {
      GpuCounters counters;
      int64_t next_ns = 0;
      for (const auto& source : sources_) {
        source->read(tick, counters);
        const int64_t wanted_ns = source->next_ns();
        if (wanted_ns != 0) next_ns = next_ns == 0 ? wanted_ns : std::min(next_ns, wanted_ns);
      }
      const std::lock_guard lock(wait_lock_);
      published_ = counters;
      while (!stopping_ && !asked_) {
        if (next_ns == 0) wait_lock_.wait();
        else if (!wait_lock_.wait_until(next_ns)) break;
      }
      if (stopping_) return;
      tick = std::exchange(asked_, false);
    }
  }

  WaitLock wait_lock_;
  bool asked_ = false, stopping_ = false;
  GpuCounters published_;
  std::vector<std::unique_ptr<GpuCounterSource>> sources_;  // of the thread
};

class GpuExtraProbe final : public Probe {
 public:
  GpuExtraProbe(ProbeContext& context, std::shared_ptr<CounterThread> thread,
                std::vector<std::shared_ptr<GpuMinder>> minders)
      : context_(context), thread_(std::move(thread)), minders_(std::move(minders)) {}
  ~GpuExtraProbe() override {
    if (thread_ != nullptr) thread_->stop();
  }
  void prepare() override {
    for (const auto& minder : minders_) minder->look_after(context_);
    if (thread_ == nullptr) return;
    // The answer to the last tick. The one to this tick may come in time or not: a row that has it leaves nothing to
    // the next.
    taken_ = thread_->newest();
    // What units and links did is measured at a pace of its own, and told a tick later: so long a figure stands.
    oldest_ns_ = system_clock().monotonic_ns() - context_.interval_ns * 3 / 2 - kNsPerSec;
    thread_->tick();
  }
  void read(Reading& out) override {
    if (thread_ == nullptr) return;
    const GpuCounters& now = taken_;
    const auto set = [&](Field field, const std::optional<int64_t>& value) {
      if (value) out.set(field, *value);
    };
    set(kEnergyUj, now.energy_uj);
    set(kTemperatureMc, now.temperature_mc);
    set(kPcieRx, now.pcie_rx_bytes);
    set(kPcieTx, now.pcie_tx_bytes);
    set(kPcieMax, now.pcie_max_bytes_per_s);
    set(kNvlinkRx, now.nvlink_rx_bytes);
    set(kNvlinkTx, now.nvlink_tx_bytes);
    set(kNvlinkMax, now.nvlink_max_bytes_per_s);
    // A mean that lacks the job's own GPU (MIG, an older one) would pass for what the job does.
    if (is_fresh(now.gpm.stamp_ns) && (!has_gpu() || highest_unit(0))) {
      set(kSmActive, now.gpm.sm_ppm);
      set(kSmOccupancy, now.gpm.occupancy_ppm);
      set(kTensorActive, now.gpm.tensor_ppm);
      set(kDramActive, now.gpm.dram_ppm);
    }
    set(kJobSmActive, highest_unit(0));
    set(kJobTensorActive, highest_unit(2));
    set(kJobDramActive, highest_unit(3));
    set(kJobPcie, highest_link(&GpuUnitsOfDevice::pcie));
    set(kJobNvlink, highest_link(&GpuUnitsOfDevice::nvlink));
    if (now.energy_uj) context_.gpu_energy_method = now.energy_by_power ? "nvml_power" : "nvml";
    if (now.epoch != epoch_) out.anew = true;
    epoch_ = now.epoch;
    out.set(kEpoch, now.epoch);
    if (now.energy_uj) out.set(kEnergyStamp, now.energy_stamp_ns);
    if (now.pcie_rx_bytes) out.set(kPcieStamp, now.pcie_stamp_ns);
    if (now.nvlink_rx_bytes) out.set(kNvlinkStamp, now.nvlink_stamp_ns);
  }

  bool knows_devices() override { return thread_ == nullptr || taken_.units_known; }
  // Where the driver is still starting, columns that may stay empty are better than none for the whole run.
  std::vector<DeviceColumn> list_devices() override {
    const size_t count = taken_.units_known ? taken_.unit_devices : count_nvidia_devices(context_.roots);
    return gpu_unit_columns(std::min(count, kMostDevices));
  }
  void read_devices(std::span<DeviceValue> values) override { fill_gpu_units(taken_.units, oldest_ns_, values); }

 private:
  bool is_fresh(int64_t stamp_ns) const { return stamp_ns > 0 && stamp_ns >= oldest_ns_; }

  bool has_gpu() const {
    return std::find(context_.gpus_of_job.begin(), context_.gpus_of_job.end(), true) != context_.gpus_of_job.end();
  }

  // The rules ask for any GPU of the job: of those that were measured lately the highest. NVIDIA's devices come first
  // in the list of all.
  template <class Level>
  std::optional<int64_t> highest_of_job(Level level) const {
    std::optional<int64_t> highest;
    for (size_t i = 0; i < context_.gpus_of_job.size() && i < taken_.units.size(); ++i) {
      if (!context_.gpus_of_job[i]) continue;
      const std::optional<int64_t> ppm = level(taken_.units[i]);
      if (ppm) highest = std::max(highest.value_or(0), *ppm);
    }
    return highest;
  }
  std::optional<int64_t> highest_unit(size_t unit) const {
    return highest_of_job([&](const GpuUnitsOfDevice& device) -> std::optional<int64_t> {
      if (device.ppm[unit] < 0 || !is_fresh(device.stamp_ns)) return std::nullopt;
      return device.ppm[unit];
    });
  }
  std::optional<int64_t> highest_link(GpuLinkLevel GpuUnitsOfDevice::*link) const {
    return highest_of_job([&](const GpuUnitsOfDevice& device) -> std::optional<int64_t> {
      if (!is_fresh((device.*link).stamp_ns)) return std::nullopt;
      return (device.*link).ppm;
    });
  }

  ProbeContext& context_;
  std::shared_ptr<CounterThread> thread_;
  std::vector<std::shared_ptr<GpuMinder>> minders_;
  GpuCounters taken_;
  int64_t epoch_ = 0;
  int64_t oldest_ns_ = 0;  // what was measured before says nothing about now
};

// Of a vendor without counters of its own the backend's samples are added up.
Result<GpuCounterAccess> counters_of(const GpuVendor& vendor, ProbeContext& context) {
  if (vendor.counters != nullptr) return vendor.counters(context);
  auto access = vendor.open(context);
  if (!access) return access.error();
  return GpuCounterAccess{std::make_unique<SampledCounters>(std::move(access->backend)), std::move(access->minder)};
}

Result<std::unique_ptr<Probe>> make_gpu_extra(ProbeContext& context) {
  std::vector<std::unique_ptr<GpuCounterSource>> sources;
  std::vector<std::shared_ptr<GpuMinder>> minders;
  std::optional<Error> first_error;
  for (const GpuVendor* vendor : gpu_vendors()) {
    auto access = counters_of(*vendor, context);
    if (!access) {
      if (!first_error) first_error = access.error();
      continue;
    }
    sources.push_back(std::move(access->source));
    if (access->minder != nullptr) minders.push_back(std::move(access->minder));
  }
  if (sources.empty()) return *first_error;
  auto thread = std::make_shared<CounterThread>(std::move(sources));
  if (!thread->start())
    return Error{Code::io, "no thread could be started for the GPU driver", "", "raise the limit of processes"};
  return std::unique_ptr<Probe>(std::make_unique<GpuExtraProbe>(context, std::move(thread), std::move(minders)));
}

}  // namespace

const ProbeInfo kGpuExtraProbe = {
    "gpu_extra",
    ProbeDefault::automatic,
    "GPU energy, temperature, what its units do, PCIe and NVLink traffic (slow calls, own thread)",
    kColumns,
    make_gpu_extra,
    check_gpu,
};

}  // namespace tacho
