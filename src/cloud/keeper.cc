#include "cloud/keeper.h"

#include <algorithm>
#include <cmath>

#include "base/backoff.h"
#include "base/json_bounds.h"
#include "base/text.h"
#include "cloud/values.h"
#include "net/http/url.h"

namespace tacho {
namespace {

constexpr int64_t kLimitMs = 2000;
constexpr int kRepeats = 2;
constexpr int64_t kPauseMs = 250, kLongestPauseMs = 60'000;
constexpr int64_t kMostCores = 256;  // more is refused by the server
// Long lists of servers and prices, but no more: an object that keeps its order takes time by the square of its
// members.
constexpr JsonBounds kListBounds{16u << 20, 64, 100'000};

// A string, or a number as text: ids come as both.
std::string field(const Json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  if (found == object.end()) return {};
  if (found->is_string()) return found->get<std::string>();
  return found->is_number() ? found->dump() : std::string{};
}
std::optional<double> number_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  const double value = found->get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<int64_t> whole_of(const Json& object, const char* key) {
  const auto value = number_of(object, key);
  return value && *value >= 0 && *value < 1e15 ? std::optional(static_cast<int64_t>(std::llround(*value)))
                                               : std::nullopt;
}

std::optional<double> price_of(const Json& object, const char* key) {
  const auto value = number_of(object, key);
  return value && *value >= 0 ? value : std::nullopt;
}

bool same(std::string_view a, std::string_view b) { return lower(a) == lower(b); }

// 1536 MiB as "1.5": GiB, rounded up to tenths.
std::string gib_text(int64_t mib) {
  const int64_t tenths = (mib * 10 + 1023) / 1024;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

void add(std::string& query, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  query += (query.empty() ? "" : "&") + std::string(name) + "=" + percent_encode(value, false);
}

}  // namespace

std::string server_query(const ServerSize& size, const ServerChoice& choice) {
  std::string query;
  add(query, "vcpus_min", std::to_string(std::max<int64_t>(1, size.cpu)));
  if (size.memory_mib > 0) add(query, "memory_min", gib_text(size.memory_mib));
  if (size.gpu > 0) {
    add(query, "gpu_min", std::to_string(size.gpu));
    if (size.vram_mib > 0) add(query, "gpu_memory_total", gib_text(size.vram_mib));
  }
  add(query, "vendor", choice.vendor);
  if (!choice.vendor.empty() && !choice.region.empty())
    add(query, "vendor_regions", choice.vendor + "~" + choice.region);
  add(query, "architecture", choice.architecture);
  add(query, "order_by", "min_price_ondemand");
  add(query, "order_dir", "asc");
  add(query, "limit", std::to_string(choice.limit));
  return query;
}

std::optional<std::vector<Server>> parse_servers(std::string_view json) {
  const Json list = parse_bounded<Json>(json, kListBounds);
  if (!list.is_array()) return std::nullopt;
  std::vector<Server> servers;
  for (const Json& entry : list) {
    if (!entry.is_object()) continue;
    Server server{field(entry, "vendor_id"),
                  field(entry, "server_id"),
                  field(entry, "api_reference"),
                  field(entry, "display_name"),
                  "",
                  whole_of(entry, "vcpus"),
                  whole_of(entry, "memory_amount"),
                  whole_of(entry, "gpu_count"),
                  whole_of(entry, "gpu_memory_total"),
                  price_of(entry, "min_price_ondemand"),
                  price_of(entry, "min_price_spot")};
    if (server.name.empty()) server.name = field(entry, "name");
    if (server.name.empty()) server.name = server.reference.empty() ? server.id : server.reference;
    if (!server.vendor.empty() && !server.name.empty()) servers.push_back(std::move(server));
  }
  return servers;
}

std::optional<double> parse_price(std::string_view json, std::string_view region) {
  const Json list = parse_bounded<Json>(json, kListBounds);
  std::optional<double> lowest;
  if (!list.is_array()) return lowest;
  for (const Json& entry : list) {
    if (!entry.is_object() || !same(field(entry, "allocation"), "ondemand") || !same(field(entry, "unit"), "hour") ||
        !same(field(entry, "operating_system"), "linux"))
      continue;
    const std::string currency = field(entry, "currency");
    if (!currency.empty() && !same(currency, "usd")) continue;
    if (!region.empty() && field(entry, "region_id") != region) continue;
    if (const auto price = price_of(entry, "price")) lowest = std::min(lowest.value_or(*price), *price);
  }
  return lowest;
}

std::optional<std::string> parse_region(std::string_view json, std::string_view vendor, std::string_view region) {
  const Json list = parse_bounded<Json>(json, kListBounds);
  if (!list.is_array()) return std::nullopt;
  for (const Json& entry : list) {
    if (!entry.is_object() || (!field(entry, "vendor_id").empty() && field(entry, "vendor_id") != vendor)) continue;
    const std::string id = field(entry, "region_id");
    bool named = id == region || same(field(entry, "name"), region) || same(field(entry, "api_reference"), region);
    if (const auto aliases = entry.find("aliases"); aliases != entry.end() && aliases->is_array())
      for (const Json& alias : *aliases) named = named || (alias.is_string() && same(alias.get<std::string>(), region));
    if (named && !id.empty()) return id;
  }
  return std::nullopt;
}

Keeper::Keeper(HttpClient& http, std::string base_url, Sleep sleep)
    : http_(http), base_url_(std::move(base_url)), sleep_(std::move(sleep)) {
  while (base_url_.ends_with('/')) base_url_.pop_back();
}

Result<std::string> Keeper::get(const std::string& path) {
  if (const Status status = check_url(base_url_); !status) return status.error();
  HttpRequest request;
  request.url = base_url_ + path;
  request.headers = {
      {"X-Application-ID", "tacho"}, {"Accept", "application/json"}, {"User-Agent", "tacho/" TACHO_VERSION}};
  request.connect_ms = request.stalled_ms = request.response_ms = request.total_ms = kLimitMs;
  request.accept_gzip = true;
  for (DoublingPause pause_ms(kPauseMs, kLongestPauseMs);;) {
    auto response = http_.send(request);
    if (response && response->status == 200) return std::move(response->body);
    const bool temporary =
        response ? response->status == 429 || response->status == 503 : response.error().code == Code::io;
    if (!temporary || pause_ms.attempts() == kRepeats) {
      if (!response) return response.error();
      return Error{Code::io, "the price list answered " + std::to_string(response->status), base_url_,
                   "try again in a minute"};
    }
    sleep_(pause_ms.next());
  }
}

Result<std::vector<Server>> Keeper::cheapest(const ServerSize& size, ServerChoice choice,
                                             std::vector<std::string>& notes) {
  if (size.cpu > kMostCores)
    return Error{Code::invalid, "no server has so many cores", std::to_string(size.cpu), "the price list ends at 256"};
  if (!choice.region.empty()) {
    // The list has ids of its own for the regions of some vendors.
    const auto table = get("/table/region");
    const auto region = table ? parse_region(*table, choice.vendor, choice.region) : std::nullopt;
    if (!region)
      notes.push_back("the region " + choice.region +
                      " is not in the price list: prices are the lowest of all regions");
    choice.region = region.value_or("");
  }
  const auto body = get("/servers?" + server_query(size, choice));
  if (!body) return body.error();
  auto servers = parse_servers(*body);
  if (!servers)
    return Error{Code::invalid, "the answer is not a list of servers", base_url_, "look at TACHO_KEEPER_URL"};
  if (choice.region.empty()) return std::move(*servers);
  bool elsewhere = false;
  for (Server& server : *servers) {
    const auto prices =
        get("/server/" + percent_encode(server.vendor, false) + "/" +
            percent_encode(server.id.empty() ? server.reference : server.id, false) + "/prices?currency=USD");
    const auto price = prices ? parse_price(*prices, choice.region) : std::nullopt;
    elsewhere = elsewhere || !price;
    if (price) server.usd_per_hour = price, server.region = choice.region;
  }
  if (elsewhere) notes.push_back("where no region is named, the price is the lowest of all regions");
  std::stable_sort(servers->begin(), servers->end(), [](const Server& a, const Server& b) {
    return a.usd_per_hour.value_or(INFINITY) < b.usd_per_hour.value_or(INFINITY);
  });
  return std::move(*servers);
}

}  // namespace tacho
