// One workflow over its time: what its attempts used and had asked for, all of them together and the largest by
// themselves, in steps of equal length. An attempt of which nothing is known for ten minutes leaves a hole. Not
// thread-safe.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cromwell/analyze_attempts.h"
#include "cromwell/analyze_fit.h"
#include "cromwell/analyze_samples.h"

namespace tacho {

// From the first sample to the last.
struct SeriesSpan {
  int64_t from_us = INT64_MAX, to_us = INT64_MIN;
  void add(int64_t time_us);
  bool is_empty() const { return from_us > to_us; }
};

class WorkflowSeries {
 public:
  static constexpr size_t kSteps = 240, kMostLines = 30;
  using Values = std::array<std::vector<float>, 3>;  // by resource: cores, GB, GB; NaN: nothing known

  struct Line {
    uint32_t attempt = 0;
    Values used;
  };

  // Attempts must know how many samples they have.
  WorkflowSeries(const AttemptTable& table, const SeriesSpan& span);
  // In the order of attempts and of time.
  void take(const TaskSample& sample);
  void finish();

  std::string start() const;  // 2026-11-15T09:30:00.250Z
  int64_t step_us() const { return step_us_; }
  size_t steps() const { return steps_; }
  const Values& used() const { return used_; }    // of all attempts together
  const Values& asked() const { return asked_; }  // by those that were at work
  const std::vector<Line>& lines() const { return lines_; }

 private:
  struct Step {
    double cores = 0;
    uint64_t samples = 0;
    double memory = kNotKnown, disk = kNotKnown;
  };
  void choose_lines();
  size_t step_of(int64_t time_us) const;
  void add(const TaskSample& sample);
  void close_step();
  void close_attempt();

  const AttemptTable* table_;
  int64_t from_us_ = 0, step_us_ = 0;
  size_t steps_ = 0;
  uint64_t sure_above_ = 0;  // an attempt with more samples has a line
  size_t room_ = 0;          // for so many that have just as many
  Values used_, asked_;
  std::vector<Line> lines_;
  std::optional<Line> open_;  // the attempt that is being read
  Step step_;
  size_t at_ = 0, first_ = 0;
  int64_t last_us_ = 0;
  bool wants_line_ = false;
};

// "Over time" of the page: three plots.
std::string series_section(const WorkflowSeries& series, const AttemptTable& table);

}  // namespace tacho
