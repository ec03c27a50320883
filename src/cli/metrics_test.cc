#include "cli/metrics.h"

#include <gtest/gtest.h>

#include "probe/all_metrics.h"
#include "report/column_units.h"

namespace tacho {
namespace {

// The page has nothing but a column's name to tell its unit by.
TEST(Metrics, ThePageSaysTheUnitsOfTheTable) {
  for (const Metric& metric : all_metrics())
    EXPECT_EQ(unit_of_column(metric.column->name), metric.column->unit) << metric.column->name;
}

}  // namespace
}  // namespace tacho
