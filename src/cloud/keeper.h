// The cheapest servers of a size, by the price list of Spare Cores (its Keeper, tracker.md §6.3). What leaves the
// machine is the size alone. Two seconds a call and two repeats at most; without an answer the caller goes on. Not
// thread-safe.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/http/http.h"

namespace tacho {

struct ServerSize {
  int64_t cpu = 1, memory_mib = 0, gpu = 0, vram_mib = 0;
};
// What may narrow the choice; empty: any. A region belongs to a vendor.
struct ServerChoice {
  std::string vendor, region, architecture;
  int limit = 3;
};

struct Server {
  std::string vendor, id, reference, name;  // reference: what the vendor's own API calls it
  std::string region;                       // of the price; empty: the lowest price of all regions
  std::optional<int64_t> vcpus, memory_mib, gpus, vram_mib;
  std::optional<double> usd_per_hour, spot_usd_per_hour;  // on demand; spot is the lowest of all regions
};

// The query of a search, without "?". A region as the price list calls it.
std::string server_query(const ServerSize& size, const ServerChoice& choice);

std::optional<std::vector<Server>> parse_servers(std::string_view json);
// The lowest hourly price in US dollars on demand, with Linux; of one region, or of all when it is empty.
std::optional<double> parse_price(std::string_view json, std::string_view region);
// The price list's own id of a region that a person names by its id, its name, the vendor's name for it, or an alias.
std::optional<std::string> parse_region(std::string_view json, std::string_view vendor, std::string_view region);

class Keeper {
 public:
  using Sleep = std::function<void(int64_t ms)>;
  Keeper(HttpClient& http, std::string base_url, Sleep sleep);
  // Cheapest first. `notes` gets what a person should know of the prices.
  Result<std::vector<Server>> cheapest(const ServerSize& size, ServerChoice choice, std::vector<std::string>& notes);

 private:
  Result<std::string> get(const std::string& path);

  HttpClient& http_;
  std::string base_url_;
  Sleep sleep_;
};

}  // namespace tacho
