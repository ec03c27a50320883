#include "model/device.h"

#include <algorithm>
#include <iterator>

#include "model/column.h"

namespace tacho {

double device_cell(const DeviceColumn& column, const DeviceValue& before, const DeviceValue& now, double seconds) {
  if (!now.has()) return kAbsent;
  if (column.rule == DeviceRule::level) return static_cast<double>(now.value) * column.scale;
  if (!before.has()) return kAbsent;
  const double added = std::max(0.0, static_cast<double>(now.value) - static_cast<double>(before.value));
  if (column.rule == DeviceRule::delta) return added * column.scale;
  if (column.rule == DeviceRule::share_of_time)
    return seconds > 0 ? std::clamp(added * column.scale / seconds, 0.0, 1.0) : kAbsent;
  const double whole = static_cast<double>(now.whole) - static_cast<double>(before.whole);
  return whole > 0 ? std::clamp(added / whole, 0.0, 1.0) : 0;  // nothing was counted, so nothing busy
}

size_t DeviceTable::add(std::vector<DeviceColumn> columns) {
  const size_t first = columns_.size();
  std::move(columns.begin(), columns.end(), std::back_inserter(columns_));
  before_.resize(columns_.size());
  now_.resize(columns_.size());
  cells_.resize(columns_.size());
  return first;
}

void DeviceTable::begin_tick() {
  for (size_t i = 0; i < now_.size(); ++i) {
    if (now_[i].has()) before_[i] = now_[i];
    now_[i] = {};
  }
}

std::span<const double> DeviceTable::cells(double seconds) {
  for (size_t i = 0; i < columns_.size(); ++i) cells_[i] = device_cell(columns_[i], before_[i], now_[i], seconds);
  return cells_;
}

}  // namespace tacho
