#include "katib/collect/resources.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <optional>

#include "base/log.h"
#include "base/units.h"
#include "base/writer.h"
#include "katib/read/row_shaper.h"
#include "probe/gpu/gpu.h"
#include "probe/tree/process_tree.h"
#include "procfs/pid_files.h"

namespace tacho {
namespace {

// Mean and highest of what was read in an interval; nothing when nothing was.
struct Fold {
  double sum = 0, highest = 0;
  int64_t count = 0;
  void add(double value) {
    if (is_absent(value)) return;
    highest = count == 0 ? value : std::max(highest, value);
    sum += value;
    ++count;
  }
  std::optional<double> mean() const {
    return count > 0 ? std::optional(sum / static_cast<double>(count)) : std::nullopt;
  }
  std::optional<double> maximum() const { return count > 0 ? std::optional(highest) : std::nullopt; }
};

double mebibytes(int64_t bytes) { return static_cast<double>(bytes) / static_cast<double>(kMiB); }

int64_t ticks_to_ns(int64_t ticks) {
  static const int64_t per_second = ::sysconf(_SC_CLK_TCK);
  return per_second > 0 ? ticks * (kNsPerSec / per_second) : 0;
}

// CPU time of a process and of the children it waited for.
int64_t cpu_ns_of(const Roots& roots, pid_t pid) {
  const auto text = read_whole_file(roots.proc + "/" + std::to_string(pid) + "/stat", 8192);
  PidStat stat;
  if (!text || !parse_pid_stat(*text, stat)) return 0;
  return ticks_to_ns(stat.utime + stat.stime + stat.cutime + stat.cstime);
}

double column_value(std::string_view name, const Reading& reading) {
  for (const Column& column : kGpuProbe.columns)
    if (column.name == name) return derive(column, reading, reading);
  return kAbsent;
}

}  // namespace

struct Resources::State {
  ProbeContext context;
  std::vector<std::string> names;
  int64_t interval_ns;
  std::optional<ProcessTree> tree;
  std::unique_ptr<Probe> gpu;
  ProcessId main;
  int64_t before_ns = 0;  // CPU time from before the first sample
  int64_t next_sample_ns = 0, interval_end_ns = 0, interval_begun_ns = 0, cpu_at_begin_ns = 0;
  int64_t seen_ns = 0;       // when the trainer was last seen alive
  int64_t known_cpu_ns = 0;  // exactly, at the end
  double peak_mib = 0;
  Fold memory, gpu_usage, gpu_vram;

