// What is said about a run besides its rows: how it ended, its totals and high-water marks, and the methods used.
#pragma once
#include <cstdint>

#include "engine/energy.h"
#include "job/job.h"
#include "model/row.h"
#include "model/run.h"
#include "model/summary.h"
#include "os/file.h"
#include "probe/kit/probe.h"

namespace tacho {

// Counts the kernel's OOM kills from begin() to end(), and decides whether one hit the job.
class OomWatch {
 public:
  void begin(const Roots& roots);
  // After totals and outcome are known. own_cgroup: cgroup_oom_kills is of a cgroup that holds nothing but the job.
  // Elsewhere a kill may have been a neighbour's: it is the job's when its root was killed, or when at least half of
  // the memory there was the job's, since the kernel picks the largest; otherwise it cannot be known, and a note says
  // so.
  void end(const ProbeContext& context, Run& run, const Summary& summary, bool own_cgroup, std::string& note) const;

 private:
  int64_t kills_before_ = -1;  // −1: the kernel does not say
};

// How the job ended; exit_status is what tacho will end with.
void fill_outcome(Run& run, const Job& job, int exit_status);

// Totals, peaks, energy and methods as they stand after each row, so that run.json has them also when tacho is killed.
class TotalsKeeper {
 public:
  void begin(const Schema& schema);
  void update(Run& run, const Summary& summary, const ProcessTree* tree, const ProbeContext& context) const;
  // After the closing row: peaks that no row shows raise the statistics, and doubts become notes.
  void close(Run& run, Summary& summary, const ProcessTree* tree, ProbeContext& context) const;

 private:
  EnergyKeeper energy_;
  size_t user_ = 0, system_ = 0, memory_ = 0, read_ = 0, write_ = 0, cgroup_peak_ = 0;  // 0: no such column
};

int64_t machine_memory_bytes(const Roots& roots);
// The folder whose processes are followed, of a cgroup that the user named.
std::string cgroup_folder(const CgroupPaths& paths);

}  // namespace tacho
