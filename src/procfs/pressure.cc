#include "procfs/pressure.h"

#include "procfs/scan.h"

namespace tacho {

Pressure parse_pressure(std::string_view text) {
  Pressure out;
  Scanner scan(text);
  while (!scan.done()) {
    int64_t* const field = scan.literal("some ") ? &out.some_us : scan.literal("full ") ? &out.full_us : nullptr;
    const std::string_view line = scan.line();
    constexpr std::string_view kKey = " total=";
    const size_t at = line.find(kKey);
    if (field == nullptr || at == std::string_view::npos) continue;
    Scanner(line.substr(at + kKey.size())).number(*field);
  }
  return out;
}

}  // namespace tacho
