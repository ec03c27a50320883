// Usage: what processes consumed, as cumulative sums that can be added. A value type.
#pragma once
#include <algorithm>
#include <cstdint>

namespace tacho {

struct Usage {
  int64_t user_ns = 0, system_ns = 0;
  int64_t major_faults = 0, minor_faults = 0;
  int64_t read_bytes = 0, write_bytes = 0;
  int64_t iowait_ns = 0;
  int64_t read_chars = 0, write_chars = 0, read_calls = 0, write_calls = 0;  // asked of the kernel

  int64_t cpu_ns() const { return user_ns + system_ns; }
  Usage& operator+=(const Usage& other) {
    user_ns += other.user_ns;
    system_ns += other.system_ns;
    major_faults += other.major_faults;
    minor_faults += other.minor_faults;
    read_bytes += other.read_bytes;
    write_bytes += other.write_bytes;
    iowait_ns += other.iowait_ns;
    read_chars += other.read_chars, write_chars += other.write_chars;
    read_calls += other.read_calls, write_calls += other.write_calls;
    return *this;
  }
  Usage& operator-=(const Usage& other) {
    user_ns -= other.user_ns;
    system_ns -= other.system_ns;
    major_faults -= other.major_faults;
    minor_faults -= other.minor_faults;
    read_bytes -= other.read_bytes;
    write_bytes -= other.write_bytes;
    iowait_ns -= other.iowait_ns;
    read_chars -= other.read_chars, write_chars -= other.write_chars;
    read_calls -= other.read_calls, write_calls -= other.write_calls;
    return *this;
  }
  // A clock that does not tell user from system time shows more: divided as the rest is.
  void raise_cpu_to(int64_t all_ns) {
    const int64_t more_ns = all_ns - cpu_ns();
    if (more_ns <= 0) return;
    const double user_share = cpu_ns() > 0 ? static_cast<double>(user_ns) / static_cast<double>(cpu_ns()) : 1;
    const auto more_user_ns = static_cast<int64_t>(static_cast<double>(more_ns) * std::clamp(user_share, 0.0, 1.0));
    user_ns += more_user_ns;
    system_ns += more_ns - more_user_ns;
  }
  // Raised to other wherever that is higher: a cumulative sum never falls.
  void raise_to(const Usage& other) {
    user_ns = std::max(user_ns, other.user_ns);
    system_ns = std::max(system_ns, other.system_ns);
    major_faults = std::max(major_faults, other.major_faults);
    minor_faults = std::max(minor_faults, other.minor_faults);
    read_bytes = std::max(read_bytes, other.read_bytes);
    write_bytes = std::max(write_bytes, other.write_bytes);
    iowait_ns = std::max(iowait_ns, other.iowait_ns);
    read_chars = std::max(read_chars, other.read_chars);
    write_chars = std::max(write_chars, other.write_chars);
    read_calls = std::max(read_calls, other.read_calls);
    write_calls = std::max(write_calls, other.write_calls);
  }
};

}  // namespace tacho
