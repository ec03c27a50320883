#include "cromwell/analyze_series.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/time_text.h"
#include "base/units.h"

namespace tacho {
namespace {

constexpr int64_t kSecondUs = 1'000'000, kLongestGapUs = 600 * kSecondUs;

WorkflowSeries::Values empty_values(size_t steps) {
  const std::vector<float> nothing(steps, NAN);
  return {nothing, nothing, nothing};
}

void add_to(float& sum, double value) {
  if (is_known(value)) sum = static_cast<float>((std::isnan(sum) ? 0 : sum) + value);
}

}  // namespace

void SeriesSpan::add(int64_t time_us) {
  from_us = std::min(from_us, time_us);
  to_us = std::max(to_us, time_us);
}

WorkflowSeries::WorkflowSeries(const AttemptTable& table, const SeriesSpan& span) : table_(&table) {
  if (!span.is_empty()) from_us_ = span.from_us;
  const int64_t length_us = span.is_empty() ? 0 : span.to_us - span.from_us;
  step_us_ = std::max<int64_t>(1, length_us / static_cast<int64_t>(kSteps) / kSecondUs + 1) * kSecondUs;
  steps_ = static_cast<size_t>(length_us / step_us_) + 1;
  used_ = asked_ = empty_values(steps_);
  choose_lines();
}

void WorkflowSeries::choose_lines() {
  std::vector<uint64_t> samples;
  for (const CallAttempt& attempt : table_->attempts()) samples.push_back(attempt.samples);
  if (samples.size() <= kMostLines) return;
  std::nth_element(samples.begin(), samples.begin() + kMostLines, samples.end(), std::greater<>());
  sure_above_ = samples[kMostLines];
  room_ = kMostLines - static_cast<size_t>(std::count_if(samples.begin(), samples.begin() + kMostLines,
                                                         [&](uint64_t count) { return count > sure_above_; }));
}

std::string WorkflowSeries::start() const {
  constexpr int64_t kMostUs = INT64_MAX / kNsPerUs;  // a table may have times of any year
  return std::string(IsoTime(std::clamp(from_us_, -kMostUs, kMostUs) * kNsPerUs).view());
}

size_t WorkflowSeries::step_of(int64_t time_us) const {
  return std::min(steps_ - 1, static_cast<size_t>(std::max<int64_t>(0, time_us - from_us_) / step_us_));
}

void WorkflowSeries::take(const TaskSample& sample) {
  const size_t at = step_of(sample.time_us);
  if (!open_ || open_->attempt != sample.attempt) {
    close_attempt();
    open_ = Line{sample.attempt, empty_values(steps_)};
    at_ = first_ = at;
    const uint64_t samples = table_->attempts()[sample.attempt].samples;
    wants_line_ = samples > sure_above_ || (samples == sure_above_ && room_ > 0);
    if (samples == sure_above_ && room_ > 0) --room_;
  } else if (at != at_) {
    close_step();
    // A step is shorter than what lies between two samples: what the later one says of that time.
    if (sample.time_us - last_us_ <= kLongestGapUs)
      for (size_t hole = at_ + 1; hole < at; ++hole) {
        at_ = hole;
        add(sample);
        close_step();
      }
    at_ = at;
  }
  last_us_ = sample.time_us;
  add(sample);
}

void WorkflowSeries::add(const TaskSample& sample) {
  if (is_known(sample.cores)) step_.cores += sample.cores, ++step_.samples;
  step_.memory = std::fmax(step_.memory, sample.memory_gb);
  const size_t working = table_->attempts()[sample.attempt].working;
  if (working < sample.disks.size()) step_.disk = std::fmax(step_.disk, sample.disks[working].used_gb);
}

void WorkflowSeries::close_step() {
  const auto put = [&](Resource resource, double value) {
    open_->used[static_cast<size_t>(resource)][at_] = static_cast<float>(value);
  };
  put(Resource::cpu, step_.samples == 0 ? kNotKnown : step_.cores / static_cast<double>(step_.samples));
  put(Resource::memory, step_.memory);
  put(Resource::disk, step_.disk);
  step_ = {};
}

void WorkflowSeries::close_attempt() {
  if (!open_) return;
  close_step();
  const CallAttempt& attempt = table_->attempts()[open_->attempt];
  const std::array<double, 3> asked = {attempt.cpus, attempt.memory_gb, attempt.disk_requested()};
  for (size_t resource = 0; resource < used_.size(); ++resource) {
    for (size_t at = first_; at <= at_; ++at) {
      add_to(used_[resource][at], open_->used[resource][at]);
      add_to(asked_[resource][at], asked[resource]);
    }
  }
  if (wants_line_) lines_.push_back(std::move(*open_));
  open_.reset();
}

void WorkflowSeries::finish() { close_attempt(); }

}  // namespace tacho
