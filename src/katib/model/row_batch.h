// Many rows in little room, on their way from a source to the database: texts stand one behind the other, names and
// times that repeat are there once. A row takes a quarter of what it takes as a MetricRow, and no memory of its own.
// Plain data; not thread-safe.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "katib/model/row.h"

namespace tacho {

class RowBatch {
 public:
  RowBatch() = default;
  RowBatch(const std::vector<MetricRow>& rows);
  RowBatch(std::initializer_list<MetricRow> rows) : RowBatch(std::vector<MetricRow>(rows)) {}

  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  // Good until the batch changes.
  RowView operator[](size_t number) const;
  // All different, in the order in which they came; how many rows have one now, and which one a row has.
  const std::vector<std::string>& names() const { return names_; }
  size_t rows_of_name(size_t name) const { return rows_of_name_[name]; }
  size_t name_of(size_t number) const { return entries_[number].name; }
  std::string_view value_of(size_t number) const;
  std::optional<int64_t> us_of(size_t number) const;

  void reserve(size_t rows) { entries_.reserve(rows); }
  // The row is none of this batch.
  void add(const RowView& row);
  void replace(size_t number, const RowView& row);
  void set_time(size_t number, const TimeStamp& time);
  // Calls `keep(number)` for each row, from the first to the last; the others go. It may change that row.
  template <class Keep>
  void keep_if(const Keep& keep);
  // Rows [first, end), all of which have a step, in its order; equal ones stay as they are.
  void sort_by_step(size_t first, size_t end);

 private:
  static constexpr int64_t kNoTime = INT64_MIN;
  struct Entry {
    int64_t us = kNoTime;
    size_t at = 0;  // in text_: the value, and so many bytes before it the time stamp
    uint32_t time_before = 0, time_size = 0, value_size = 0, name = 0;
  };
  struct Steps {
    std::optional<int64_t> step, epoch;
    bool operator==(const Steps&) const = default;
  };
  Entry put(const RowView& row);
  uint32_t take_name(std::string_view name);
  char* make_room(size_t bytes);
  void set_steps(size_t number, const Steps& steps);

  std::vector<Entry> entries_;
  std::vector<Steps> steps_;  // of each row, where any has some
  std::vector<std::string> names_;
  std::vector<size_t> rows_of_name_;
  std::unique_ptr<char[]> text_;
  size_t text_size_ = 0, text_room_ = 0;
  uint32_t last_name_ = 0;
};

// Some rows of a batch, one behind the other. The batch outlives it and stays as it is.
class RowPart {
 public:
  RowPart(const RowBatch& batch) : RowPart(batch, 0, batch.size()) {}
  RowPart(const RowBatch& batch, size_t first, size_t count) : batch_(&batch), first_(first), count_(count) {}
  size_t size() const { return count_; }
  RowView operator[](size_t number) const { return (*batch_)[first_ + number]; }
  const std::string& name(size_t number) const { return batch_->names()[batch_->name_of(first_ + number)]; }
  std::vector<MetricRow> copies() const;

 private:
  const RowBatch* batch_;
  size_t first_, count_;
};

template <class Keep>
void RowBatch::keep_if(const Keep& keep) {
  size_t kept = 0;
  for (size_t number = 0; number < entries_.size(); ++number) {
    if (!keep(number)) {
      --rows_of_name_[entries_[number].name];
      continue;
    }
    if (kept != number) {
      entries_[kept] = entries_[number];
      if (!steps_.empty()) steps_[kept] = steps_[number];
    }
    ++kept;
  }
  entries_.resize(kept);
  if (!steps_.empty()) steps_.resize(kept);
}

inline std::string_view RowBatch::value_of(size_t number) const {
  const Entry& entry = entries_[number];
  return {text_.get() + entry.at, entry.value_size};
}

inline std::optional<int64_t> RowBatch::us_of(size_t number) const {
  const int64_t us = entries_[number].us;
  return us == kNoTime ? std::nullopt : std::optional(us);
}

inline RowView RowBatch::operator[](size_t number) const {
  const Entry& entry = entries_[number];
  RowView row;
  row.value = value_of(number);
  row.time_stamp = {row.value.data() - entry.time_before, entry.time_size};
  row.name = names_[entry.name];
  row.us = us_of(number);
  if (!steps_.empty()) row.step = steps_[number].step, row.epoch = steps_[number].epoch;
  return row;
}

}  // namespace tacho
