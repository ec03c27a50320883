// One row of a trial's observation log, as it is reported and stored. Plain data.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace tacho {

struct MetricRow {
  std::string time_stamp;  // RFC 3339
  std::string name, value;
  std::optional<int64_t> step, epoch;  // kept inside tacho: the table has no such column
};

}  // namespace tacho
