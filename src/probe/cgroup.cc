// Container truth: CPU, throttling, memory, I/O and OOM kills of the job's own cgroup (v1, v2 and hybrid). Files that
// the cgroup itself does not have (a controller that is not switched on there) are taken from its nearest ancestor that
// has them; the machine's top cgroup is left out, since its figures are the machine's.
#include "probe/cgroup.h"

#include "base/path.h"
#include "base/units.h"
#include "probe/kit/cpuacct.h"
#include "probe/kit/scales.h"
#include "procfs/cgroup_files.h"

namespace tacho {
namespace {

enum Field : size_t {
  kUser,
  kSystem,
  kCpu,
  kThrottledTime,
  kThrottledPeriods,
  kMemory,
  kMemoryPeak,
  kMemoryLimit,
  kRead,
  kWritten,
  kOomKills
};

constexpr Column kColumns[] = {
    {201, "cgroup_cpu_usage", "cores", 4, Rule::rate, kCpu, kToSeconds, "CPU cores that the job's cgroup kept busy."},
    {202, "cgroup_utime", "s", 4, Rule::delta, kUser, kToSeconds, "User CPU time of the cgroup in this interval."},
    {203, "cgroup_stime", "s", 4, Rule::delta, kSystem, kToSeconds, "System CPU time of the cgroup in this interval."},
    {204, "cgroup_throttled_time", "s", 4, Rule::delta, kThrottledTime, kToSeconds,
     "Time that the CPU quota kept the cgroup from running."},
    {205, "cgroup_throttled_periods", "count", 0, Rule::delta, kThrottledPeriods, 1,
     "Quota periods in which the cgroup was throttled."},
    {206, "cgroup_memory_mib", "MiB", 3, Rule::level, kMemory, kToMiB,
     "Memory charged to the cgroup, page cache included."},
    {207, "cgroup_memory_peak_mib", "MiB", 3, Rule::level, kMemoryPeak, kToMiB,
     "Highest memory ever charged to the cgroup, page cache included."},
    {208, "cgroup_memory_limit_mib", "MiB", 3, Rule::level, kMemoryLimit, kToMiB,
     "Lowest memory limit on the way to the top; empty without one."},
    {209, "cgroup_disk_read_bytes", "bytes", 0, Rule::delta, kRead, 1, "Bytes the cgroup read from block devices."},
    {210, "cgroup_disk_write_bytes", "bytes", 0, Rule::delta, kWritten, 1, "Bytes the cgroup wrote to block devices."},
    {211, "cgroup_oom_kills", "count", 0, Rule::delta, kOomKills, 1,
     "Processes of the cgroup that the kernel killed for memory."},
};

constexpr int kRefreshTicks = 10;
constexpr int64_t kSlowNs = kNsPerSec - 50 * kNsPerMs;  // a tick of one second may come early

// The folders from the cgroup upwards, below the top of the hierarchy.
std::vector<std::string> levels_of(std::string folder, const std::string& mount) {
  std::vector<std::string> levels;
  while (!folder.empty() && folder.size() >= mount.size() && !mount.empty()) {
    const bool top_v1 = file_exists(folder + "/release_agent");
    const bool top_v2 = !top_v1 && file_exists(folder + "/cgroup.controllers") && !file_exists(folder + "/cgroup.type");
    if (top_v1 || top_v2) break;
    levels.push_back(folder);
    folder.resize(folder.rfind('/'));
  }
  return levels;
}

// Empty: none of them has it.
std::string nearest_with(const std::vector<std::string>& levels, std::string_view file) {
  for (const std::string& folder : levels)
    if (std::string path = folder + "/" + std::string(file); file_exists(path)) return path;
  return {};
}

// A v2 cgroup without the cpu controller has CPU times but no throttling: that is in the ancestor which has the quota.
std::string nearest_with_throttling(const std::vector<std::string>& levels) {
  for (const std::string& folder : levels) {
    std::string path = folder + "/cpu.stat";
    const auto text = read_whole_file(path, 1 << 16);
    if (text && parse_keyed(*text, "nr_throttled")) return path;
  }
  return {};
}

class CgroupProbe final : public Probe {
 public:
  explicit CgroupProbe(ProbeContext& context) : context_(context) { choose_files(); }

  bool empty() const {
    return cpu_stat_.path().empty() && !cpuacct_.present() && memory_.path().empty() && blkio_.path().empty();
  }

