// From samples in the order of the attempts to what each attempt and each task used. The 95th percentile is exact: the
// least value that 95 % of all do not exceed. Only the values above it are held. Not thread-safe.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "cromwell/analyze_attempts.h"
#include "cromwell/analyze_samples.h"
#include "cromwell/analyze_shares.h"

namespace tacho {

class Percentile95 {
 public:
  // At most so many values will come. Of more than kMostHeld / 5 % of them it tells nothing.
  explicit Percentile95(uint64_t most_values = 0) { restart(most_values); }
  void restart(uint64_t most_values);
  void add(double value);  // NaN counts as no value
  double value() const;    // NaN: no value came
  double largest() const { return count_ == 0 ? kNotKnown : largest_; }

 private:
  static constexpr uint64_t kMostHeld = 1'000'000;
  static uint64_t above(uint64_t count);  // how many are not below the percentile

  uint64_t room_ = 0, count_ = 0;
  double largest_ = 0;
  std::vector<double> held_;  // a heap whose top is the least
};

// Over all samples of all attempts.
struct TaskUsage {
  Percentile95 cores, memory, disk;
};

class UsageFold {
 public:
  explicit UsageFold(AttemptTable& table);
  void take(const TaskSample& sample);
  void finish();
  const TaskUsage* usage_of(uint32_t task) const;
  const UseShares* shares_of(uint32_t task) const;  // null: not counted

 private:
  void close_attempt();
  struct Mean {
    double sum = 0;
    uint64_t count = 0;
    void add(double value) {
      if (is_known(value)) sum += value, ++count;
    }
    double value() const { return count == 0 ? kNotKnown : sum / static_cast<double>(count); }
  };

  AttemptTable& table_;
  static constexpr size_t kMostShares = 5'000;  // tasks, those with the most samples
  void make_shares(const std::map<uint32_t, uint64_t>& samples);

  std::map<uint32_t, TaskUsage> tasks_;
  std::map<uint32_t, UseShares> shares_;
  UseShares* own_shares_ = nullptr;  // of the attempt's task
  CallAttempt* attempt_ = nullptr;
  TaskUsage own_;
  Mean cores_;
  std::vector<Mean> reads_, writes_;
  uint64_t rows_ = 0, skipped_ = 0;
  int64_t first_us_ = 0, last_us_ = 0, last_seq_ = -1;
  uint32_t last_run_ = 0, index_ = 0;
  bool has_seq_ = false;
};

}  // namespace tacho
