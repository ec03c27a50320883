// Numbers as Go's strconv.ParseFloat reads them, which decides what counts as a metric's value: 1, -1.5e3, .5, 0x1p-2,
// 1_000, inf, Infinity, NaN in any case. Pure, thread-safe.
#pragma once
#include <optional>
#include <string_view>

namespace tacho {

// Nothing when Go gives an error: bad syntax, or a magnitude beyond double.
std::optional<double> parse_go_float(std::string_view text);

}  // namespace tacho
