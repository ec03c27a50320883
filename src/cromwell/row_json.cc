#include "cromwell/row_json.h"

#include <cmath>

#include "base/time_text.h"
#include "base/writer.h"
#include "cromwell/inputs.h"
#include "net/google/bigquery.h"

namespace tacho {
namespace {

constexpr int64_t kExact = int64_t{1} << 53;
constexpr double kGiB = 1073741824.0;

void put_integer(JsonWriter& json, const char* key, int64_t value) {
  json.key(key);
  // Beyond 2^53 a JSON number would be rounded on its way.
  if (value > kExact || value < -kExact) json.value(std::to_string(value));
  else json.integer(value);
}

void put_real(JsonWriter& json, double value) { json.number(value, value == std::floor(value) ? 0 : 6); }

void put_text(JsonWriter& json, const char* key, const std::string& text) { json.key(key).value(text); }
void put_known(JsonWriter& json, const char* key, const std::string& text) {
  if (!text.empty()) put_text(json, key, text);
}
void put_known(JsonWriter& json, const char* key, const std::optional<int64_t>& value) {
  if (value) put_integer(json, key, *value);
}
void put_time(JsonWriter& json, const char* key, const std::optional<int64_t>& time_ns) {
  if (time_ns) json.key(key).value(rfc3339_us(*time_ns));
}

void put_disks(JsonWriter& json, const std::vector<Disk>& disks) {
  if (disks.empty()) return;  // an empty REPEATED field is left out
  json.key("disk_mounts").array();
  for (const Disk& disk : disks) json.value(disk.mount);
  json.end_array().key("disk_total_gb").array();
  for (const Disk& disk : disks) put_real(json, disk.size_gb);
  json.end_array().key("disk_types").array();
  for (const Disk& disk : disks) json.value(disk.type);
  json.end_array();
}

std::string input_json(const Input& input) {
  Writer out(256);
  JsonWriter json(out);
  json.object();
  put_text(json, "key", input.key);
  json.key("type").value(input_type_name(input.type)).key("value");
  if (input.type == InputType::null || (input.type == InputType::file && !input.size_bytes)) json.null();
  else if (input.type == InputType::file) json.value(input_gigabytes(*input.size_bytes));
  else json.value(input.value);
  put_known(json, "size_bytes", input.size_bytes);
  json.end_object();
  return std::string(out.view());
}

// Known sizes together; nothing when there are files and none is known.
std::optional<int64_t> size_of(const std::vector<Input>& inputs) {
  int64_t sum = 0;
  bool files = false, known = false;
  for (const Input& input : inputs) {
    files |= input.type == InputType::file;
    known |= input.size_bytes.has_value();
    sum += input.size_bytes.value_or(0);
  }
  if (files && !known) return std::nullopt;
  return sum;
}

void put_original_columns(JsonWriter& json, const MetadataRow& row) {
  put_text(json, "project_id", row.project_id);
  put_text(json, "zone", row.zone);
  put_text(json, "instance_name", row.instance_name);
  json.key("preemptible").value(row.preemptible);
  put_text(json, "workflow_name", row.workflow_name);
  put_text(json, "workflow_id", row.workflow_id);
  put_text(json, "task_call_name", row.task_call_name);
  put_integer(json, "shard", row.shard);
  put_integer(json, "attempt", row.attempt);
  put_time(json, "start_time", row.start_ns);
  put_time(json, "end_time", row.end_ns);
  put_text(json, "execution_status", row.execution_status);
  put_integer(json, "cpu_count", row.cpu_count);
  json.key("mem_total_gb");  // GiB, as in existing rows
  put_real(json, static_cast<double>(row.memory_bytes.value_or(0)) / kGiB);
  put_disks(json, row.disks);
  put_text(json, "docker_image", row.docker_image);
}

void put_added_columns(JsonWriter& json, const MetadataRow& row) {
  put_known(json, "call_fqn", row.call_fqn);
  put_known(json, "root_workflow_id", row.root_workflow_id);
  put_known(json, "backend", row.backend);
  put_known(json, "machine_type", row.machine_type);
  put_known(json, "mem_total_bytes", row.memory_bytes);
  json.key("end_time_known").value(row.end_time_known);
  json.key("cached").value(row.cached);
  put_known(json, "return_code", row.return_code);
  put_known(json, "job_id", row.job_id);
  put_time(json, "vm_start_time", row.vm_start_ns);
  put_time(json, "vm_end_time", row.vm_end_ns);
  if (row.vm_cost_per_hour) json.key("vm_cost_per_hour").number(*row.vm_cost_per_hour, 9);
  put_known(json, "gpu_count", row.gpu_count);
  put_known(json, "gpu_type", row.gpu_type);
  put_known(json, "inputs_size_bytes", size_of(row.inputs));
}

}  // namespace

std::string rfc3339_us(int64_t realtime_ns) { return format_microseconds(realtime_ns); }

std::string row_json(const MetadataRow& row, size_t most_bytes) {
  Writer out;
  JsonWriter json(out);
  json.object();
  put_original_columns(json, row);
  put_added_columns(json, row);
  // A text of megabytes is made once, without copies of it.
  std::string text(out.view());
  bool truncated = row.inputs_truncated, any = false;
  constexpr size_t kTail = 64;  // the closing members
  for (const Input& input : row.inputs) {
    const std::string one = input_json(input);
    if (text.size() + one.size() + kTail > most_bytes) {
      truncated = true;
      break;
    }
    text.append(any ? "," : ",\"inputs\":[").append(one);
    any = true;
  }
  if (any) text += ']';
  text.append(truncated ? ",\"inputs_truncated\":true}" : ",\"inputs_truncated\":false}");
  text.shrink_to_fit();
  return text;
}

std::string row_insert_id(const MetadataRow& row) {
  std::string id =
      "c-" + bq_hash({row.workflow_id, row.call_fqn, std::to_string(row.shard), std::to_string(row.attempt)});
  if (!is_terminal_call(row.execution_status)) id.append("-").append(row.execution_status, 0, 64);
  return id;
}

size_t row_bytes(const MetadataRow& row) {
  size_t bytes = 1500 + row.job_id.size() + row.docker_image.size() + row.call_fqn.size();
  for (const Input& input : row.inputs) bytes += input.key.size() + input.value.size() + 64;
  for (const Disk& disk : row.disks) bytes += disk.mount.size() + disk.type.size() + 16;
  return bytes;
}

}  // namespace tacho
