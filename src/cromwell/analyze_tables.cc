#include "cromwell/analyze_tables.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/units.h"

namespace tacho {
namespace {

constexpr size_t kMostDisks = 64, kMostName = 256, kMostFiles = 12;
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

std::string name_of(const TableCell& cell) {
  return cell.kind == JsonReader::Token::string ? harmless_text(valid_utf8(cell.text.substr(0, kMostName))) : "";
}

// More gigabytes, percent or operations than any machine has are no measurement, and would hide all others.
constexpr double kMostAmount = 1e9, kMostBytes = 1e18;

std::optional<double> amount_of(const TableCell& cell, double most = kMostAmount) {
  const auto value = cell.number();
  return value && *value >= 0 && *value <= most ? value : std::nullopt;
}

// Numbers of rows are compared and subtracted.
std::optional<int64_t> row_number_of(const TableCell& cell) {
  const auto value = cell.integer();
  return value && *value >= 0 && *value <= int64_t{1} << 53 ? value : std::nullopt;
}

// 0 stands for unknown in columns that must have a value.
template <class Value>
std::optional<Value> unless_zero(std::optional<Value> value) {
  return value && *value > 0 ? value : std::nullopt;
}

void keep_largest(std::optional<double>& most, const TableCell& cell) {
  const auto value = cell.number();
  if (value && (!most || *value > *most)) most = value;
}

NamedDisk* disk_at(std::vector<NamedDisk>& disks, size_t element) {
  if (element >= kMostDisks) return nullptr;
  if (element >= disks.size()) disks.resize(element + 1);
  return &disks[element];
}

bool take_disk(std::vector<NamedDisk>& disks, std::string_view column, size_t element, const TableCell& cell) {
  if (column != "disk_mounts" && column != "disk_total_gb" && column != "disk_types") return false;
  NamedDisk* const disk = cell.is_null() ? nullptr : disk_at(disks, element);
  if (disk == nullptr) return true;
  if (column == "disk_mounts") disk->mount = name_of(cell);
  else if (column == "disk_types") disk->type = name_of(cell);
  else disk->total_gb = unless_zero(amount_of(cell));
  return true;
}

// "reads[3]" is one of the files of reads.
std::string_view input_name(std::string_view key) { return key.substr(0, key.find_first_of("[.")); }

constexpr auto kRuntimeAsked = std::to_array<std::string_view>(
    {"run_id", "instance_id", "instance_name", "cpu_platform", "start_time", "cpu_count", "mem_total_gb", "disk_mounts",
     "disk_total_gb", "measure_interval_ms", "workflow_id", "task_call_name", "shard", "attempt"});
constexpr auto kMetricsAsked = std::to_array<std::string_view>(
    {"timestamp", "instance_id", "run_id", "seq", "cpu_used_percent", "mem_used_gb", "disk_used_gb", "disk_read_iops",
     "disk_write_iops", "event", "oom_kills", "psi_cpu_some", "psi_mem_some", "psi_io_some", "gpu_used_percent",
     "gpu_mem_used_gb"});
constexpr auto kCallAsked = std::to_array<std::string_view>(
    {"workflow_id",       "task_call_name",  "shard",          "attempt",          "workflow_name", "instance_name",
     "preemptible",       "start_time",      "end_time",       "execution_status", "cpu_count",     "mem_total_gb",
     "disk_mounts",       "disk_total_gb",   "disk_types",     "docker_image",     "inputs",        "mem_total_bytes",
     "vm_start_time",     "vm_end_time",     "end_time_known", "vm_cost_per_hour", "gpu_count",     "cached",
     "inputs_size_bytes", "root_workflow_id"});

}  // namespace

std::span<const std::string_view> runtime_columns() { return kRuntimeAsked; }
std::span<const std::string_view> metrics_columns() { return kMetricsAsked; }
std::span<const std::string_view> call_columns() { return kCallAsked; }

bool AttemptKey::take(std::string_view column, const TableCell& cell) {
  if (column == "workflow_id") workflow_id = name_of(cell);
  else if (column == "task_call_name") call = name_of(cell);
  else if (column == "shard") shard = cell.integer();
  else if (column == "attempt") attempt = cell.integer();
  else return false;
  return true;
}

void RuntimeRow::cell(std::string_view column, size_t element, std::string_view, const TableCell& cell) {
  if (task.take(column, cell) || take_disk(disks, column, element, cell)) return;
  if (column == "run_id") run_id = name_of(cell);
  else if (column == "instance_id") instance_id = cell.integer();
  else if (column == "instance_name") instance_name = name_of(cell);
  else if (column == "cpu_platform") cpu_platform = name_of(cell);
  else if (column == "start_time") start_us = cell.time_us();
  else if (column == "cpu_count") cpu_count = unless_zero(cell.integer());
  else if (column == "mem_total_gb") mem_total_gb = unless_zero(amount_of(cell));
  else if (column == "measure_interval_ms") measure_interval_ms = unless_zero(cell.integer());
}

std::string_view RuntimeRow::lacks() const {
  if (!instance_id && run_id.empty()) return "instance_id";
  if (!start_us) return "start_time";
  return {};
}

void MetricsRow::clear() {
  std::vector<DiskSample> kept = std::move(disks);
  kept.clear();  // keeps the memory
  std::string id = std::move(run_id);
  id.clear();
  *this = {};
  disks = std::move(kept);
  run_id = std::move(id);
}

void MetricsRow::disk(size_t element, double DiskSample::*value, const TableCell& cell) {
  if (element >= kMostDisks) return;
  if (element >= disks.size()) disks.resize(element + 1, {kUnknown, kUnknown, kUnknown});
  disks[element].*value = amount_of(cell).value_or(kUnknown);
}

void MetricsRow::cell(std::string_view column, size_t element, std::string_view, const TableCell& cell) {
  if (cell.is_null()) return;
  if (column == "cpu_used_percent") {
    const auto percent = amount_of(cell);
    if (percent) cpu_percent_sum += *percent, ++cpus;
  } else if (column == "timestamp") {
    time_us = cell.time_us();
  } else if (column == "instance_id") {
    instance_id = cell.integer();
  } else if (column == "run_id") {
    if (cell.kind == JsonReader::Token::string) run_id.assign(cell.text.substr(0, kMostName));
  } else if (column == "seq") {
    seq = row_number_of(cell);
  } else if (column == "mem_used_gb") {
    mem_used_gb = amount_of(cell);
  } else if (column == "disk_used_gb") {
    disk(element, &DiskSample::used_gb, cell);
  } else if (column == "disk_read_iops") {
    disk(element, &DiskSample::read_iops, cell);
  } else if (column == "disk_write_iops") {
    disk(element, &DiskSample::write_iops, cell);
  } else if (column == "event") {
    preempted = cell.text == "preempted";
  } else if (column == "oom_kills") {
    oom_kills = cell.integer();
  } else if (column == "psi_cpu_some") {
    psi_cpu = cell.number();
  } else if (column == "psi_mem_some") {
    psi_memory = cell.number();
  } else if (column == "psi_io_some") {
    psi_io = cell.number();
  } else if (column == "gpu_used_percent") {
    keep_largest(gpu_percent, cell);
  } else if (column == "gpu_mem_used_gb") {
    keep_largest(gpu_memory_gb, cell);
  }
}

std::string_view MetricsRow::lacks() const {
  if (!time_us) return "timestamp";
  if (!instance_id && run_id.empty()) return "instance_id";
  return {};
}

void CallRow::cell(std::string_view column, size_t element, std::string_view member, const TableCell& cell) {
  if (column == "inputs") return input(element, member, cell);
  if (task.take(column, cell) || take_disk(disks, column, element, cell)) return;
  if (column == "workflow_name") workflow_name = name_of(cell);
  else if (column == "root_workflow_id") root_workflow = name_of(cell);
  else if (column == "instance_name") instance_name = name_of(cell);
  else if (column == "execution_status") status = name_of(cell);
  else if (column == "docker_image") image = name_of(cell);
  else if (column == "preemptible") preemptible = cell.flag();
  else if (column == "cached") cached = cell.flag();
  else if (column == "end_time_known") end_known = cell.flag();
  else if (column == "start_time") start_us = cell.time_us();
  else if (column == "end_time") end_us = cell.time_us();
  else if (column == "vm_start_time") vm_start_us = cell.time_us();
  else if (column == "vm_end_time") vm_end_us = cell.time_us();
  else if (column == "cpu_count") cpu_count = unless_zero(cell.integer());
  else if (column == "mem_total_gb") mem_total_gib = unless_zero(amount_of(cell));
  else if (column == "mem_total_bytes") mem_total_bytes = unless_zero(cell.integer());
  else if (column == "vm_cost_per_hour") vm_cost_per_hour = amount_of(cell);
  else if (column == "gpu_count") gpu_count = cell.integer();
  else if (column == "inputs_size_bytes") inputs_size_bytes = cell.integer();
}

void CallRow::input(size_t element, std::string_view member, const TableCell& cell) {
  if (open_.any && open_.element != element) finish();
  open_.any = true;
  open_.element = element;
  if (member == "key") open_.key = name_of(cell);
  else if (member == "type") open_.is_file = cell.text == "file";
  else if (member == "value") open_.value_gb = amount_of(cell);
  else if (member == "size_bytes")
    if (const auto bytes = amount_of(cell, kMostBytes)) open_.size_gb = *bytes * kBytesToGb;
}

void CallRow::finish() {
  if (open_.any && open_.is_file) {
    const auto size = open_.size_gb ? open_.size_gb : open_.value_gb;
    known_gb += size.value_or(0);
    ++(size ? known_files : unknown_files);
    const std::string name(input_name(open_.key));
    if (files.size() < kMostFiles && !name.empty() && std::find(files.begin(), files.end(), name) == files.end())
      files.push_back(name);
  }
  open_ = {};
}

std::string_view CallRow::lacks() const {
  if (!task.is_known()) return task.call.empty() ? "task_call_name" : "workflow_id";
  return {};
}

std::optional<double> CallRow::input_gb() const {
  if (inputs_size_bytes && *inputs_size_bytes >= 0) return static_cast<double>(*inputs_size_bytes) * kBytesToGb;
  if (known_files == 0 && unknown_files > 0) return std::nullopt;
  return known_gb;
}

}  // namespace tacho
