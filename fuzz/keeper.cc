// What a price list of servers may answer.
#include <cmath>

#include "cloud/keeper.h"
#include "target.h"

void fuzz_one(std::string_view text) {
  if (const auto servers = tacho::parse_servers(text))
    for (const tacho::Server& server : *servers) {
      require(!server.vendor.empty() && !server.name.empty());
      require(server.vcpus.value_or(0) >= 0 && server.memory_mib.value_or(0) >= 0);
      require(std::isfinite(server.usd_per_hour.value_or(0)) && server.usd_per_hour.value_or(0) >= 0);
    }
  require(std::isfinite(tacho::parse_price(text, "").value_or(0)));
  if (const auto region = tacho::parse_region(text, "gcp", "us-central1")) require(!region->empty());
}
