#include "cromwell/row.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include "base/log.h"
#include "base/path.h"
#include "base/text.h"
#include "base/time_text.h"
#include "base/units.h"
#include "cromwell/machine.h"
#include "cromwell/row_json.h"

namespace tacho {
namespace {

template <size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

constexpr std::array<std::string_view, 4> kEnded = {"Done", "Failed", "RetryableFailure", "Aborted"};
constexpr std::array<std::string_view, 2> kAtWork = {"Running", "Aborting"};

std::optional<int64_t> time_ns(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto time = parse_iso_date_ns(text);
  if (!time) log::warn("a time in the metadata cannot be read and counts as missing: " + text.substr(0, 60));
  return time;
}

std::optional<int64_t> first_time(std::initializer_list<const std::string*> texts) {
  for (const std::string* text : texts)
    if (const auto time = time_ns(*text)) return time;
  return std::nullopt;
}

// The name that the rows have: jes and gcpBatch are Cromwell's own member names; others go by what they are called.
std::string backend_of(const Call& call) {
  if (call.has_batch) return "gcpBatch";
  if (call.has_jes) return "jes";
  const std::string word = lower(call.backend);
  if (word.find("batch") != std::string::npos && word.find("aws") == std::string::npos) return "gcpBatch";
  if (word.starts_with("papi") || word == "jes") return "jes";
  return call.backend;
}

Fate fate_of(const Call& call, std::string_view backend, const RowOptions& options) {
  if (call.has_sub_workflow || !call.sub_workflow_id.empty()) return Fate::sub_workflow;
  if (call.cache_hit.value_or(false) || call.status == "Bypassed") return Fate::cached;
  if (is_one_of(call.status, kAtWork)) {
    if (!options.allow_running) return Fate::running;
  } else if (!is_one_of(call.status, kEnded)) {
    return Fate::not_started;
  }
  if (backend == "jes" || backend == "gcpBatch") return Fate::row;
  if (!call.has_attributes && backend.empty()) return Fate::not_started;  // failed before it got anywhere
  return options.all_backends ? Fate::row : Fate::other_backend;
}

Error bad_number(const char* what, const MaybeInteger& number) {
  return {Code::invalid, std::string(what) + " is no integer", number.unreadable, "this call is left out"};
}

void set_machine(const Call& call, std::string_view backend, MetadataRow& row) {
  row.machine_type = last_part(call.machine_type);
  const bool batch = backend == "gcpBatch";
  if (row.machine_type.empty() && batch) row.machine_type = last_part(trim(call.predefined_machine_type));
  const auto cpus = parse_cpus(call.cpu);
  const auto memory = parse_memory_bytes(call.memory);
  if (!call.cpu.empty() && !cpus) log::warn("a number of CPUs cannot be read: " + call.cpu.substr(0, 60));
  if (!call.memory.empty() && !memory) log::warn("an amount of memory cannot be read: " + call.memory.substr(0, 60));
  if (const auto machine = machine_of_type(row.machine_type)) {
    row.cpu_count = machine->cpus;
    row.memory_bytes = machine->memory_bytes;
  } else if (batch && row.machine_type.empty() && cpus && memory) {
    const Machine shape = batch_shape(*cpus, *memory, call.cpu_platform);
    row.cpu_count = shape.cpus;
    row.memory_bytes = shape.memory_bytes;
  } else {
    row.cpu_count = cpus.value_or(0);
    row.memory_bytes = memory;
  }
}

std::string local_mount(std::string_view backend) {
  if (backend == "gcpBatch") return "/mnt/disks/cromwell_root";
  return backend == "jes" ? "/cromwell_root" : "local-disk";
}

bool is_preemptible(const Call& call, int64_t attempt) {
  if (call.preemptible) return *call.preemptible;
  // The attribute says how many attempts may be preemptible; they are the first ones.
  const auto most = parse_int<int64_t>(trim(call.max_preemptible));
  if (most) return attempt >= 1 && attempt <= *most;
  return call.max_preemptible.empty() ? false : parse_bool(call.max_preemptible).value_or(false);
}

bool set_times(const Call& call, const WorkflowHead& workflow, MetadataRow& row) {
  const auto start = first_time({&call.start, &call.vm_start, &call.end, &workflow.start});
  if (!start) return false;
  row.start_ns = *start;
  const auto end = time_ns(call.end);
  const auto later = end ? end : first_time({&call.vm_end, &workflow.end});
  row.end_ns = later.value_or(*start);
  row.end_time_known = end.has_value();
  row.vm_start_ns = time_ns(call.vm_start);
  row.vm_end_ns = time_ns(call.vm_end);
  return true;
}

// What lies beyond the size of a row however short it is written need not be held until the row is. Files are: their
// sizes are summed up.
bool drop_what_cannot_fit(std::vector<CallInput>& inputs) {
  const auto is_file = [](const CallInput& input) { return input.type == InputType::file; };
  size_t bytes = 0;
  const auto beyond = std::find_if(inputs.begin(), inputs.end(), [&](const CallInput& input) {
    bytes += input.key.size() + (is_file(input) ? 0 : input.value.size());
    return bytes > kMostRowBytes;
  });
  if (beyond == inputs.end()) return false;
  inputs.erase(std::remove_if(beyond, inputs.end(), std::not_fn(is_file)), inputs.end());
  return true;
}

// By the bytes of the key; of members that stand twice the last one counts.
void sort_inputs(std::vector<CallInput>& inputs) {
  if (std::is_sorted(inputs.begin(), inputs.end(),
                     [](const CallInput& a, const CallInput& b) { return a.key <= b.key; }))
    return;
  std::reverse(inputs.begin(), inputs.end());
  std::stable_sort(inputs.begin(), inputs.end(), [](const CallInput& a, const CallInput& b) { return a.key < b.key; });
  inputs.erase(
      std::unique(inputs.begin(), inputs.end(), [](const CallInput& a, const CallInput& b) { return a.key == b.key; }),
      inputs.end());
}

}  // namespace

bool is_terminal_call(std::string_view status) {
  return is_one_of(status, kEnded) || status == "Bypassed" || status == "Unstartable";
}

bool is_terminal_workflow(std::string_view status) {
  constexpr std::array<std::string_view, 3> kOver = {"Succeeded", "Failed", "Aborted"};
  return is_one_of(status, kOver);
}

std::vector<Disk> parse_disks(std::string_view text, std::string_view local_mount) {
  std::vector<Disk> disks;
  bool told = false;  // once a call: thousands of entries may be as bad
  for (const std::string_view entry : split(text, ',')) {
    std::vector<std::string_view> words;
    for (size_t at = 0; at < entry.size();) {
      const size_t from = entry.find_first_not_of(" \t\r\n", at);
      if (from == std::string_view::npos) break;
      at = std::min(entry.find_first_of(" \t\r\n", from), entry.size());
      words.push_back(entry.substr(from, at - from));
    }
    if (words.empty()) continue;
    const auto size = words.size() == 3 ? parse_double(words[1]) : std::nullopt;
    if (!size || *size < 0) {
      if (!std::exchange(told, true))
        log::warn("an entry of disks is left out, because it is not \"MOUNT SIZE TYPE\": " +
                  std::string(trim(entry).substr(0, 100)));
      continue;
    }
    Disk disk{std::string(words[0] == "local-disk" ? local_mount : words[0]), *size, std::string(words[2])};
    if (disk.type == "LOCAL")
      disk.size_gb = std::max(1.0, std::ceil(*size / 375)) * 375;  // local disks come in one size
    disks.push_back(std::move(disk));
  }
  return disks;
}

Result<Fate> make_row(Call& call, const WorkflowHead& workflow, const std::string& root_id, const RowOptions& options,
                      MetadataRow& row) {
  std::string backend = backend_of(call);
  const Fate fate = fate_of(call, backend, options);
  if (fate == Fate::sub_workflow) return fate;
  const bool cached = fate == Fate::cached || fate == Fate::not_started;
  if (fate != Fate::row && !(cached && options.include_cached)) return fate;
  if (!call.shard.unreadable.empty()) return bad_number("shardIndex", call.shard);
  if (!call.attempt.unreadable.empty()) return bad_number("attempt", call.attempt);
  row = MetadataRow();
  if (!set_times(call, workflow, row)) return Fate::no_time;
  row.cached = cached;
  row.shard = call.shard.value.value_or(-1);
  row.attempt = call.attempt.value.value_or(0);
  row.preemptible = is_preemptible(call, row.attempt);
  set_machine(call, backend, row);
  row.disks = parse_disks(call.disks, local_mount(backend));
  row.project_id = call.project;
  row.zone = last_part(call.zone);
  row.instance_name = call.instance_name;
  row.workflow_name = workflow.name;
  row.workflow_id = workflow.id;
  row.task_call_name = call.fqn.substr(call.fqn.rfind('.') + 1);
  row.execution_status = call.status;
  row.docker_image = call.docker_image.empty() ? call.docker : call.docker_image;
  row.call_fqn = call.fqn;
  row.root_workflow_id = root_id;
  row.backend = std::move(backend);
  row.return_code = call.return_code;
  row.job_id = call.job_id;
  if (call.vm_cost_per_hour && *call.vm_cost_per_hour >= 0) row.vm_cost_per_hour = call.vm_cost_per_hour;
  row.gpu_count = parse_int<int64_t>(trim(call.gpu_count));
  row.gpu_type = call.gpu_type;
  row.inputs = std::move(call.inputs);
  call.inputs.clear();
  sort_inputs(row.inputs);
  row.inputs_truncated = call.inputs_cut;
  if (drop_what_cannot_fit(row.inputs)) row.inputs_truncated = true;
  return Fate::row;
}

}  // namespace tacho
