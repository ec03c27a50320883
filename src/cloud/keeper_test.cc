#include "cloud/keeper.h"

#include <gtest/gtest.h>

namespace tacho {
namespace {

TEST(Keeper, AsksInItsOwnUnits) {
  EXPECT_EQ(server_query({2, 1536, 0, 0}, {}),
            "vcpus_min=2&memory_min=1.5&order_by=min_price_ondemand&order_dir=asc&limit=3");
  EXPECT_EQ(server_query({0, 128, 0, 4096}, {"", "ignored", "", 1}),
            "vcpus_min=1&memory_min=0.2&order_by=min_price_ondemand&order_dir=asc&limit=1")
      << "rounded up to tenths of a GiB; no region without a vendor, no memory of a GPU without a GPU";
  EXPECT_EQ(server_query({8, 65536, 2, 81920}, {"aws", "us-east-1", "arm64", 5}),
            "vcpus_min=8&memory_min=64.0&gpu_min=2&gpu_memory_total=80.0&vendor=aws&vendor_regions=aws~us-east-1&"
            "architecture=arm64"
            "&order_by=min_price_ondemand&order_dir=asc&limit=5");
  EXPECT_NE(server_query({1, 0, 0, 0}, {"a&b=c", "", "", 1}).find("vendor=a%26b%3Dc"), std::string::npos);
}

TEST(Keeper, ReadsServers) {
  const auto servers = parse_servers(
      R"([{"vendor_id": "hcloud", "server_id": "cx22", "api_reference": "cx22", "name": "cx22", "display_name": "CX22", "vcpus": 2,
           "memory_amount": 4096, "gpu_count": 0, "gpu_memory_total": null, "min_price": 0.006, "min_price_spot": null,
           "min_price_ondemand": 0.006, "vendor": {"name": "Hetzner"}},
          {"vendor_id": "x", "server_id": "y", "min_price_ondemand": null, "vcpus": -4, "memory_amount": 1e300},
          {"server_id": "of nobody"}, 7, null])");
  ASSERT_TRUE(servers);
  ASSERT_EQ(servers->size(), 2u);
  EXPECT_EQ((*servers)[0].name, "CX22");
  EXPECT_EQ((*servers)[0].memory_mib, 4096);
  EXPECT_EQ((*servers)[0].usd_per_hour, 0.006);
  EXPECT_FALSE((*servers)[0].spot_usd_per_hour);
  EXPECT_EQ((*servers)[1].name, "y");
  EXPECT_FALSE((*servers)[1].usd_per_hour);
  EXPECT_FALSE((*servers)[1].vcpus);
  EXPECT_FALSE((*servers)[1].memory_mib);
  for (const char* bad : {"", "<html>", "{}", "null", "[{"}) EXPECT_FALSE(parse_servers(bad)) << bad;
  EXPECT_TRUE(parse_servers("[]")->empty());
}

TEST(Keeper, TakesThePriceOfARegion) {
  const char* const prices =
      R"([{"region_id": "1100", "operating_system": "Linux", "allocation": "ondemand", "unit": "hour", "price": 0.4, "currency": "USD"},
          {"region_id": "1000", "operating_system": "linux", "allocation": "ondemand", "unit": "hour", "price": 0.3, "currency": "USD"},
          {"region_id": "1000", "operating_system": "linux", "allocation": "ondemand", "unit": "hour", "price": 0.25, "currency": "USD", "zone_id": "b"},
          {"region_id": "1000", "operating_system": "linux", "allocation": "spot", "unit": "hour", "price": 0.01, "currency": "USD"},
          {"region_id": "1000", "operating_system": "windows", "allocation": "ondemand", "unit": "hour", "price": 0.02, "currency": "USD"},
          {"region_id": "1000", "operating_system": "linux", "allocation": "ondemand", "unit": "month", "price": 0.03, "currency": "USD"},
          {"region_id": "1000", "operating_system": "linux", "allocation": "ondemand", "unit": "hour", "price": 0.04, "currency": "EUR"},
          {"region_id": "1000", "operating_system": "linux", "allocation": "ondemand", "unit": "hour", "price": null, "currency": "USD"}])";
  EXPECT_EQ(parse_price(prices, "1100"), 0.4);
  EXPECT_EQ(parse_price(prices, "1000"), 0.25);
  EXPECT_EQ(parse_price(prices, ""), 0.25);
  EXPECT_FALSE(parse_price(prices, "1200"));
  EXPECT_FALSE(parse_price("no list", ""));
}

TEST(Keeper, FindsARegionByAnyOfItsNames) {
  const char* const regions =
      R"([{"vendor_id": "aws", "region_id": "us-central1", "name": "another's", "api_reference": "us-central1", "aliases": []},
          {"vendor_id": "gcp", "region_id": "1000", "name": "us-central1", "api_reference": "us-central1", "aliases": ["Iowa"]}, {}])";
  for (const char* name : {"1000", "us-central1", "US-Central1", "iowa"})
    EXPECT_EQ(parse_region(regions, "gcp", name), "1000") << name;
  EXPECT_FALSE(parse_region(regions, "gcp", "mars"));
  EXPECT_FALSE(parse_region("{}", "gcp", "1000"));
}

}  // namespace
}  // namespace tacho
