// A probe reads raw counters and levels of one source. It never computes a rate, never throws, and in a steady tick
// never allocates. A failing probe leaves its fields absent and never stops the others.
//
// To add one: a file probe/NAME.cc with its columns and its reader, and one line in probe/table.cc.
#pragma once
#include <sys/types.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "model/cgroup.h"
#include "model/column.h"
#include "model/detail.h"
#include "model/device.h"
#include "model/process_record.h"
#include "model/run.h"
#include "os/file.h"

namespace tacho {

class ProcessTree;

// Facts that one probe read in this tick and that save another one work.
struct TickFacts {
  int64_t forks = -1;             // "processes" of /proc/stat: processes and threads ever started; −1: not read
  int64_t swap_total_bytes = -1;  // of the machine; −1: not read
  bool closing = false;           // the last reading: nothing may be put off any more
  // The job's cpu.stat in microseconds, where it was read; −1: it was not, or has no such line.
  int64_t cgroup_user_us = -1, cgroup_system_us = -1, cgroup_throttled_us = -1, cgroup_throttled_periods = -1;
};

enum class PssMode { automatic, always, never };

// The pids of the job's processes now, for sources that know processes by their number only (GPU drivers).
struct JobPids {
  virtual ~JobPids() = default;
  // Replaces what is in `sorted`, ascending; keeps its memory. Called on the sampling thread.
  virtual void copy(std::vector<pid_t>& sorted) const = 0;
};

// What probes are made with and share. Lives as long as the session.
struct ProbeContext {
  Roots roots;
  int64_t interval_ns = kNsPerSec;
  PssMode pss = PssMode::automatic;
  ReadBuffer buffer;  // of the sampling thread
  TickFacts facts;
  ProcessTree* tree = nullptr;        // the job's processes; null when the whole machine is watched
  const JobPids* job_pids = nullptr;  // of the same processes; null when no job is tracked
  bool pressure_averages =
      false;  // only the kernel's averages of pressure are wanted, not the sums since the last sample
  bool counts_processes =
      true;  // system_processes is wanted; where it means listing /proc, it costs as much as all the rest
  bool hides_addresses = false;  // --hide mac_address: names that are made of one are not written
  pid_t net_pid = 0;             // whose network namespace counts; 0: tacho's own
  CgroupPaths cgroup;            // of the job
  Limits limits;                 // what the job may use of the machine
  // GPU memory of the job's processes as it was read in this tick, a process several times where it holds several
  // devices; and whether that is known at all.
  std::vector<ProcessVram> vram;
  bool vram_told = false;
  std::vector<bool> gpus_of_job;       // in the driver's order: the job holds a context there, as this tick read it
  std::string_view gpu_energy_method;  // "nvml", "nvml_power"; empty: none was read
  std::string_view waits_method;       // how the state of threads was told: "syscall", "wchan", empty: it was not
  std::vector<std::string> notes;      // quality notes for run.json: what was doubtful, and why
  void note(std::string text);         // each text once
};

class Probe {
 public:
  virtual ~Probe() = default;
  // Reads now. `out` comes in cleared, with stamp_ns set by the caller.
  virtual void read(Reading& out) = 0;
  // Adds device lists; called after read() of the same tick, only when an output wants them. May allocate.
  virtual void describe(Detail&) {}
  // For devices.csv: the columns of its devices. Asked once, after the baseline's reading, or with the first row where
  // they are not known before (a GPU driver that is still starting).
  virtual bool knows_devices() { return true; }
  virtual std::vector<DeviceColumn> list_devices() { return {}; }
  // After read() of the same tick: their values, in the order of the list; what is not set is empty. Never allocates.
  virtual void read_devices(std::span<DeviceValue>) {}
  // What only this probe knows of the host and of how it is measured, as far as it is known yet. Never waits.
  virtual void describe_run(Run&) const {}
  // A slow source starts to work here, before the other probes are read (GPU threads).
  virtual void prepare() {}
  // A probe that must be set up on the job's first process before it runs the command (performance counters).
  virtual bool wants_new_job() const { return false; }
  virtual void new_job(pid_t) {}
};

enum class ProbeDefault { on, off, automatic /* on where the hardware is */ };

// One line of `tacho list probes`.
struct ProbeInfo {
  std::string_view name;
  ProbeDefault by_default;
  std::string_view help;
  std::span<const Column> columns;
  // Makes the probe, or says why it cannot work here (its columns then stay empty).
  Result<std::unique_ptr<Probe>> (*make)(ProbeContext&);
  // Cheap test whether the source exists here, for `automatic` and the doctor; ok or the reason with a hint.
  Status (*check)(const Roots&);
};

// The one table: probe/table.cc.
std::span<const ProbeInfo> all_probes();
const ProbeInfo* find_probe(std::string_view name);

}  // namespace tacho
