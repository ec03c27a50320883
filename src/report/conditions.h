// What tacho compare --fail-if asks: 'memory_peak > +10%', 'time>=30s', 'process_cpu_usage.max < 1.5'. A metric is one
// of compare's or COLUMN.mean|max|sum; a value is a change against the first run, or absolute with a unit that fits the
// metric (none: the metric's own). Pure.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/store/store.h"

namespace tacho {

struct Condition {
  std::string text, metric;
  enum class Operator { greater, less, at_least, at_most } op = Operator::greater;
  bool relative = false;
  double number = 0;  // percent, or an amount
  std::string unit;   // as it was written
};
Result<Condition> parse_condition(std::string_view text);

// A sentence for each of the runs behind the first for which it holds. An error where the metric is not known of one of
// them, is misspelt, or has another unit.
Result<std::vector<std::string>> holding(const Condition& condition, std::span<const StoredRun> runs);

}  // namespace tacho
