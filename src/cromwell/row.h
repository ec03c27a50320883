// The rules by which a call attempt becomes a row of the metadata table, or does not (cromwell-bigquery.md §3.5). Pure
// but for warnings about parts that are left out; thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cromwell/call.h"

namespace tacho {

struct RowOptions {
  bool allow_running = false, include_cached = false, all_backends = false;
};

struct Disk {
  std::string mount;
  double size_gb = 0;
  std::string type;
};

struct MetadataRow {
  std::string project_id, zone, instance_name, workflow_name, workflow_id, task_call_name, execution_status,
      docker_image;
  bool preemptible = false;
  int64_t shard = -1, attempt = 0, cpu_count = 0;
  int64_t start_ns = 0, end_ns = 0;
  std::optional<int64_t> memory_bytes;
  std::vector<Disk> disks;
  std::vector<CallInput> inputs;  // sorted by key
  // What the original's table does not have.
  std::string call_fqn, root_workflow_id, backend, machine_type, job_id, gpu_type;
  bool end_time_known = true, cached = false, inputs_truncated = false;
  std::optional<int64_t> return_code, vm_start_ns, vm_end_ns, gpu_count;
  std::optional<double> vm_cost_per_hour;
};

enum class Fate { row, sub_workflow, cached, not_started, running, other_backend, no_time };

// Moves what it can out of the call. An Error: this call makes no sense (its shard or attempt is no number); say so and
// go on.
Result<Fate> make_row(Call& call, const WorkflowHead& workflow, const std::string& root_id, const RowOptions& options,
                      MetadataRow& row);

// "local-disk 10 SSD,/mnt/x 20 LOCAL"; entries that cannot be read are warned about and left out. local_mount is where
// "local-disk" is.
std::vector<Disk> parse_disks(std::string_view text, std::string_view local_mount);

// Whether the status will not change any more.
bool is_terminal_call(std::string_view status);
bool is_terminal_workflow(std::string_view status);

}  // namespace tacho
