// Call attempts from the tables `metadata` and `runtime`, joined: by workflow, call, shard
// and attempt, else by the instance's name; and which of them a metrics row belongs to: by run_id, else by the
// instance and the time. Bounded: of more than kMostAttempts an even sample is kept. Not thread-safe.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "cromwell/analyze_tables.h"

namespace tacho {

inline constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();
inline bool is_known(double value) { return !std::isnan(value); }

enum class CallState : uint8_t { unknown, succeeded, failed, running };

struct DiskUse {
  uint32_t mount = 0, type = 0;  // names
  double requested_gb = kNotKnown, peak_gb = kNotKnown, read_iops = kNotKnown, write_iops = kNotKnown;
};

struct CallAttempt {
  uint64_t key = 0;  // hash by which it is sampled
  uint32_t task = 0, workflow = 0, workflow_name = 0, status = 0, image = 0, platform = 0;  // names
  int32_t shard = -1, attempt = 1;
  CallState state = CallState::unknown;
  bool preemptible = false, preempted = false, some_sizes_unknown = false;
  uint8_t working = 0;                                               // which disk is the working one
  double cpus = kNotKnown, gpus = kNotKnown, memory_gb = kNotKnown;  // requested
  double input_gb = kNotKnown, cost_per_hour = kNotKnown;
  double call_s = kNotKnown, machine_s = kNotKnown;  // by the metadata: of the attempt, of its machine
  int64_t start_us = 0, end_us = 0;
  // Measured.
  uint32_t machine_cpus = 0, interval_ms = 0;
  uint64_t samples = 0;  // rows, repeated ones too, until they are folded
  int64_t oom_kills = -1, missing_rows = -1;
  double measured_s = kNotKnown;
  double cores_mean = kNotKnown, cores_p95 = kNotKnown, cores_max = kNotKnown;
  double memory_peak = kNotKnown, memory_p95 = kNotKnown, disk_p95 = kNotKnown;
  float psi_cpu = -1, psi_memory = -1, psi_io = -1, gpu_percent = -1, gpu_memory_gb = -1;  // the largest; -1: unknown
  std::vector<DiskUse> disks;

  const DiskUse* working_disk() const { return working < disks.size() ? &disks[working] : nullptr; }
  double disk_peak() const { return working_disk() == nullptr ? kNotKnown : working_disk()->peak_gb; }
  double disk_requested() const { return working_disk() == nullptr ? kNotKnown : working_disk()->requested_gb; }
  // Of the machine, for money: what the cloud says, else the call's, else what was measured.
  double hours() const;
};

// Each text once.
class NameTable {
 public:
  NameTable() { (void)id(""); }
  uint32_t id(std::string_view name);
  const std::string& operator[](uint32_t id) const { return *names_[id]; }

 private:
  std::unordered_map<std::string, uint32_t> ids_;
  std::vector<const std::string*> names_;
};

class AttemptTable {
 public:
  static constexpr size_t kMostAttempts = 50'000;
  // `only`: of this workflow and its sub-workflows; empty: of all.
  explicit AttemptTable(std::string only = {}, size_t most = kMostAttempts) : only_(std::move(only)), most_(most) {}

  void add(const CallRow& row);     // all of them first
  void add(const RuntimeRow& row);  // then these
  void close();                     // then this, before rows of metrics are asked for
  static constexpr uint32_t kNobody = UINT32_MAX;
  struct Owner {
    uint32_t attempt = kNobody, run = 0;
  };
  Owner owner_of(const MetricsRow& row);

  std::vector<CallAttempt>& attempts() { return attempts_; }
  const std::vector<CallAttempt>& attempts() const { return attempts_; }
  NameTable& names() { return names_; }
  const NameTable& names() const { return names_; }
  // Names of the task's inputs that are files.
  const std::vector<std::string>& files_of(uint32_t task) const;
  uint64_t left_out() const { return left_out_; }
  uint64_t unnamed() const { return unnamed_; }  // starts of the monitor that belong to no task

 private:
  struct MonitorRun {
    uint32_t attempt;
    int64_t start_us;
  };
  struct RunPlace {
    uint64_t key;  // hash of run_id, or the instance
    int64_t start_us;
    uint32_t run;
    bool operator<(const RunPlace& other) const {
      return key != other.key ? key < other.key : start_us < other.start_us;
    }
  };
  uint32_t find_or_add(uint64_t key);
  uint32_t attempt_of(const RuntimeRow& row);
  uint32_t by_instance(const RuntimeRow& row) const;
  void thin_out();
  void set_machine(CallAttempt& attempt, const RuntimeRow& row);

  std::string only_;
  size_t most_;
  uint64_t mask_ = 0, left_out_ = 0, unnamed_ = 0;
  NameTable names_;
  std::vector<CallAttempt> attempts_;
  std::unordered_map<uint64_t, uint32_t> by_key_;
  std::unordered_multimap<std::string, uint64_t> instances_;  // name → the attempt's key
  std::unordered_map<std::string, std::vector<std::string>> files_;
  std::vector<MonitorRun> runs_;
  std::vector<RunPlace> by_run_id_, by_instance_id_;
};

bool is_working_mount(std::string_view mount);

}  // namespace tacho
