// A price list of servers that a person keeps as CSV, with this header (in any order; gpus and gpu_memory_gib may
// lack):
//   server,vendor,vcpus,memory_gib,gpus,gpu_memory_gib,price_per_hour,currency
// and, where it is known, spot_price_per_hour: of a machine that the cloud may take away.
// Lines that begin with # are comments. Reading is bounded. Pure, thread-safe.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/row.h"

namespace tacho {

struct Price {
  std::string server, vendor, currency;
  double vcpus = kAbsent, memory_gib = kAbsent, gpus = kAbsent, gpu_memory_gib = kAbsent, per_hour = kAbsent,
         spot_per_hour = kAbsent;
  double of(bool spot) const { return spot && !is_absent(spot_per_hour) ? spot_per_hour : per_hour; }
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
// `spot`: by the Spot price, where the list has one.
std::vector<Price> cheapest(const PriceList& list, const ServerNeed& need, size_t most, bool spot = false);

// One line of a CSV, quoted as in RFC 4180; a quote that is not closed ends with the line.
std::vector<std::string> csv_fields(std::string_view line);

}  // namespace tacho
