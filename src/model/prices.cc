#include "model/prices.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace tacho {
namespace {

constexpr size_t kMostFields = 64, kMostPrices = 200'000;
constexpr auto kHeader =
    std::to_array<std::string_view>({"server", "vendor", "vcpus", "memory_gib", "gpus", "gpu_memory_gib",
                                     "price_per_hour", "currency", "spot_price_per_hour"});
enum PriceField : size_t { kServer, kVendor, kVcpus, kMemory, kGpus, kGpuMemory, kPrice, kCurrency, kSpot, kColumns };

std::string_view next_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool is_comment(std::string_view line) { return trim(line).empty() || line.starts_with('#'); }

double amount(const std::string& field) {
  const auto value = parse_double(trim(field));
  return value && *value >= 0 ? *value : kAbsent;
}

struct Header {
  std::array<size_t, kColumns> at;  // kMostFields: it is not there
  size_t fields = 0;
};

Result<Header> parse_header(std::string_view line) {
  const std::vector<std::string> names = csv_fields(line);
  Header header{{}, names.size()};
  std::string lacking;
  for (size_t i = 0; i < kColumns; ++i) {
    const auto found = std::find_if(names.begin(), names.end(),
                                    [&](const std::string& name) { return lower(trim(name)) == kHeader[i]; });
    header.at[i] = found == names.end() ? kMostFields : static_cast<size_t>(found - names.begin());
    const bool optional = i == kGpus || i == kGpuMemory || i == kVendor || i == kSpot;
    if (found == names.end() && !optional) lacking += (lacking.empty() ? "" : ", ") + std::string(kHeader[i]);
  }
  if (lacking.empty()) return header;
  return Error{Code::invalid, "this price list lacks " + lacking, "",
               "its first line is server,vendor,vcpus,memory_gib,gpus,gpu_memory_gib,price_per_hour,currency"};
}

}  // namespace

std::vector<std::string> csv_fields(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') fields.back() += line[i++];
    else if (c == '"') quoted = !quoted;
    else if (c == ',' && !quoted) fields.emplace_back();
    else fields.back() += c;
    if (fields.size() > kMostFields) break;
  }
  return fields;
}

Result<PriceList> parse_prices(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::string_view line;
  while (!text.empty() && is_comment(line)) line = next_line(text);
  const auto header = parse_header(line);
  if (!header) return header.error();
  PriceList list;
  while (!text.empty() && list.prices.size() < kMostPrices) {
    line = next_line(text);
    if (is_comment(line)) continue;
    const std::vector<std::string> fields = csv_fields(line);
    const auto field = [&](PriceField column) {
      const size_t at = header->at[column];
      return at < fields.size() ? harmless_text(trim(fields[at])) : std::string();
    };
    Price price{field(kServer),         field(kVendor),       field(kCurrency),          amount(field(kVcpus)),
                amount(field(kMemory)), amount(field(kGpus)), amount(field(kGpuMemory)), amount(field(kPrice)),
                amount(field(kSpot))};
    const bool whole = !price.server.empty() && !price.currency.empty() && !is_absent(price.vcpus) &&
                       !is_absent(price.memory_gib) && !is_absent(price.per_hour);
    if (whole) list.prices.push_back(std::move(price));
    else ++list.skipped;
  }
  return list;
}

std::vector<Price> cheapest(const PriceList& list, const ServerNeed& need, size_t most, bool spot) {
  const auto is_enough = [](double there, double needed) { return needed <= 0 || there >= needed; };
  std::vector<std::pair<std::string, std::vector<Price>>> by_currency;
  for (const Price& price : list.prices) {
    auto group = std::find_if(by_currency.begin(), by_currency.end(),
                              [&](const auto& entry) { return entry.first == price.currency; });
    if (group == by_currency.end()) group = by_currency.insert(group, {price.currency, {}});
    if (is_enough(price.vcpus, need.vcpus) && is_enough(price.memory_gib, need.memory_gib) &&
        is_enough(price.gpus, need.gpus) && is_enough(price.gpu_memory_gib, need.gpu_memory_gib))
      group->second.push_back(price);
  }
  std::vector<Price> chosen;
  for (auto& [currency, prices] : by_currency) {
    std::stable_sort(prices.begin(), prices.end(),
                     [&](const Price& a, const Price& b) { return a.of(spot) < b.of(spot); });
    if (prices.size() > most) prices.resize(most);
    chosen.insert(chosen.end(), prices.begin(), prices.end());
  }
  return chosen;
}

}  // namespace tacho
