#include "monitor/task_sampler.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/units.h"
#include "discover/cgroups.h"
#include "discover/host.h"
#include "engine/outcome.h"
#include "os/identity.h"
#include "os/process.h"
#include "probe/gpu/gpu_reader.h"
#include "procfs/stat.h"
#include "procfs/vmstat.h"

namespace tacho {
namespace {

// The lists that rows have as arrays; those of disks and networks are not looked at.
constexpr std::array<std::string_view, 4> kDescribed{"cpu", "memory", "gpu", "pressure"};
constexpr int64_t kOomPace_ns = 5 * kNsPerSec - 50 * kNsPerMs;  // a tick may come early
constexpr int64_t kOwnMemoryPace_ns = 3 * kNsPerSec - 50 * kNsPerMs;
constexpr double kMiBToGb = static_cast<double>(kMiB) * kBytesToGb;
constexpr std::string_view kInitialPidNamespace = "pid:[4026531836]";

// statm: `2871 1024 900 …`, in pages; the second number is what is resident.
std::optional<double> resident_gb(KeptFile& file, ReadBuffer& buffer) {
  std::string_view text;
  if (file.path().empty() || !file.read(buffer, text)) return std::nullopt;
  Scanner scan(text);
  int64_t size = 0, resident = 0;
  if (!scan.number(size) || !scan.number(resident)) return std::nullopt;
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) * kBytesToGb;
}

}  // namespace

TaskSampler::TaskSampler(const MonitorSettings& settings, std::vector<std::string> mounts, Clock& clock)
    : settings_(settings),
      clock_(clock),
      disks_(Roots::from_environment(), std::move(mounts)),
      own_statm_("/proc/self/statm") {
  context_.roots = Roots::from_environment();
  context_.interval_ns = settings.measure_interval_ns;
  context_.pss = PssMode::never;
  context_.counts_processes = false;
  context_.pressure_averages = true;
  vmstat_ = KeptFile(context_.roots.proc + "/vmstat");
  may_have_gpu_ = file_exists("/dev/nvidiactl") || file_exists("/dev/kfd");
}

Result<std::unique_ptr<TaskSampler>> TaskSampler::create(const MonitorSettings& settings,
                                                         std::vector<std::string> mounts, Clock& clock) {
  std::unique_ptr<TaskSampler> self(new TaskSampler(settings, std::move(mounts), clock));
  ProbeContext& context = self->context_;
  ProbeChoice choice{{"pressure"}, {"disk", "gpu_extra"}, false};
  if (settings.form == MonitorForm::image) {
    // The container of the monitor is not the task's: its cgroup would tell of nobody but tacho.
    choice.off.push_back("cgroup");
  } else {
    context.cgroup = find_cgroups(context.roots, 0);
    context.limits = find_limits(context.roots, context.cgroup, 0, machine_memory_bytes(context.roots));
  }
  if (settings.form == MonitorForm::script) self->follow_task();
  auto sampler = Sampler::create(context, choice, clock);
  if (!sampler) return sampler.error();
  self->sampler_ = std::move(*sampler);
  self->find_columns();
  return self;
}

// In the task's own container that is all of it, else what started tacho.
void TaskSampler::follow_task() {
  const bool own_namespace = read_link(context_.roots.proc + "/self/ns/pid") != kInitialPidNamespace;
  const pid_t root = own_namespace && ::getpid() != 1 ? 1 : ::getppid();
  if (root <= 0) return;
  auto tree = std::make_unique<ProcessTree>(context_);
  if (!tree->follow(root, false)) return;
  tree_ = std::move(tree);
  context_.tree = tree_.get();
}

void TaskSampler::exclude(pid_t pid) {
  if (tree_) tree_->exclude(pid);
}

void TaskSampler::find_columns() {
  const Schema& schema = sampler_->schema();
  load1_ = place_of(schema, "system_load1");
  cgroup_cpu_ = place_of(schema, "cgroup_cpu_usage");
  cgroup_throttled_ = place_of(schema, "cgroup_throttled_time");
  cgroup_memory_ = place_of(schema, "cgroup_memory_mib");
  cgroup_peak_ = place_of(schema, "cgroup_memory_peak_mib");
  cgroup_limit_ = place_of(schema, "cgroup_memory_limit_mib");
  cgroup_oom_ = place_of(schema, "cgroup_oom_kills");
  net_recv_ = place_of(schema, "system_net_recv_bytes");
  net_sent_ = place_of(schema, "system_net_sent_bytes");
  process_cpu_ = place_of(schema, "process_cpu_usage");
}

std::optional<double> TaskSampler::cell(size_t column, double scale) const {
  if (column == 0 || is_absent(row_.cells[column])) return std::nullopt;
  return row_.cells[column] * scale;
}

// Keeps the memory of the lists.
void TaskSampler::describe() {
  detail_.cores.clear();
  detail_.gpus.clear();
  sampler_->describe(detail_, kDescribed);
  cores_.update(detail_.cores);
}

void TaskSampler::baseline() {
  disks_.prepare();
  sampler_->baseline();
  describe();
  oom_before_ = oom_now_ = read_oom_kills();
  self_cpu_ns_ = process_cpu_ns(::getpid());
  disks_.read(clock_.monotonic_ns(), context_.buffer);
}

// A rare event in a long file: it is looked for every few seconds, and where the row tells of an event itself.
std::optional<int64_t> TaskSampler::read_oom_kills() {
  oom_stamp_ns_ = clock_.monotonic_ns();
  std::string_view text;
  const int64_t kills = vmstat_.read(context_.buffer, text) ? parse_vmstat(text).oom_kills : -1;
  if (kills < 0) return std::nullopt;
  return kills;
}

