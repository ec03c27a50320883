// The columns of devices.csv: each core, disk, interface and GPU by itself. A probe lists the columns of its devices
// once, at the start, and then gives their raw values at every tick in the same order; cells are derived from two ticks
// by pure rules. Not thread-safe; no allocation but for list().
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tacho {

enum class DeviceRule : uint8_t {
  level,          // value × scale, as it is now
  delta,          // (now − before) × scale; a fall counts as 0
  share,          // Δvalue / Δwhole, 0 to 1
  share_of_time,  // Δvalue × scale / seconds, 0 to 1
};

struct DeviceColumn {
  std::string name;
  DeviceRule rule;
  double scale;
  int decimals;
};

struct DeviceValue {
  static constexpr int64_t kAbsentValue = INT64_MIN;
  int64_t value = kAbsentValue;
  int64_t whole = 0;  // of a share
  bool has() const { return value != kAbsentValue; }
};

// kAbsent where one of both was not read. Pure.
double device_cell(const DeviceColumn& column, const DeviceValue& before, const DeviceValue& now, double seconds);

class DeviceTable {
 public:
  // The columns of one probe; where its values are is the answer.
  size_t add(std::vector<DeviceColumn> columns);
  const std::vector<DeviceColumn>& columns() const { return columns_; }

  // All absent, for the values of a new tick. What is absent in it stands as it was: the next difference covers both.
  void begin_tick();
  std::span<DeviceValue> values(size_t first, size_t count) { return std::span(now_).subspan(first, count); }
  // The cells of this tick; the first one has none but levels.
  std::span<const double> cells(double seconds);

 private:
  std::vector<DeviceColumn> columns_;
  std::vector<DeviceValue> before_, now_;
  std::vector<double> cells_;
};

}  // namespace tacho
