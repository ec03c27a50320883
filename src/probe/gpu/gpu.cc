#include "probe/gpu/gpu.h"

#include <algorithm>
#include <array>

#include "base/units.h"
#include "os/clock.h"
#include "probe/gpu/gpu_columns.h"
#include "probe/gpu/gpu_vendor.h"
#include "probe/kit/scales.h"

namespace tacho {
namespace {

enum Field : size_t { kUsagePpm, kVramBytes, kUtilized, kJobUsagePpm, kJobVramBytes, kJobUtilized };

constexpr Column kColumns[] = {
    {19, "system_gpu_usage", "GPUs", 4, Rule::level, kUsagePpm, kPerMillion,
     "Utilisation of all GPUs, in GPUs: 1.5 is one and a half GPU busy."},
    {20, "system_gpu_vram_mib", "MiB", 4, Rule::level, kVramBytes, kToMiB,
     "Memory in use on all GPUs, without what the driver reserves for itself."},
    {21, "system_gpu_utilized", "count", 0, Rule::level, kUtilized, 1, "GPUs with a utilisation above zero."},
    {30, "process_gpu_usage", "GPUs", 4, Rule::level, kJobUsagePpm, kPerMillion,
     "Utilisation of all GPUs by the job's processes, in GPUs."},
    {31, "process_gpu_vram_mib", "MiB", 4, Rule::level, kJobVramBytes, kToMiB,
     "GPU memory held by the job's processes."},
    {32, "process_gpu_utilized", "count", 0, Rule::level, kJobUtilized, 1,
     "GPUs on which a process of the job holds a context."},
};

constexpr int64_t kLongestWaitNs = 20 * kNsPerMs;
constexpr int64_t kShortestPaceNs = 45 * kNsPerMs;  // drivers renew their own values every 100 ms or so
constexpr int64_t kFreshNs = 250 * kNsPerMs;        // so long a level still stands for now

using GpuMinders = std::vector<std::shared_ptr<GpuMinder>>;

class GpuProbe final : public Probe {
 public:
  // Without a sampler there is nothing to read: `none` says whether that is a measured zero or not known.
  GpuProbe(ProbeContext& context, std::shared_ptr<GpuSampler> sampler, GpuMinders minders, bool none)
      : context_(context), sampler_(std::move(sampler)), minders_(std::move(minders)), none_(none) {}
  ~GpuProbe() override {
    if (sampler_ != nullptr) sampler_->stop();
  }

  void prepare() override {
    if (sampler_ == nullptr) return;
    look_after();
    const int64_t now_ns = system_clock().monotonic_ns();
    prepared_ = true;
    deadline_ns_ = now_ns + std::min(kLongestWaitNs, context_.interval_ns / 5);
    if (now_ns - asked_ns_ < kShortestPaceNs) return;
    asked_ns_ = now_ns;
    pids_.clear();
    if (context_.job_pids != nullptr) context_.job_pids->copy(pids_);
    sampler_->request(pids_, context_.job_pids != nullptr, want_detail_);
  }

  void read(Reading& out) override {
    if (sampler_ == nullptr) {
      if (none_) sums_.fill(no_gpu(), out);
      return;
    }
    if (!prepared_) prepare();
    prepared_ = false;
    fresh_ = sampler_->take(deadline_ns_, current_) || system_clock().monotonic_ns() - current_.stamp_ns < kFreshNs ||
             current_.state == GpuState::none;
    context_.vram.clear();
    context_.gpus_of_job.assign(fresh_ ? current_.devices.size() : 0, false);
    if (!fresh_) return;
    context_.vram = current_.holders;
    for (size_t i = 0; i < current_.devices.size(); ++i) {
      const std::optional<bool>& of_job = current_.devices[i].job_context;
      context_.vram_told = context_.vram_told || of_job.has_value();
      context_.gpus_of_job[i] = of_job.value_or(false);
    }
    const bool whole = sums_.fill(current_, out);
    if (!whole && current_.state == GpuState::ready)
      context_.note(
          "system_gpu_* and process_gpu_* were empty at times: a GPU that was in the sums could not be read; JSON "
          "lines have the others");
    // Of its own trouble a minder tells itself.
    if (current_.state == GpuState::failed && look_after())
      context_.note("GPU columns were empty at times: the GPU driver did not answer; tacho doctor says why");
    if (current_.job && current_.pids == PidMapping::unknown)
      context_.note(
          "process_gpu_* is empty until the GPU driver lists a process of the job that holds a GPU: tacho runs "
          "in a pid namespace and must prove that the driver's numbers are those of this namespace; share the "
          "host's pid namespace to have it always");
  }

