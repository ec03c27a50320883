// One sample of a task and its machine: tacho's own probes and sampler, with the device lists that rows for
// BigQuery have as arrays. Not thread-safe.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/sampler.h"
#include "monitor/core_rates.h"
#include "monitor/mount_disks.h"
#include "monitor/settings.h"
#include "monitor/tables/rows.h"
#include "os/clock.h"
#include "probe/kit/probe.h"
#include "probe/tree/process_tree.h"

namespace tacho {

class TaskSampler {
 public:
  // `mounts` is what choose_mounts() gave.
  static Result<std::unique_ptr<TaskSampler>> create(const MonitorSettings& settings, std::vector<std::string> mounts,
                                                     Clock& clock);

  void baseline();
  // out.event says what the sample is taken for. The views in it are good until the next one. `helper` is
  // tacho-deliver, whose use counts as our own; 0: none.
  void sample(MetricsSample& out, pid_t helper);

  // What a runtime row tells of the machine; disks and GPUs as of the last sample or the baseline.
  RuntimeFacts facts() const;
  // A GPU driver is there but has not named its devices yet.
  bool waits_for_gpu() const { return may_have_gpu_ && detail_.gpus.empty(); }
  const ProbeContext& context() const { return context_; }
  void exclude(pid_t pid);  // is no part of the task

 private:
  TaskSampler(const MonitorSettings& settings, std::vector<std::string> mounts, Clock& clock);
  void describe();
  void find_columns();
  void follow_task();
  void name_top_process();
  std::optional<int64_t> read_oom_kills();
  std::optional<double> cell(size_t column, double scale = 1) const;
  void fill_self(MetricsSample& out, pid_t helper);

  const MonitorSettings& settings_;
  Clock& clock_;
  ProbeContext context_;
  std::unique_ptr<ProcessTree> tree_;
  std::unique_ptr<Sampler> sampler_;
  MountDisks disks_;
  CoreRates cores_;
  Row row_;
  Detail detail_;
  // Places in a row; 0: no such column.
  size_t load1_ = 0, net_recv_ = 0, net_sent_ = 0, process_cpu_ = 0;
  size_t cgroup_cpu_ = 0, cgroup_throttled_ = 0, cgroup_memory_ = 0, cgroup_peak_ = 0, cgroup_limit_ = 0,
         cgroup_oom_ = 0;
  std::optional<int64_t> oom_before_, oom_now_;
  int64_t cgroup_oom_sum_ = 0, oom_stamp_ns_ = 0;
  KeptFile vmstat_;
  bool may_have_gpu_ = false;
  // tacho-deliver and the process that reads GPU drivers: what they use is our own cost.
  struct Beside {
    pid_t pid = 0;
    int64_t cpu_ns = 0;
    KeptFile statm;
  };
  KeptFile own_statm_;
  std::array<Beside, 2> beside_;
  pid_t top_pid_ = 0;
  std::string top_name_;
  int64_t self_cpu_ns_ = 0, self_rss_ns_ = 0;
  std::optional<double> self_rss_gb_;
};

}  // namespace tacho
