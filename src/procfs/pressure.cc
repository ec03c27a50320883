#include "procfs/pressure.h"

#include <algorithm>

#include "procfs/scan.h"

namespace tacho {
namespace {

// "avg10=1.08 …" is 108; the kernel always prints two decimals.
void parse_average(std::string_view line, int64_t& hundredths) {
  Scanner scan(line);
  int64_t whole = 0, part = 0;
  if (!scan.literal("avg10=") || !scan.number(whole) || !scan.literal(".")) return;
  const std::string_view digits = scan.rest().substr(0, 2);
  if (digits.size() == 2 && digits[0] >= '0' && digits[1] >= '0' && digits[0] <= '9' && digits[1] <= '9' &&
      scan.number(part))
    hundredths = std::min<int64_t>(whole, 1000) * 100 + (digits[0] - '0') * 10 + (digits[1] - '0');
}

// The last of a line, as all kernels write it; elsewhere it would be found as well.
void parse_total(std::string_view line, int64_t& us) {
  constexpr std::string_view kKey = " total=";
  const size_t last = line.rfind('=');
  if (last == std::string_view::npos) return;
  const bool is_last = line.substr(0, last + 1).ends_with(kKey);
  const size_t at = is_last ? last + 1 - kKey.size() : line.find(kKey);
  if (at != std::string_view::npos) Scanner(line.substr(at + kKey.size())).number(us);
}

}  // namespace

Pressure parse_pressure(std::string_view text) {
  Pressure out;
  Scanner scan(text);
  while (!scan.done()) {
    const bool some = scan.literal("some "), full = !some && scan.literal("full ");
    int64_t* const field = some ? &out.some_us : full ? &out.full_us : nullptr;
    const std::string_view line = scan.line();
    if (field != nullptr) parse_average(line, some ? out.some_avg10 : out.full_avg10);
    if (field != nullptr) parse_total(line, *field);
  }
  return out;
}

}  // namespace tacho