  void read(Reading& out) override {
    if (context_.cgroup.unified != unified_) {
      // The job runs somewhere else than was thought when the probe was made.
      choose_files();
      out.anew = true;
    }
    const bool idle = read_cpu(out);
    std::string_view text;
    if (context_.limits.memory_limit_bytes) out.set(kMemoryLimit, *context_.limits.memory_limit_bytes);
    set_single(out, kMemory, memory_);
    // Where nobody ran, nothing was read, written or killed: the last figures stand, for a while.
    const bool closing = context_.facts.closing;
    if (idle && !closing && ++repeats_ < kRefreshTicks) return repeat(out);
    repeats_ = 0;
    if (get(io_, text)) set_io(out, parse_io_stat(text));
    else if (get(blkio_, text)) set_io(out, parse_blkio_bytes(text));
    // The mark and the rare event lose nothing when they are read once a second at short intervals.
    if (closing || out.stamp_ns - slow_stamp_ns_ >= kSlowNs) {
      slow_stamp_ns_ = out.stamp_ns;
      set_single(out, kMemoryPeak, peak_);
      if (get(events_, text))
        if (const auto kills = parse_keyed(text, oom_key_)) out.set(kOomKills, *kills);
    } else {
      for (const Field field : {kMemoryPeak, kOomKills})
        if (last_.has(field)) out.set(field, last_.get(field));
    }
    raise_peak(out);
    last_ = out;
  }

  void describe(Detail& detail) override {
    if (cpu_known_) detail.cgroup_usage_s = static_cast<double>(last_cpu_ns_) * kToSeconds;
    detail.limits.cpu_quota_cores = context_.limits.cpu_quota_cores;
    if (context_.limits.cpuset_cpus) detail.limits.cpuset_cpus = static_cast<double>(*context_.limits.cpuset_cpus);
    detail.limits.memory_limit_bytes = context_.limits.memory_limit_bytes;
  }

 private:
  void choose_files() {
    const CgroupPaths& paths = context_.cgroup;
    unified_ = paths.unified;
    throttle_v2_ = KeptFile();
    blkio_ = KeptFile();
    cpuacct_ = Cpuacct();
    last_.clear();
    repeats_ = kRefreshTicks;
    last_cpu_ns_ = -1;
    slow_stamp_ns_ = 0;
    const auto unified = levels_of(paths.unified, paths.mount_unified);
    cpu_stat_ = KeptFile(nearest_with(unified, "cpu.stat"));
    io_ = KeptFile(nearest_with(unified, "io.stat"));
    memory_ = KeptFile(nearest_with(unified, "memory.current"));
    peak_ = KeptFile(nearest_with(unified, "memory.peak"));
    events_ = KeptFile(nearest_with(unified, "memory.events"));
    oom_key_ = "oom_kill";
    if (cpu_stat_.path().empty()) {
      const std::string usage = nearest_with(levels_of(paths.cpuacct, paths.mount_cpuacct), "cpuacct.usage");
      if (!usage.empty()) cpuacct_ = Cpuacct(parent_folder(usage));
    }
    const std::string throttling = nearest_with_throttling(unified);
    if (throttling != cpu_stat_.path()) throttle_v2_ = KeptFile(throttling);
    throttle_v1_ = KeptFile(nearest_with(levels_of(paths.cpu, paths.mount_cpu), "cpu.stat"));
    if (memory_.path().empty()) {
      const auto memory = levels_of(paths.memory, paths.mount_memory);
      memory_ = KeptFile(nearest_with(memory, "memory.usage_in_bytes"));
      peak_ = KeptFile(nearest_with(memory, "memory.max_usage_in_bytes"));
      events_ = KeptFile(nearest_with(memory, "memory.oom_control"));
    }
    if (io_.path().empty())
      blkio_ = KeptFile(nearest_with(levels_of(paths.blkio, paths.mount_blkio), "blkio.throttle.io_service_bytes"));
  }

  bool get(KeptFile& file, std::string_view& text) { return !file.path().empty() && file.read(context_.buffer, text); }

  void set_single(Reading& out, Field field, KeptFile& file) {
    std::string_view text;
    if (!get(file, text)) return;
    if (const auto value = parse_single(text)) out.set(field, *value);
  }

