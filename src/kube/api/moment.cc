#include "kube/api/moment.h"

#include <chrono>
#include <cstdio>

namespace tacho {

std::string format_microseconds(int64_t realtime_ns) {
  using namespace std::chrono;
  const sys_time<nanoseconds> time{nanoseconds{realtime_ns}};
  const auto day = floor<days>(time);
  const year_month_day date{day};
  const hh_mm_ss clock{floor<microseconds>(time - day)};
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%06dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  return text;
}

std::string format_seconds(int64_t realtime_ns) { return format_microseconds(realtime_ns).substr(0, 19) + "Z"; }

}  // namespace tacho