  void describe(Detail& detail) override {
    want_detail_ = true;
    if (!fresh_ || current_.identities == nullptr) return;
    if (host_name_.empty()) host_name_ = read_first_line(context_.roots.proc + "/sys/kernel/hostname");
    const size_t count = std::min(current_.identities->size(), current_.devices.size());
    for (size_t i = 0; i < count; ++i)
      detail.gpus.push_back(to_detail((*current_.identities)[i], current_.devices[i], host_name_));
  }

  bool knows_devices() override {
    want_detail_ = true;  // power and temperature
    return sampler_ == nullptr || current_.state == GpuState::ready || current_.state == GpuState::none;
  }
  std::vector<DeviceColumn> list_devices() override {
    want_detail_ = true;
    if (sampler_ == nullptr || current_.state == GpuState::none) return {};
    const size_t count = !current_.devices.empty() ? current_.devices.size() : count_nvidia_devices(context_.roots);
    return gpu_device_columns(count);
  }
  void read_devices(std::span<DeviceValue> values) override {
    if (fresh_) fill_gpu_devices(current_.devices, values);
  }
  void describe_run(Run& run) const override {
    run.method.gpu = current_.method;
    if (current_.identities == nullptr || current_.identities->empty()) return;
    int64_t bytes = 0;
    Host& host = run.host;
    host.gpu_memory_mib.clear();
    for (const GpuIdentity& identity : *current_.identities) {
      const std::optional<int64_t>& own = identity.vram_total_bytes;
      bytes += own.value_or(0);
      host.gpu_memory_mib.push_back(own ? std::optional(*own / kMiB) : std::nullopt);
    }
    if (!current_.identities->front().name.empty()) host.host_gpu_model = current_.identities->front().name;
    host.host_gpu_count = static_cast<int64_t>(current_.identities->size());
    if (bytes > 0) host.host_gpu_memory_mib = bytes / kMiB;
  }

 private:
  // False when one of them is in trouble.
  bool look_after() {
    bool well = true;
    for (const auto& minder : minders_) {
      minder->look_after(context_);
      well = well && !minder->in_trouble();
    }
    return well;
  }

  static GpuSnapshot no_gpu() {
    GpuSnapshot snapshot;
    snapshot.state = GpuState::none;
    return snapshot;
  }

  static std::optional<double> scaled(const std::optional<int64_t>& value, double scale) {
    if (!value) return std::nullopt;
    return static_cast<double>(*value) * scale;
  }

  static GpuDetail to_detail(const GpuIdentity& identity, const GpuSample& sample, const std::string& host_name) {
    GpuDetail out;
    out.uuid = identity.uuid;
    out.name = identity.name;
    out.device_type = "GPU";
    out.host_id = host_name;
    if (!identity.driver_version.empty()) out.detail.emplace_back("driver_version", identity.driver_version);
    if (!identity.pci_bus_id.empty()) out.detail.emplace_back(identity.pci_key, identity.pci_bus_id);
    if (!identity.rocm_version.empty()) out.detail.emplace_back("rocm_version", identity.rocm_version);
    out.utilization_pct = scaled(sample.usage_ppm, 1e-4);
    out.temperature_celsius = scaled(sample.temperature_mc, 1e-3);
    out.power_watts = scaled(sample.power_mw, 1e-3);
    out.frequency_mhz = scaled(sample.frequency_mhz, 1);
    out.vram_total_bytes = sample.vram_total_bytes ? sample.vram_total_bytes : identity.vram_total_bytes;
    out.vram_used_bytes = sample.vram_used_bytes;
    out.core_count = identity.core_count;
    return out;
  }

