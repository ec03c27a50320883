#include "model/bigquery_row.h"

#include <string>

#include "base/time_text.h"

namespace tacho {

void BqRowWriter::whole(const std::optional<int64_t>& value) {
  constexpr int64_t kLargestExact = int64_t{1} << 53;
  if (!value) return;
  json_.key(name_);
  // Beyond this a double, which many readers make of it, is not exact.
  if (*value > kLargestExact || *value < -kLargestExact) json_.value(std::string_view(std::to_string(*value)));
  else json_.integer(*value);
}

void BqRowWriter::number(const std::optional<double>& value, int decimals) {
  if (!value || !std::isfinite(*value)) return;
  json_.key(name_);
  put(*value, decimals);
}

void BqRowWriter::time(const std::optional<int64_t>& realtime_ns) {
  if (realtime_ns) text(MicroTime(*realtime_ns).view());
}

// 12.5000 is 12.5, and 0.0000 is 0.
void BqRowWriter::put(double value, int decimals) {
  scratch_.clear();
  scratch_.put_fixed(value, decimals);
  std::string_view digits = scratch_.view();
  if (digits.find('.') != std::string_view::npos) {
    while (digits.ends_with('0')) digits.remove_suffix(1);
    if (digits.ends_with('.')) digits.remove_suffix(1);
  }
  json_.raw(digits == "-0" ? "0" : digits);
}

}  // namespace tacho
