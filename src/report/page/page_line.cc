#include "report/page/page_line.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/base64.h"

namespace tacho {
namespace {

constexpr uint16_t kNoValue = 65535, kTop = 65534, kSmallest = 65533;
constexpr int kMantissaBits = 11, kMantissas = 1 << kMantissaBits, kExponents = 32;

// 0 to 1 as a small floating-point number: tiny values beside a huge peak are still told.
uint16_t code_of(double share) {
  if (is_absent(share)) return kNoValue;
  if (share >= 1) return kTop;
  if (!(share > 0)) return 0;
  int exponent = 0;
  const double fraction = std::frexp(share, &exponent);  // 0.5 to 1
  if (-exponent >= kExponents) return 0;
  int mantissa = static_cast<int>(std::lround((2 * fraction - 1) * kMantissas));
  if (mantissa == kMantissas) {
    if (exponent == 0) return kMantissas - 1;
    mantissa = 0;
    ++exponent;
  }
  const int code = -exponent * kMantissas + mantissa;
  return static_cast<uint16_t>(std::clamp<int>(code, 1, kSmallest));
}

void write_codes(JsonWriter& json, const SeriesFold& series, size_t column, SeriesFold::Part part, double low,
                 double top) {
  std::string bytes;
  bytes.reserve(2 * series.points());
  for (size_t point = 0; point < series.points(); ++point) {
    const double value = series.value(column, point, part);
    const double share = is_absent(value) ? kAbsent : top > low ? (value - low) / (top - low) : 0;
    const uint16_t code = code_of(share);
    bytes += static_cast<char>(code & 0xFF);
    bytes += static_cast<char>(code >> 8);
  }
  json.value(base64(bytes));
}

}  // namespace

void write_number(JsonWriter& json, double value) {
  if (!std::isfinite(value)) {
    json.null();
    return;
  }
  std::array<char, 32> digits;
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), static_cast<float>(value));
  json.raw({digits.data(), static_cast<size_t>(end - digits.data())});
}

void write_page_line(JsonWriter& json, const SeriesFold& series, const PageLine& line) {
  double low = 0, top = 0;
  for (size_t point = 0; point < series.points(); ++point) {
    const double least = series.value(line.column, point, SeriesFold::Part::min);
    const double most = series.value(line.column, point, SeriesFold::Part::max);
    if (!is_absent(least)) low = std::min(low, least);
    if (!is_absent(most)) top = std::max(top, most);
  }
  json.object();
  json.key("name").value(line.name);
  json.key("role").value(line.role);
  json.key("low");
  write_number(json, low);
  json.key("top");
  write_number(json, top);
  json.key("scale");
  write_number(json, line.scale);
  json.key("mean");
  write_codes(json, series, line.column, SeriesFold::Part::mean, low, top);
  if (series.merged()) {
    json.key("min");
    write_codes(json, series, line.column, SeriesFold::Part::min, low, top);
    json.key("max");
    write_codes(json, series, line.column, SeriesFold::Part::max, low, top);
  }
  json.end_object();
}

void write_share_bytes(JsonWriter& json, const SeriesFold& series, size_t column) {
  std::string bytes;
  for (size_t point = 0; point < series.points(); ++point) {
    const double value = series.value(column, point, SeriesFold::Part::mean);
    bytes += is_absent(value) ? '\xff' : static_cast<char>(std::lround(200 * std::clamp(value, 0.0, 1.0)));
  }
  json.value(base64(bytes));
}

void write_durations(JsonWriter& json, const SeriesFold& series) {
  json.array();
  int64_t before_ms = 0;  // of rounded ends, so that no error adds up
  for (size_t point = 0; point < series.points(); ++point) {
    const int64_t end_ms = std::llround(std::min(series.end_s(point), 9e12) * 1e3);
    json.integer(end_ms - before_ms);
    before_ms = end_ms;
  }
  json.end_array();
}

}  // namespace tacho