void TaskSampler::sample(MetricsSample& out, pid_t helper) {
  disks_.prepare();
  sampler_->sample(row_, false);
  describe();
  disks_.read(clock_.monotonic_ns(), context_.buffer);
  const double seconds = as_seconds(row_.interval_ns);
  const double per_second = seconds > 0 ? 1 / seconds : 0;
  out.realtime_ns = row_.realtime_ns;
  out.cpu_used_percent = cores_.percent();
  out.cpu_iowait_percent = cores_.iowait_percent();
  out.cpu_steal_percent = cores_.steal_percent();
  out.load1 = cell(load1_);
  out.memory = detail_.memory;
  out.disks = disks_.values();
  out.gpus = detail_.gpus;
  out.pressure = detail_.pressure;
  out.cgroup_cpu_cores = cell(cgroup_cpu_);
  out.cgroup_cpu_throttled_percent = cell(cgroup_throttled_, 100 * per_second);
  if (auto& percent = out.cgroup_cpu_throttled_percent) percent = std::clamp(*percent, 0.0, 100.0);  // cores add up
  out.cgroup_mem_used_gb = cell(cgroup_memory_, kMiBToGb);
  out.cgroup_mem_peak_gb = cell(cgroup_peak_, kMiBToGb);
  out.cgroup_mem_limit_gb = cell(cgroup_limit_, kMiBToGb);
  out.net_rx_mb_per_s = cell(net_recv_, 1e-6 * per_second);
  out.net_tx_mb_per_s = cell(net_sent_, 1e-6 * per_second);
  if (tree_ && tree_->readable()) {
    out.proc_count = tree_->children() + (tree_->empty() ? 0 : 1);
    out.proc_cpu_cores = cell(process_cpu_);
    out.proc_rss_gb = static_cast<double>(tree_->memory().rss_bytes) * kBytesToGb;
    name_top_process();
    out.top_process = top_name_;
  }
  const auto in_cgroup = cell(cgroup_oom_);
  cgroup_oom_sum_ += static_cast<int64_t>(in_cgroup.value_or(0));
  out.oom_kills.reset();
  if (!out.event.empty() || clock_.monotonic_ns() - oom_stamp_ns_ >= kOomPace_ns) oom_now_ = read_oom_kills();
  if (oom_now_ && oom_before_) out.oom_kills = std::max<int64_t>(0, *oom_now_ - *oom_before_);
  else if (in_cgroup) out.oom_kills = cgroup_oom_sum_;
  fill_self(out, helper);
}

// The one that holds most memory. A program keeps its name nearly always, so it is read when another one is on top.
void TaskSampler::name_top_process() {
  const pid_t top = tree_->largest_member();
  if (top == top_pid_) return;
  top_pid_ = top;
  top_name_ = top > 0 ? valid_utf8(read_first_line(context_.roots.proc + "/" + std::to_string(top) + "/comm")) : "";
}

void TaskSampler::fill_self(MetricsSample& out, pid_t helper) {
  const std::array<pid_t, 2> now{helper, GpuReader::running_pid()};
  for (size_t i = 0; i < now.size(); ++i) {
    if (now[i] == beside_[i].pid) continue;
    beside_[i] = {now[i], 0, now[i] > 0 ? KeptFile("/proc/" + std::to_string(now[i]) + "/statm") : KeptFile()};
    self_rss_gb_.reset();
  }
  const auto grown = [](int64_t now_ns, int64_t& before_ns) {
    const int64_t delta = std::max<int64_t>(0, now_ns - before_ns);
    if (now_ns >= 0) before_ns = now_ns;
    return delta;
  };
  int64_t cpu_ns = grown(process_cpu_ns(::getpid()), self_cpu_ns_);
  for (Beside& process : beside_)
    if (process.pid > 0) cpu_ns += grown(process_cpu_ns(process.pid), process.cpu_ns);
  if (row_.interval_ns > 0)
    out.self_cpu_percent = 100 * static_cast<double>(cpu_ns) / static_cast<double>(row_.interval_ns);
  // A file each, and the memory of these programs hardly moves.
  const int64_t now_ns = clock_.monotonic_ns();
  if (self_rss_gb_ && now_ns - self_rss_ns_ < kOwnMemoryPace_ns && out.event.empty()) {
    out.self_rss_gb = self_rss_gb_;
    return;
  }
  self_rss_ns_ = now_ns;
  self_rss_gb_ = resident_gb(own_statm_, context_.buffer);
  for (Beside& process : beside_)
    if (self_rss_gb_) *self_rss_gb_ += resident_gb(process.statm, context_.buffer).value_or(0);
  out.self_rss_gb = self_rss_gb_;
}

RuntimeFacts TaskSampler::facts() const {
  RuntimeFacts facts;
  facts.form = form_name(settings_.form);
  facts.measure_interval_ms = settings_.measure_interval_ns / kNsPerMs;
  facts.cpu_count = usable_cpus();
  facts.mem_total_bytes = detail_.memory.total_bytes;
  facts.swap_total_bytes = detail_.memory.swap_total_bytes;
  facts.mem_limit_bytes = context_.limits.memory_limit_bytes;
  facts.cpu_limit = context_.limits.cpu_quota_cores;
  facts.disks = disks_.values();
  facts.gpus = detail_.gpus;
  if (const auto text = read_whole_file(context_.roots.proc + "/cpuinfo")) facts.cpu_model = cpu_model(*text);
  utsname name{};
  if (::uname(&name) == 0) facts.kernel = name.release;
  if (const auto text = read_whole_file(context_.roots.proc + "/stat"))
    if (const ProcStat stat = parse_proc_stat(*text); stat.btime_s > 0) facts.boot_time_s = stat.btime_s;
  return facts;
}

}  // namespace tacho
