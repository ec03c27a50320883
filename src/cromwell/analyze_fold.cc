#include "cromwell/analyze_fold.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace tacho {

uint64_t Percentile95::above(uint64_t count) {
  return count - static_cast<uint64_t>(std::ceil(0.95 * static_cast<double>(count))) + 1;
}

void Percentile95::restart(uint64_t most_values) {
  room_ = most_values == 0 ? 0 : above(most_values);
  if (room_ > kMostHeld) room_ = 0;
  count_ = 0;
  held_.clear();
}

void Percentile95::add(double value) {
  if (!is_known(value)) return;
  largest_ = count_ == 0 ? value : std::max(largest_, value);
  ++count_;
  if (held_.size() < room_) {
    held_.push_back(value);
    std::push_heap(held_.begin(), held_.end(), std::greater<>());
  } else if (!held_.empty() && value > held_.front()) {
    std::pop_heap(held_.begin(), held_.end(), std::greater<>());
    held_.back() = value;
    std::push_heap(held_.begin(), held_.end(), std::greater<>());
  }
}

double Percentile95::value() const {
  if (count_ == 0 || held_.empty()) return kNotKnown;
  std::vector<double> sorted = held_;
  const auto place = sorted.begin() + static_cast<int64_t>(std::min<uint64_t>(above(count_), sorted.size()) - 1);
  std::nth_element(sorted.begin(), place, sorted.end(), std::greater<>());
  return *place;
}

UsageFold::UsageFold(AttemptTable& table) : table_(table) {
  std::map<uint32_t, uint64_t> samples;
  for (const CallAttempt& attempt : table.attempts()) samples[attempt.task] += attempt.samples;
  for (const auto& [task, count] : samples) {
    TaskUsage& usage = tasks_[task];
    for (Percentile95* of : {&usage.cores, &usage.memory, &usage.disk}) of->restart(count);
  }
  make_shares(samples);
}

void UsageFold::make_shares(const std::map<uint32_t, uint64_t>& samples) {
  std::vector<std::pair<uint64_t, uint32_t>> tasks;
  for (const auto& [task, count] : samples)
    if (count > 0) tasks.emplace_back(count, task);
  std::sort(tasks.begin(), tasks.end(), std::greater<>());
  if (tasks.size() > kMostShares) tasks.resize(kMostShares);
  for (const auto& [count, task] : tasks) shares_[task];
}

const UseShares* UsageFold::shares_of(uint32_t task) const {
  const auto found = shares_.find(task);
  return found == shares_.end() ? nullptr : &found->second;
}

const TaskUsage* UsageFold::usage_of(uint32_t task) const {
  const auto found = tasks_.find(task);
  return found == tasks_.end() ? nullptr : &found->second;
}

void UsageFold::take(const TaskSample& sample) {
  if (attempt_ == nullptr || index_ != sample.attempt) {
    close_attempt();
    index_ = sample.attempt;
    attempt_ = &table_.attempts()[sample.attempt];
    for (Percentile95* of : {&own_.cores, &own_.memory, &own_.disk}) of->restart(attempt_->samples);
    first_us_ = sample.time_us;
    const auto shares = shares_.find(attempt_->task);
    own_shares_ = shares == shares_.end() ? nullptr : &shares->second;
  } else if (sample.seq >= 0 && sample.run == last_run_ && sample.seq > last_seq_ + 1) {
    skipped_ += static_cast<uint64_t>(sample.seq - last_seq_ - 1);
  }
  ++rows_;
  has_seq_ |= sample.seq >= 0;
  last_us_ = sample.time_us;
  last_seq_ = sample.seq;
  last_run_ = sample.run;
  cores_.add(sample.cores);
  TaskUsage& task = tasks_[attempt_->task];
  for (TaskUsage* usage : {&own_, &task}) usage->cores.add(sample.cores), usage->memory.add(sample.memory_gb);
  if (own_shares_ != nullptr) {
    own_shares_->add(Resource::cpu, sample.cores, attempt_->cpus);
    own_shares_->add(Resource::memory, sample.memory_gb, attempt_->memory_gb);
    if (attempt_->working < sample.disks.size())
      own_shares_->add(Resource::disk, sample.disks[attempt_->working].used_gb, attempt_->disk_requested());
  }
  if (sample.disks.size() > attempt_->disks.size()) attempt_->disks.resize(sample.disks.size());
  if (reads_.size() < sample.disks.size()) reads_.resize(sample.disks.size()), writes_.resize(sample.disks.size());
  for (size_t i = 0; i < sample.disks.size(); ++i) {
    const DiskSample& disk = sample.disks[i];
    DiskUse& use = attempt_->disks[i];
    if (is_known(disk.used_gb) && !(use.peak_gb >= disk.used_gb)) use.peak_gb = disk.used_gb;
    reads_[i].add(disk.read_iops);
    writes_[i].add(disk.write_iops);
    if (i == attempt_->working) own_.disk.add(disk.used_gb), task.disk.add(disk.used_gb);
  }
}

void UsageFold::close_attempt() {
  if (attempt_ == nullptr) return;
  CallAttempt& attempt = *attempt_;
  attempt.samples = rows_;
  attempt.measured_s = static_cast<double>(last_us_ - first_us_) * 1e-6;
  attempt.cores_mean = cores_.value();
  attempt.cores_p95 = own_.cores.value();
  attempt.cores_max = own_.cores.largest();
  attempt.memory_p95 = own_.memory.value();
  attempt.memory_peak = own_.memory.largest();
  attempt.disk_p95 = own_.disk.value();
  for (size_t i = 0; i < reads_.size() && i < attempt.disks.size(); ++i) {
    attempt.disks[i].read_iops = reads_[i].value();
    attempt.disks[i].write_iops = writes_[i].value();
  }
  if (has_seq_) {
    attempt.missing_rows = static_cast<int64_t>(skipped_);
  } else if (attempt.interval_ms > 0) {
    const auto expected = std::llround(attempt.measured_s * 1e3 / attempt.interval_ms) + 1;
    attempt.missing_rows = std::max<int64_t>(0, expected - static_cast<int64_t>(rows_));
  }
  attempt_ = nullptr;
  cores_ = {};
  reads_.clear();
  writes_.clear();
  rows_ = skipped_ = 0;
  last_seq_ = -1;
  has_seq_ = false;
}

void UsageFold::finish() { close_attempt(); }

}  // namespace tacho