  ProbeContext& context_;
  std::shared_ptr<GpuSampler> sampler_;
  GpuMinders minders_;
  bool none_;
  bool prepared_ = false, fresh_ = false, want_detail_ = false;
  int64_t deadline_ns_ = 0;
  int64_t asked_ns_ = INT64_MIN / 2;
  std::vector<pid_t> pids_;
  GpuSnapshot current_;
  GpuSums sums_;
  std::string host_name_;
};

Result<std::unique_ptr<Probe>> make_gpu(ProbeContext& context) {
  std::vector<std::unique_ptr<GpuBackend>> backends;
  GpuMinders minders;
  bool unreadable = false;
  for (const GpuVendor* vendor : gpu_vendors()) {
    auto access = vendor->open(context);
    if (access) {
      backends.push_back(std::move(access->backend));
      if (access->minder != nullptr) minders.push_back(std::move(access->minder));
    } else if (access.error().code != Code::not_available) {
      unreadable = true;
      context.note("GPU columns are empty: " + access.error().message());
    }
  }
  std::shared_ptr<GpuSampler> sampler;
  if (!backends.empty()) {
    sampler = std::make_shared<GpuSampler>(std::move(backends));
    if (!sampler->start()) {
      context.note("GPU columns are empty: no thread could be started for the driver; raise the limit of processes");
      return std::unique_ptr<Probe>(std::make_unique<GpuProbe>(context, nullptr, GpuMinders(), false));
    }
  }
  return std::unique_ptr<Probe>(
      std::make_unique<GpuProbe>(context, std::move(sampler), std::move(minders), !unreadable));
}

}  // namespace

const ProbeInfo kGpuProbe = {
    "gpu",    ProbeDefault::on, "NVIDIA and AMD GPUs: utilisation, memory and the job's share",
    kColumns, make_gpu,         check_gpu,
};

GpuSums::Device& GpuSums::device(const GpuSnapshot& snapshot, size_t index) {
  std::string_view name;
  if (snapshot.identities != nullptr && index < snapshot.identities->size()) {
    const GpuIdentity& identity = (*snapshot.identities)[index];
    name = !identity.uuid.empty() ? identity.uuid : identity.pci_bus_id;
  }
  // In the same place as a rule, so that nothing is searched for.
  const bool named = !name.empty();
  if (index < known_.size() && !known_[index].listed && (!named || known_[index].name == name)) return known_[index];
  if (named)
    for (Device& known : known_)
      if (!known.listed && known.name == name) return known;
  // Its name came later than its first value.
  if (index < known_.size() && !known_[index].listed && known_[index].name.empty()) {
    known_[index].name = name;
    return known_[index];
  }
  return known_.emplace_back(Device{std::string(name), 0, false});
}

bool GpuSums::fill(const GpuSnapshot& snapshot, Reading& out) {
  if (snapshot.state == GpuState::none && known_.empty()) {
    for (const Field field : {kUsagePpm, kVramBytes, kUtilized}) out.set(field, 0);
    return true;
  }
  std::array<int64_t, kJobUtilized + 1> sums{};
  constexpr unsigned kOfTheJob = 1u << kJobUsagePpm | 1u << kJobVramBytes | 1u << kJobUtilized;
  unsigned told = 0, missing = 0, untold = 0;
  for (Device& known : known_) known.listed = false;
  for (size_t i = 0; i < snapshot.devices.size(); ++i) {
    const GpuSample& sample = snapshot.devices[i];
    Device& known = device(snapshot, i);
    known.listed = true;
    unsigned parts = 0;
    const auto add = [&](Field field, const std::optional<int64_t>& value) {
      if (!value) return;
      sums[field] += *value;
      parts |= 1u << field;
    };
    add(kUsagePpm, sample.usage_ppm);
    if (sample.usage_ppm) add(kUtilized, *sample.usage_ppm > 0 ? 1 : 0);
    add(kVramBytes, sample.vram_used_bytes);
    add(kJobUsagePpm, sample.job_usage_ppm);
    add(kJobVramBytes, sample.job_vram_bytes);
    if (sample.job_context) add(kJobUtilized, *sample.job_context ? 1 : 0);
    // The job is on this device, which answers, and the driver does not tell how much the job uses.
    if (sample.job_context.value_or(false)) untold |= kOfTheJob & ~parts;
    missing |= known.parts & ~parts & (sample.job_context ? ~kOfTheJob : ~0u);
    known.parts |= parts;
    told |= parts;
  }
  for (const Device& known : known_)
    if (!known.listed) missing |= known.parts;
  unsigned shown = told & ~missing;
  // Zeros of the other devices must not pass for the whole.
  for (const Field field : {kJobUsagePpm, kJobVramBytes})
    if (sums[field] == 0) shown &= ~(untold & 1u << field);
  if (!snapshot.job || snapshot.pids == PidMapping::unknown) shown &= ~kOfTheJob;
  for (size_t field = 0; field < sums.size(); ++field)
    if ((shown >> field & 1) != 0) out.set(field, sums[field]);
  return (missing & ~kOfTheJob) == 0;
}

Status check_gpu(const Roots& roots) {
  Status trouble = ok();
  for (const GpuVendor* vendor : gpu_vendors()) {
    const auto found = vendor->check(roots);
    if (found && *found) return ok();
    if (!found && trouble) trouble = found.error();
  }
  if (!trouble) return trouble;
  return Error{Code::not_available, "no GPU driver is loaded here", "", "nothing to do on a machine without a GPU"};
}

}  // namespace tacho