  bool wants(std::string_view name) const { return std::find(names.begin(), names.end(), name) != names.end(); }
  int64_t cpu_ns() const { return known_cpu_ns > 0 ? known_cpu_ns : before_ns + tree->total().cpu_ns(); }
  double wall_seconds() const {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    const double started = as_seconds(ticks_to_ns(static_cast<int64_t>(main.start_time)));
    return static_cast<double>(now.tv_sec) + as_seconds(now.tv_nsec) - started;
  }
  void read(int64_t now_ns, bool ended);
  void emit(int64_t now_ns, const std::function<void(const RowView&)>& take);
};

void Resources::State::read(int64_t now_ns, bool ended) {
  if (ended)
    return tree->update(now_ns);  // what the processes used at last is known, what they use now is not 0 but gone
  seen_ns = now_ns;
  if (gpu) gpu->prepare();
  tree->update(now_ns);
  if (tree->memory().bytes > 0) memory.add(mebibytes(tree->memory().bytes));
  peak_mib = std::max({peak_mib, mebibytes(tree->memory().bytes), mebibytes(tree->largest_process_bytes())});
  if (!gpu) return;
  Reading reading;
  reading.stamp_ns = now_ns;
  gpu->read(reading);
  gpu_usage.add(column_value("process_gpu_usage", reading));
  gpu_vram.add(column_value("process_gpu_vram_mib", reading));
}

void Resources::State::emit(int64_t now_ns, const std::function<void(const RowView&)>& take) {
  const TimeStamp time = TimeStamp::at(now_us());
  const auto put = [&](std::string_view name, std::optional<double> value, int decimals) {
    if (!value || !wants(name)) return;
    Writer text(32);
    text.put_fixed(*value, decimals);
    take({time, name, text.view()});
  };
  const double seconds = as_seconds(seen_ns - interval_begun_ns);
  if (tree->readable()) {
    if (seconds > 0) put("tacho_cpu_cores", as_seconds(std::max<int64_t>(cpu_ns() - cpu_at_begin_ns, 0)) / seconds, 4);
    put("tacho_cpu_seconds", as_seconds(cpu_ns()), 4);
  }
  put("tacho_memory_mib", memory.maximum(), 3);
  if (peak_mib > 0) put("tacho_memory_peak_mib", peak_mib, 3);
  put("tacho_gpu_usage", gpu_usage.mean(), 4);
  put("tacho_gpu_vram_mib", gpu_vram.maximum(), 4);
  put("tacho_wall_seconds", wall_seconds(), 3);
  memory = gpu_usage = gpu_vram = {};
  interval_begun_ns = now_ns;
  interval_end_ns += interval_ns;
  if (interval_end_ns <= now_ns) interval_end_ns = now_ns + interval_ns;
  cpu_at_begin_ns = cpu_ns();
}

const std::vector<std::string>& Resources::all_names() {
  static const std::vector<std::string> names{"tacho_cpu_cores",       "tacho_cpu_seconds", "tacho_memory_mib",
                                              "tacho_memory_peak_mib", "tacho_gpu_usage",   "tacho_gpu_vram_mib",
                                              "tacho_wall_seconds"};
  return names;
}

Resources::Resources(Roots roots, std::vector<std::string> names, int64_t interval_ns)
    : state_(std::make_unique<State>()) {
  state_->context.roots = std::move(roots);
  state_->context.interval_ns = kSampleNs;
  state_->names = std::move(names);
  state_->interval_ns = interval_ns;
}

Resources::~Resources() = default;

bool Resources::following() const { return state_->tree.has_value(); }
int64_t Resources::deadline_ns() const { return following() ? state_->next_sample_ns : INT64_MAX; }

void Resources::know_cpu(int64_t cpu_ns) { state_->known_cpu_ns = cpu_ns; }

void Resources::follow(const ProcessId& main) {
  State& state = *state_;
  if (state.main == main || state.names.empty()) return;
  state.tree.emplace(state.context);
  state.context.tree = &*state.tree;
  state.context.job_pids = &*state.tree;
  std::vector<pid_t> groups;
  state.before_ns = cpu_ns_of(state.context.roots, main.pid);
  for (const ProcessId& id : descendants(state.context.roots, main, groups))
    state.before_ns += cpu_ns_of(state.context.roots, id.pid);
  if (!state.tree->follow(main.pid, false)) {
    state.tree.reset();
    return;
  }
  state.main = main;
  state.known_cpu_ns = 0;
  if (!state.gpu && (state.wants("tacho_gpu_usage") || state.wants("tacho_gpu_vram_mib"))) {
    auto gpu = kGpuProbe.make(state.context);
    if (gpu) state.gpu = std::move(*gpu);
    else log::warn(gpu.error());
  }
  state.next_sample_ns = state.interval_end_ns = 0;
}

void Resources::sample(int64_t now_ns, bool last, const std::function<void(const RowView&)>& take) {
  State& state = *state_;
  if (!following() || (now_ns < state.next_sample_ns && !last)) return;
  if (last) state.tree->root_ended();
  if (last && state.known_cpu_ns > 0) state.seen_ns = now_ns;  // it is of the whole time
  state.read(now_ns, last);
  state.next_sample_ns = std::max(state.next_sample_ns + kSampleNs, now_ns + kSampleNs / 2);
  if (state.interval_end_ns == 0) {  // the first sample: where the interval begins
    state.interval_begun_ns = now_ns;
    state.interval_end_ns = now_ns + state.interval_ns;
    state.cpu_at_begin_ns = state.cpu_ns();
    state.memory = {};
    state.read(now_ns, last);
    if (!last) return;
  }
  if (last || now_ns >= state.interval_end_ns) state.emit(now_ns, take);
  if (last) state.tree.reset();
}

}  // namespace tacho
