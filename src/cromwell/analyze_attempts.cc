#include "cromwell/analyze_attempts.h"

#include <algorithm>

#include "base/units.h"

namespace tacho {
namespace {

constexpr size_t kMostFileNames = 12;

uint64_t hash_of(std::string_view text) { return std::hash<std::string_view>{}(text); }

// 64 bits for so few of them: two alike are not met in practice.
uint64_t task_hash(const AttemptKey& task) {
  std::string text = task.workflow_id;
  text.append(1, '\0').append(task.call).append(1, '\0').append(std::to_string(task.shard.value_or(-1)));
  return hash_of(text.append(1, '\0').append(std::to_string(task.attempt.value_or(1))));
}

CallState state_of(std::string_view status) {
  if (status.empty()) return CallState::unknown;
  if (status == "Done") return CallState::succeeded;
  if (status == "Failed" || status == "RetryableFailure" || status == "Aborted") return CallState::failed;
  return CallState::running;
}

double seconds_between(const std::optional<int64_t>& from_us, const std::optional<int64_t>& to_us) {
  return from_us && to_us && *to_us >= *from_us ? static_cast<double>(*to_us - *from_us) * 1e-6 : kNotKnown;
}

template <class Value>
double known_or_nan(const std::optional<Value>& value) {
  return value ? static_cast<double>(*value) : kNotKnown;
}

int32_t small(const std::optional<int64_t>& value, int32_t otherwise) {
  return value && *value >= INT32_MIN && *value <= INT32_MAX ? static_cast<int32_t>(*value) : otherwise;
}

}  // namespace

bool is_working_mount(std::string_view mount) { return mount == "local-disk" || mount.ends_with("cromwell_root"); }

double CallAttempt::hours() const {
  const double seconds = is_known(machine_s) ? machine_s : is_known(call_s) ? call_s : measured_s;
  return seconds / 3600;
}

uint32_t NameTable::id(std::string_view name) {
  const auto [at, is_new] = ids_.try_emplace(std::string(name), static_cast<uint32_t>(names_.size()));
  if (is_new) names_.push_back(&at->first);
  return at->second;
}

// The attempt of this key, made if need be; kNobody: it is not in the sample.
uint32_t AttemptTable::find_or_add(uint64_t key) {
  if (const auto found = by_key_.find(key); found != by_key_.end()) return found->second;
  if ((key & mask_) == 0 && attempts_.size() >= most_) thin_out();
  if ((key & mask_) != 0) return kNobody;
  const auto at = static_cast<uint32_t>(attempts_.size());
  by_key_[key] = at;
  attempts_.emplace_back().key = key;
  return at;
}

// Every second one goes, by a bit of its key: what comes later is held or left out by the same rule.
void AttemptTable::thin_out() {
  std::vector<uint32_t> moved(attempts_.size(), kNobody);  // where each is now
  NameTable names;
  while (attempts_.size() >= most_ && mask_ != UINT64_MAX) {
    mask_ = mask_ << 1 | 1;
    left_out_ += std::erase_if(attempts_, [&](const CallAttempt& attempt) { return (attempt.key & mask_) != 0; });
  }
  std::unordered_map<uint64_t, uint32_t> by_key;
  for (uint32_t at = 0; at < attempts_.size(); ++at) {
    CallAttempt& attempt = attempts_[at];
    moved[by_key_[attempt.key]] = at;
    by_key[attempt.key] = at;
    for (uint32_t* name :
         {&attempt.task, &attempt.workflow, &attempt.workflow_name, &attempt.status, &attempt.image, &attempt.platform})
      *name = names.id(names_[*name]);
    for (DiskUse& disk : attempt.disks)
      disk.mount = names.id(names_[disk.mount]), disk.type = names.id(names_[disk.type]);
  }
  for (MonitorRun& run : runs_)
    if (run.attempt != kNobody) run.attempt = moved[run.attempt];
  std::erase_if(instances_, [&](const auto& entry) { return !by_key.contains(entry.second); });
  by_key_ = std::move(by_key);
  names_ = std::move(names);
}

void AttemptTable::add(const CallRow& row) {
  if (!only_.empty() && row.task.workflow_id != only_ && row.root_workflow != only_) return;
  const uint64_t key = task_hash(row.task);
  const size_t before = attempts_.size();
  const uint32_t at = find_or_add(key);
  if (at == kNobody) {
    ++left_out_;
    return;
  }
  CallAttempt& attempt = attempts_[at];
  const CallState state = state_of(row.status);
  // Sent again; or a row of while it ran, which the later one replaces.
  const bool again = attempts_.size() == before;
  if (again && !(attempt.state == CallState::running && state != CallState::running)) return;
  attempt.disks.clear();
  attempt.task = names_.id(row.task.call);
  attempt.workflow = names_.id(row.task.workflow_id);
  attempt.workflow_name = names_.id(row.workflow_name);
  attempt.status = names_.id(row.status);
  attempt.image = names_.id(row.image);
  attempt.shard = small(row.task.shard, -1);
  attempt.attempt = small(row.task.attempt, 1);
  attempt.state = state;
  attempt.preemptible = row.preemptible.value_or(false);
  attempt.cpus = known_or_nan(row.cpu_count);
  attempt.gpus = known_or_nan(row.gpu_count);
  attempt.memory_gb = row.mem_total_bytes ? static_cast<double>(*row.mem_total_bytes) * kBytesToGb
                                          : known_or_nan(row.mem_total_gib) * static_cast<double>(kGiB) * kBytesToGb;
  attempt.input_gb = known_or_nan(row.input_gb());
  attempt.some_sizes_unknown = row.unknown_files > 0;
  attempt.cost_per_hour = known_or_nan(row.vm_cost_per_hour);
  if (row.end_known.value_or(true)) attempt.call_s = seconds_between(row.start_us, row.end_us);
  attempt.machine_s = seconds_between(row.vm_start_us, row.vm_end_us);
  attempt.start_us = row.start_us.value_or(0);
  attempt.end_us = row.end_us.value_or(INT64_MAX);
  for (const NamedDisk& disk : row.disks) {
    if (is_working_mount(disk.mount)) attempt.working = static_cast<uint8_t>(attempt.disks.size());
    attempt.disks.push_back({names_.id(disk.mount), names_.id(disk.type), known_or_nan(disk.total_gb)});
  }
  if (!again && !row.instance_name.empty()) instances_.emplace(row.instance_name, key);
  std::vector<std::string>& files = files_[row.task.call];
  for (const std::string& file : row.files)
    if (files.size() < kMostFileNames && std::find(files.begin(), files.end(), file) == files.end())
      files.push_back(file);
}

const std::vector<std::string>& AttemptTable::files_of(uint32_t task) const {
  static const std::vector<std::string> kNone;
  const auto found = files_.find(names_[task]);
  return found == files_.end() ? kNone : found->second;
}

// An instance may have served several attempts: the one during which the monitor started, else the last one before.
uint32_t AttemptTable::by_instance(const RuntimeRow& row) const {
  const CallAttempt* best = nullptr;
  uint32_t found = kNobody;
  const auto [from, to] = instances_.equal_range(row.instance_name);
  for (auto entry = from; entry != to; ++entry) {
    const auto at = by_key_.find(entry->second);
    if (at == by_key_.end()) continue;
    const CallAttempt& attempt = attempts_[at->second];
    const bool inside = *row.start_us >= attempt.start_us && *row.start_us <= attempt.end_us;
    if (best != nullptr && !inside && attempt.start_us <= best->start_us) continue;
    best = &attempt;
    found = at->second;
    if (inside) break;
  }
  return found;
}

uint32_t AttemptTable::attempt_of(const RuntimeRow& row) {
  const bool named = row.task.is_known();
  if (named)
    if (const auto found = by_key_.find(task_hash(row.task)); found != by_key_.end()) return found->second;
  const bool wanted = only_.empty() || row.task.workflow_id == only_;
  if (named && !wanted) return kNobody;
  if (!row.instance_name.empty())
    if (const uint32_t found = by_instance(row); found != kNobody) return found;
  if (!named) return unnamed_ += only_.empty() ? 1 : 0, kNobody;
  const uint32_t at = find_or_add(task_hash(row.task));
  if (at == kNobody) return at;
  CallAttempt& attempt = attempts_[at];
  attempt.task = names_.id(row.task.call);
  attempt.workflow = names_.id(row.task.workflow_id);
  attempt.shard = small(row.task.shard, -1);
  attempt.attempt = small(row.task.attempt, 1);
  attempt.start_us = *row.start_us;
  return at;
}

void AttemptTable::set_machine(CallAttempt& attempt, const RuntimeRow& row) {
  attempt.platform = names_.id(row.cpu_platform);
  attempt.machine_cpus = static_cast<uint32_t>(std::min<int64_t>(row.cpu_count.value_or(0), 1 << 20));
  attempt.interval_ms = static_cast<uint32_t>(std::min<int64_t>(row.measure_interval_ms.value_or(0), INT32_MAX));
  if (!is_known(attempt.cpus)) attempt.cpus = known_or_nan(row.cpu_count);
  if (!is_known(attempt.memory_gb)) attempt.memory_gb = known_or_nan(row.mem_total_gb);
  if (row.disks.empty()) return;
  // Rows of metrics follow the monitor's order of mounts; what was asked for stands beside the same mount.
  const std::vector<DiskUse> asked = std::move(attempt.disks);
  attempt.disks.clear();
  attempt.working = 0;
  for (const NamedDisk& disk : row.disks) {
    const bool working = is_working_mount(disk.mount);
    if (working) attempt.working = static_cast<uint8_t>(attempt.disks.size());
    const auto same = std::find_if(asked.begin(), asked.end(), [&](const DiskUse& other) {
      return names_[other.mount] == disk.mount || (working && is_working_mount(names_[other.mount]));
    });
    const bool known = same != asked.end();
    attempt.disks.push_back({names_.id(disk.mount), known ? same->type : names_.id(disk.type),
                             known ? same->requested_gb : known_or_nan(disk.total_gb)});
  }
}

void AttemptTable::add(const RuntimeRow& row) {
  const uint32_t at = attempt_of(row);
  if (at == kNobody) return;
  set_machine(attempts_[at], row);
  const auto run = static_cast<uint32_t>(runs_.size());
  runs_.push_back({at, *row.start_us});
  if (!row.run_id.empty()) by_run_id_.push_back({hash_of(row.run_id), *row.start_us, run});
  if (row.instance_id) by_instance_id_.push_back({static_cast<uint64_t>(*row.instance_id), *row.start_us, run});
}

void AttemptTable::close() {
  std::sort(by_run_id_.begin(), by_run_id_.end());
  std::sort(by_instance_id_.begin(), by_instance_id_.end());
  by_key_ = {};
  instances_ = {};
}

AttemptTable::Owner AttemptTable::owner_of(const MetricsRow& row) {
  // The last start that is not after the row; a row of before the first one belongs to nobody.
  const auto last_before = [](const std::vector<RunPlace>& places, uint64_t key, int64_t time_us) -> const RunPlace* {
    const auto after = std::upper_bound(places.begin(), places.end(), RunPlace{key, time_us, 0});
    return after != places.begin() && (after - 1)->key == key ? &*(after - 1) : nullptr;
  };
  const RunPlace* place = nullptr;
  if (!row.run_id.empty()) place = last_before(by_run_id_, hash_of(row.run_id), INT64_MAX);
  if (place == nullptr && row.instance_id)
    place = last_before(by_instance_id_, static_cast<uint64_t>(*row.instance_id), *row.time_us);
  if (place == nullptr) return {};
  // A runtime row that was sent twice is one start.
  return {runs_[place->run].attempt, place->run};
}

}  // namespace tacho
