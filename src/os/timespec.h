// The kernel's points in time as ours: nanoseconds in one number. Pure.
#pragma once
#include <cstdint>
#include <ctime>

#include "base/units.h"

namespace tacho {

constexpr int64_t as_ns(const timespec& time) { return int64_t{time.tv_sec} * kNsPerSec + time.tv_nsec; }

}  // namespace tacho
