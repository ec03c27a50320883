// The unit of a column by its name: a metrics file has nothing else. The same words as the probe table's
// (cli/metrics_test.cc compares). Pure.
#pragma once
#include <string_view>

namespace tacho {

std::string_view unit_of_column(std::string_view column);  // empty: not known

}  // namespace tacho
