// A price list that a person keeps (model/prices.h).
#include "model/prices.h"

#include <cmath>

#include "target.h"

void fuzz_one(std::string_view text) {
  const auto list = tacho::parse_prices(text);
  require(tacho::csv_fields(text).size() <= 65);
  if (!list) return;
  for (const tacho::Price& price : list->prices) {
    require(!price.server.empty() && !price.currency.empty());
    require(std::isfinite(price.per_hour) && price.per_hour >= 0 && price.vcpus >= 0 && price.memory_gib >= 0);
  }
  for (const tacho::Price& price : tacho::cheapest(*list, {2, 1.5, 1, 0}, 5)) require(price.gpus >= 1);
}
