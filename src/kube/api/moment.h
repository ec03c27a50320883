// Points in time as Kubernetes writes them. Pure, thread-safe.
#pragma once
#include <cstdint>
#include <string>

namespace tacho {

std::string format_seconds(int64_t realtime_ns);       // 2026-11-15T09:30:00Z, as metav1.Time
std::string format_microseconds(int64_t realtime_ns);  // 2026-11-15T09:30:00.250000Z, as metav1.MicroTime

}  // namespace tacho
