// A number as a time stamp in a JSON log. Pure.
#pragma once
#include <optional>
#include <string_view>

#include "katib/model/time_stamp.h"

namespace tacho {

// The existing collector's rule: the double in its shortest plain notation; digits before the point are seconds, those
// behind it an integer count of nanoseconds: 1638422847.5 is 2021-12-02T05:27:27.000000005Z.
std::optional<TimeStamp> json_time_by_digits(std::string_view number);
// The number as it is written, cut to nanoseconds: 1638422847.5 is 2021-12-02T05:27:27.5Z.
std::optional<TimeStamp> json_time_exact(std::string_view number);

}  // namespace tacho