  void set_io(Reading& out, const CgroupIo& io) {
    out.set(kRead, io.read_bytes);
    out.set(kWritten, io.write_bytes);
  }

  void set_cpu(Reading& out, int64_t user_ns, int64_t system_ns) {
    out.set(kUser, user_ns);
    out.set(kSystem, system_ns);
    out.set(kCpu, user_ns + system_ns);
  }

  // True when the cgroup used no CPU since the last reading.
  bool read_cpu(Reading& out) {
    std::string_view text;
    TickFacts& facts = context_.facts;
    // The process probe has read the same file in this tick when the job has a cgroup of its own.
    const bool known = context_.cgroup.job_only && facts.cgroup_user_us >= 0;
    if (known || get(cpu_stat_, text)) {
      if (!known)
        parse_cpu_stat(text, facts.cgroup_user_us, facts.cgroup_system_us, facts.cgroup_throttled_us,
                       facts.cgroup_throttled_periods);
      if (facts.cgroup_user_us >= 0 && facts.cgroup_system_us >= 0)
        set_cpu(out, facts.cgroup_user_us * kNsPerUs, facts.cgroup_system_us * kNsPerUs);
      if (facts.cgroup_throttled_us >= 0) out.set(kThrottledTime, facts.cgroup_throttled_us * kNsPerUs);
      if (facts.cgroup_throttled_periods >= 0) out.set(kThrottledPeriods, facts.cgroup_throttled_periods);
    } else if (int64_t user_ns = 0, system_ns = 0; cpuacct_.read(context_.buffer, user_ns, system_ns)) {
      set_cpu(out, user_ns, system_ns);
    }
    if (get(throttle_v2_, text)) {
      int64_t user_us = -1, system_us = -1, throttled_us = -1, periods = -1;
      parse_cpu_stat(text, user_us, system_us, throttled_us, periods);
      if (throttled_us >= 0) out.set(kThrottledTime, throttled_us * kNsPerUs);
      if (periods >= 0) out.set(kThrottledPeriods, periods);
    }
    if (get(throttle_v1_, text)) {
      if (const auto time = parse_keyed(text, "throttled_time")) out.set(kThrottledTime, *time);
      if (const auto periods = parse_keyed(text, "nr_throttled")) out.set(kThrottledPeriods, *periods);
    }
    cpu_known_ = out.has(kCpu);
    if (!cpu_known_) return false;
    const bool idle = out.get(kCpu) == last_cpu_ns_;
    last_cpu_ns_ = out.get(kCpu);
    return idle;
  }

  void repeat(Reading& out) {
    for (const Field field : {kMemoryPeak, kRead, kWritten, kOomKills})
      if (last_.has(field)) out.set(field, last_.get(field));
    raise_peak(out);
  }

  // The mark may be a second old; what is charged now is at least the peak.
  static void raise_peak(Reading& out) {
    if (out.has(kMemory) && out.has(kMemoryPeak) && out.get(kMemoryPeak) < out.get(kMemory))
      out.set(kMemoryPeak, out.get(kMemory));
  }

  ProbeContext& context_;
  KeptFile cpu_stat_, io_, memory_, peak_, events_, throttle_v1_, throttle_v2_, blkio_;
  Cpuacct cpuacct_;
  std::string unified_;  // that the files were chosen for
  std::string_view oom_key_;
  Reading last_;
  int repeats_ = kRefreshTicks;  // the first reading is a full one
  bool cpu_known_ = false;       // by the last reading
  int64_t last_cpu_ns_ = -1, slow_stamp_ns_ = 0;
};

Result<std::unique_ptr<Probe>> make(ProbeContext& context) {
  auto probe = std::make_unique<CgroupProbe>(context);
  if (probe->empty())
    return Error{Code::not_available, "the job is in no cgroup of its own", "", "its figures are the machine's"};
  return std::unique_ptr<Probe>(std::move(probe));
}

Status check(const Roots& roots) {
  if (file_exists(roots.proc + "/self/cgroup")) return ok();
  return Error{Code::not_available, "the kernel has no cgroups", roots.proc + "/self/cgroup",
               "container limits cannot be read"};
}

}  // namespace

constinit const ProbeInfo kCgroupProbe{
    "cgroup", ProbeDefault::automatic, "the job's cgroup: CPU, throttling, memory, I/O, OOM kills", kColumns, make,
    check};

}  // namespace tacho
