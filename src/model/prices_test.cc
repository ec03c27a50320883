#include "model/prices.h"

#include <gtest/gtest.h>

namespace tacho {
namespace {

constexpr std::string_view kList =
    "# of 2026-11-01\r\n"
    "server,vendor,vcpus,memory_gib,gpus,gpu_memory_gib,price_per_hour,currency\r\n"
    "small,aws,2,4,0,0,0.10,USD\r\n"
    "\"large, with a comma\",aws,8,32,0,0,0.40,USD\r\n"
    "medium,gcp,4,16,,,0.20,USD\r\n"
    "gpu,gcp,8,64,1,24,2.5,USD\r\n"
    "euro,ovh,8,32,0,0,0.3,EUR\r\n"
    "nameless row,,,,\r\n"
    "negative,aws,2,4,0,0,-1,USD\r\n"
    "text,aws,two,4,0,0,1,USD\r\n";

std::vector<std::string> names(const std::vector<Price>& prices) {
  std::vector<std::string> out;
  for (const Price& price : prices) out.push_back(price.server);
  return out;
}

TEST(Prices, TheCheapestThatFits) {
  const auto list = parse_prices(kList);
  ASSERT_TRUE(list);
  EXPECT_EQ(list->prices.size(), 5u);
  EXPECT_EQ(list->skipped, 3u);
  using Names = std::vector<std::string>;
  EXPECT_EQ(names(cheapest(*list, {1, 1, 0, 0}, 2)), (Names{"small", "medium", "euro"}));
  EXPECT_EQ(names(cheapest(*list, {4, 16, 0, 0}, 5)), (Names{"medium", "large, with a comma", "gpu", "euro"}));
  EXPECT_EQ(names(cheapest(*list, {1, 1, 1, 16}, 5)), Names{"gpu"});
  EXPECT_EQ(names(cheapest(*list, {1, 1, 1, 32}, 5)), Names{});
  EXPECT_EQ(names(cheapest(*list, {1, 16.1, 0, 0}, 5)), (Names{"large, with a comma", "gpu", "euro"}));
}

TEST(Prices, SpotPricesWhereTheListHasThem) {
  const auto list = parse_prices(
      "server,vcpus,memory_gib,price_per_hour,currency,spot_price_per_hour\n"
      "a,2,4,0.10,USD,\nb,2,4,0.20,USD,0.05\nc,2,4,0.30,USD,-1\nd,4,8,0.40,USD,0.01\n");
  ASSERT_TRUE(list);
  EXPECT_EQ(list->prices.size(), 4u);
  using Names = std::vector<std::string>;
  EXPECT_EQ(names(cheapest(*list, {2, 4, 0, 0}, 9)), (Names{"a", "b", "c", "d"}));
  EXPECT_EQ(names(cheapest(*list, {2, 4, 0, 0}, 9, true)), (Names{"d", "b", "a", "c"}));
  EXPECT_EQ(list->prices.at(1).of(true), 0.05);
  EXPECT_EQ(list->prices.at(1).of(false), 0.20);
  EXPECT_EQ(list->prices.at(2).of(true), 0.30);
}

TEST(Prices, WhatIsLackingIsNamed) {
  const auto list = parse_prices("server,vendor,vcpus\nx,y,1\n");
  ASSERT_FALSE(list);
  EXPECT_NE(list.error().message().find("lacks memory_gib, price_per_hour, currency"), std::string::npos);
  EXPECT_FALSE(parse_prices(""));
  EXPECT_FALSE(parse_prices("# nothing\n"));
  // The order is free, GPUs may lack, a mark of the byte order is passed over.
  const auto other = parse_prices("\xEF\xBB\xBFPrice_per_hour,currency,server,memory_gib,vcpus\n1,USD,x,2,3\n");
  ASSERT_TRUE(other);
  EXPECT_EQ(other->prices.at(0).memory_gib, 2);
  EXPECT_TRUE(is_absent(other->prices.at(0).gpus));
}

TEST(Prices, FieldsAreQuotedAsInRfc4180) {
  EXPECT_EQ(csv_fields("a,\"b \"\"c\"\", d\",,e"), (std::vector<std::string>{"a", "b \"c\", d", "", "e"}));
  EXPECT_EQ(csv_fields("\"open"), (std::vector<std::string>{"open"}));
  EXPECT_LE(csv_fields(std::string(10'000, ',')).size(), 65u);
}

}  // namespace
}  // namespace tacho
