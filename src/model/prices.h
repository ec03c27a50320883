// A price list of servers that a person keeps as CSV, with this header (in any order; gpus and gpu_memory_gib may
// lack):
//   server,vendor,vcpus,memory_gib,gpus,gpu_memory_gib,price_per_hour,currency
// Lines that begin with # are comments. Reading is bounded. Pure, thread-safe.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/row.h"

namespace tacho {

struct Price {
  std::string server, vendor, currency;
  double vcpus = kAbsent, memory_gib = kAbsent, gpus = kAbsent, gpu_memory_gib = kAbsent, per_hour = kAbsent;
};

struct PriceList {
  std::vector<Price> prices;
  size_t skipped = 0;  // lines without a name, size or price that makes sense
};

inline constexpr size_t kLargestPriceList = size_t{16} << 20;

// An error names what the header lacks.
Result<PriceList> parse_prices(std::string_view text);

struct ServerNeed {
  double vcpus = 0, memory_gib = 0, gpus = 0, gpu_memory_gib = 0;
};
// Those that are large enough, the cheapest first; of each currency apart, in the order of their first line. A size
// that the list does not tell is too small for whoever needs it.
std::vector<Price> cheapest(const PriceList& list, const ServerNeed& need, size_t most);

// One line of a CSV, quoted as in RFC 4180; a quote that is not closed ends with the line.
std::vector<std::string> csv_fields(std::string_view line);

}  // namespace tacho
