// One row of a trial's observation log, as it is reported and stored. Plain data.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "katib/model/time_stamp.h"

namespace tacho {

struct MetricRow {
  TimeStamp time_stamp;
  std::string name, value;
  std::optional<int64_t> step, epoch;  // kept inside tacho: the table has no such column
};

// The same where it stands: for whoever looks at a row and lets it go. What it shows outlives it.
struct RowView {
  RowView() = default;
  RowView(const TimeStamp& time, std::string_view of, std::string_view is, std::optional<int64_t> in_step = {},
          std::optional<int64_t> in_epoch = {})
      : RowView(time.text(), time.us(), of, is, in_step, in_epoch) {}
  RowView(std::string_view time, std::optional<int64_t> time_us, std::string_view of, std::string_view is,
          std::optional<int64_t> in_step = {}, std::optional<int64_t> in_epoch = {})
      : time_stamp(time), name(of), value(is), us(time_us), step(in_step), epoch(in_epoch) {}
  RowView(const MetricRow& row) : RowView(row.time_stamp, row.name, row.value, row.step, row.epoch) {}
  operator MetricRow() const { return {TimeStamp(time_stamp, us), std::string(name), std::string(value), step, epoch}; }

  std::string_view time_stamp, name, value;
  std::optional<int64_t> us;  // what the time stamp means
  std::optional<int64_t> step, epoch;
};

}  // namespace tacho
