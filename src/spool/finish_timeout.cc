#include "spool/finish_timeout.h"

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "os/environment.h"

namespace tacho {

std::optional<int64_t> finish_timeout_ns() {
  constexpr double kDay_s = 86'400;
  const auto seconds = parse_double(environment(kFinishTimeoutVariable));
  if (!seconds || *seconds < 0) return std::nullopt;
  return static_cast<int64_t>(std::min(*seconds, kDay_s) * kNsPerSec);
}

}  // namespace tacho
