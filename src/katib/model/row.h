// One row of a trial's observation log, as it is reported and stored. Plain data.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "katib/model/time_stamp.h"

namespace tacho {

struct MetricRow {
  TimeStamp time_stamp;
  std::string name, value;
  std::optional<int64_t> step, epoch;  // kept inside tacho: the table has no such column
};

}  // namespace tacho
