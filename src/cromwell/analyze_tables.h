// What `tacho cromwell analyze` asks of the three tables, a struct a table, filled cell by cell. Unknown is nothing.
// Plain values.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cromwell/analyze_cell.h"

namespace tacho {

// Whose row it is.
struct AttemptKey {
  std::string workflow_id, call;
  std::optional<int64_t> shard, attempt;
  bool is_known() const { return !workflow_id.empty() && !call.empty(); }
  bool take(std::string_view column, const TableCell& cell);
};

struct NamedDisk {
  std::string mount, type;
  std::optional<double> total_gb;
};

// A start of the monitor.
struct RuntimeRow : CellTarget {
  AttemptKey task;
  std::string run_id, instance_name, cpu_platform;
  std::optional<int64_t> instance_id, start_us, cpu_count, measure_interval_ms;
  std::optional<double> mem_total_gb;
  std::vector<NamedDisk> disks;

  void cell(std::string_view column, size_t element, std::string_view member, const TableCell& cell) override;
  void clear() { *this = {}; }
  std::string_view lacks() const;  // what a row cannot do without; empty: nothing
};

struct DiskSample {
  double used_gb, read_iops, write_iops;  // NaN: unknown
};

struct MetricsRow : CellTarget {
  std::string run_id;
  std::optional<int64_t> instance_id, time_us, seq, oom_kills;
  bool preempted = false;
  double cpu_percent_sum = 0;
  size_t cpus = 0;
  std::optional<double> mem_used_gb, psi_cpu, psi_memory, psi_io, gpu_percent, gpu_memory_gb;
  std::vector<DiskSample> disks;

  void cell(std::string_view column, size_t element, std::string_view member, const TableCell& cell) override;
  void clear();
  std::string_view lacks() const;

 private:
  void disk(size_t element, double DiskSample::*value, const TableCell& cell);
};

// A call attempt as Cromwell tells of it.
struct CallRow : CellTarget {
  AttemptKey task;
  std::string workflow_name, root_workflow, instance_name, status, image, cpu_platform;
  std::optional<bool> preemptible, cached, end_known;
  std::optional<int64_t> start_us, end_us, vm_start_us, vm_end_us, cpu_count, mem_total_bytes, gpu_count;
  std::optional<int64_t> inputs_size_bytes;
  std::optional<double> mem_total_gib, vm_cost_per_hour;
  std::vector<NamedDisk> disks;
  std::vector<std::string> files;  // names of inputs that are files, without their place in a list; a few of them
  double known_gb = 0;
  size_t known_files = 0, unknown_files = 0;

  void cell(std::string_view column, size_t element, std::string_view member, const TableCell& cell) override;
  void clear() { *this = {}; }
  void finish();  // behind the last cell
  std::string_view lacks() const;
  // Of all files among the inputs; nothing when no size is known although there are files.
  std::optional<double> input_gb() const;

 private:
  struct OpenInput {
    size_t element = 0;
    bool any = false;
    std::string key;
    bool is_file = false;
    std::optional<double> value_gb, size_gb;
  } open_;
  void input(size_t element, std::string_view member, const TableCell& cell);
};

// The columns that are asked for, by table; `inputs` with its members.
std::span<const std::string_view> runtime_columns();
std::span<const std::string_view> metrics_columns();
std::span<const std::string_view> call_columns();

}  // namespace tacho
