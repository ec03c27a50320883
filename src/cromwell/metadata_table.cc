// A new column is one more line at the end; then `tacho bq columns > docs/bigquery-columns.md`.
#include "cromwell/metadata_table.h"

#include "base/units.h"
#include "cromwell/inputs.h"
#include "model/bigquery_row.h"

namespace tacho {
namespace {

using enum BqType;
using enum BqMode;
constexpr bool kOriginal = false, kAdded = true;
constexpr void (*kAtTheEnd)(BqRowWriter&, const MetadataRow&) = nullptr;  // of the row, while there is room

// Known sizes together; nothing when there are files and none is known.
std::optional<int64_t> size_of(const std::vector<CallInput>& inputs) {
  int64_t sum = 0;
  bool files = false, known = false;
  for (const CallInput& input : inputs) {
    files |= input.type == InputType::file;
    known |= input.size_bytes.has_value();
    sum += input.size_bytes.value_or(0);
  }
  if (files && !known) return std::nullopt;
  return sum;
}

void put_input_value(BqRowWriter& row, const CallInput& input) {
  if (input.type == InputType::null || (input.type == InputType::file && !input.size_bytes)) row.null();
  else if (input.type == InputType::file) row.text(input_gigabytes(*input.size_bytes));
  else row.text(input.value);
}

#define PUT(...) [](BqRowWriter& row, const CallInput& of) { row.__VA_ARGS__; }
// clang-format off
constexpr auto kInputLines = std::to_array<BqLine<CallInput>>({
    {"key", string, required, kOriginal, "name of the input", PUT(text(of.key))},
    {"type", string, required, kOriginal, "file, string, number, boolean … or null", PUT(text(input_type_name(of.type)))},
    {"value", string, nullable, kOriginal, "as text; of a file its size in GB, NULL where that is not known", put_input_value},
    {"size_bytes", integer, nullable, kAdded, "of a file", PUT(whole(of.size_bytes))},
});
#undef PUT
constexpr auto kInputFields = columns_of(kInputLines);

#define PUT(...) [](BqRowWriter& row, const MetadataRow& of) { row.__VA_ARGS__; }
constexpr auto kMetadataLines = std::to_array<BqLine<MetadataRow>>({
    {"project_id", string, required, kOriginal, "owner of the machine", PUT(text(of.project_id))},
    {"zone", string, required, kOriginal, "where the machine was", PUT(text(of.zone))},
    {"instance_name", string, required, kOriginal, "name of the machine", PUT(text(of.instance_name))},
    {"preemptible", boolean, required, kOriginal, "whether the machine could be taken away", PUT(flag(of.preemptible))},
    {"workflow_name", string, required, kOriginal, "of the workflow that the call is in", PUT(text(of.workflow_name))},
    {"workflow_id", string, required, kOriginal, "of the workflow that the call is in", PUT(text(of.workflow_id))},
    {"task_call_name", string, required, kOriginal, "name of the call, without its workflow's", PUT(text(of.task_call_name))},
    {"shard", integer, required, kOriginal, "index of the call in its scatter, −1 outside of one", PUT(whole(of.shard))},
    {"attempt", integer, required, kOriginal, "1, 2 … of the call", PUT(whole(of.attempt))},
    {"start_time", timestamp, required, kOriginal, "of the attempt", PUT(time(of.start_ns))},
    {"end_time", timestamp, required, kOriginal, "of the attempt; see end_time_known", PUT(time(of.end_ns))},
    {"execution_status", string, required, kOriginal, "as Cromwell says it: Done, Failed …", PUT(text(of.execution_status))},
    {"cpu_count", integer, required, kOriginal, "CPUs of the machine, 0 where that is not known", PUT(whole(of.cpu_count))},
    {"mem_total_gb", floating, required, kOriginal, "memory of the machine in GiB, 0 where that is not known",
     PUT(size(static_cast<double>(of.memory_bytes.value_or(0)) / static_cast<double>(kGiB)))},
    {"disk_mounts", string, repeated, kOriginal, "where the disks were mounted", PUT(texts(of.disks, &Disk::mount))},
    {"disk_total_gb", floating, repeated, kOriginal, "size of each disk", PUT(sizes(of.disks, &Disk::size_gb))},
    {"disk_types", string, repeated, kOriginal, "SSD, HDD or LOCAL", PUT(texts(of.disks, &Disk::type))},
    {"docker_image", string, required, kOriginal, "image that the call ran in", PUT(text(of.docker_image))},
    {"inputs", record, repeated, kOriginal, "of the call, by name; as many as fit into a row", kAtTheEnd, kInputFields},
    {"call_fqn", string, nullable, kAdded, "full name of the call", PUT(known(of.call_fqn))},
    {"root_workflow_id", string, nullable, kAdded, "of the workflow that was submitted", PUT(known(of.root_workflow_id))},
    {"backend", string, nullable, kAdded, "what ran the call: jes, gcpBatch …", PUT(known(of.backend))},
    {"machine_type", string, nullable, kAdded, "kind of machine", PUT(known(of.machine_type))},
    {"mem_total_bytes", integer, nullable, kAdded, "memory of the machine, exactly", PUT(whole(of.memory_bytes))},
    {"end_time_known", boolean, nullable, kAdded, "whether end_time is the attempt's own", PUT(flag(of.end_time_known))},
    {"cached", boolean, nullable, kAdded, "whether the call's result was taken from a cache", PUT(flag(of.cached))},
    {"return_code", integer, nullable, kAdded, "of the call's command", PUT(whole(of.return_code))},
    {"job_id", string, nullable, kAdded, "of the backend", PUT(known(of.job_id))},
    {"vm_start_time", timestamp, nullable, kAdded, "when the machine was there", PUT(time(of.vm_start_ns))},
    {"vm_end_time", timestamp, nullable, kAdded, "when the machine was gone", PUT(time(of.vm_end_ns))},
    {"vm_cost_per_hour", floating, nullable, kAdded, "as Cromwell says it", PUT(number(of.vm_cost_per_hour, 9))},
    {"gpu_count", integer, nullable, kAdded, "GPUs that were asked for", PUT(whole(of.gpu_count))},
    {"gpu_type", string, nullable, kAdded, "kind of GPU that was asked for", PUT(known(of.gpu_type))},
    {"inputs_truncated", boolean, nullable, kAdded, "whether inputs were left out", kAtTheEnd},
    {"inputs_size_bytes", integer, nullable, kAdded, "known sizes of all files among the inputs", PUT(whole(size_of(of.inputs)))},
});
// clang-format on
#undef PUT

constexpr auto kMetadataColumns = columns_of(kMetadataLines);

}  // namespace

constinit const BqTableData kBqMetadata{"metadata", "start_time", kMetadataColumns};

void write_metadata_columns(Writer& out, const MetadataRow& row) { write_bq_row(out, kMetadataLines, row); }
void write_metadata_input(Writer& out, const CallInput& input) { write_bq_row(out, kInputLines, input); }

}  // namespace tacho
