#include "base/json_bounds.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>

namespace tacho {
namespace {

using Json = nlohmann::json;

std::string nested(size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(JsonBounds, DepthIsBoundedBeforeATreeIsMade) {
  EXPECT_FALSE(parse_bounded<Json>(nested(64)).is_discarded());
  EXPECT_TRUE(parse_bounded<Json>(nested(65)).is_discarded());
  EXPECT_TRUE(parse_bounded<Json>(nested(100'000)).is_discarded());
  EXPECT_TRUE(parse_bounded<Json>(std::string(10'000'000, '[')).is_discarded());
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_EQ(json_excess(objects, {}), JsonExcess::depth);
}

TEST(JsonBounds, BracketsInStringsAreNone) {
  const std::string text = "{\"" + std::string(1000, '[') + "\\\"[[[\\\\\":\"" + std::string(1000, '{') + ",,,\"}";
  EXPECT_EQ(json_excess(text, {1u << 20, 1, 4}), JsonExcess::none);
  EXPECT_FALSE(parse_bounded<Json>(text, {1u << 20, 1, 4}).is_discarded());
}

TEST(JsonBounds, CountAndBytes) {
  std::string many = "[0";
  for (int i = 1; i < 1000; ++i) many += ",0";
  many += "]";
  EXPECT_EQ(json_excess(many, {1u << 20, 8, 1001}), JsonExcess::none);
  EXPECT_EQ(json_excess(many, {1u << 20, 8, 1000}), JsonExcess::values);
  EXPECT_EQ(json_excess(many, {100, 8, 1001}), JsonExcess::bytes);
  EXPECT_NE(json_excess_text(JsonExcess::values), "");
}

TEST(JsonBounds, WhatIsNoJsonIsDiscardedToo) {
  for (const char* text : {"", "{", "]", "\"", "\"\\", "nul", "{\"a\":1,}", "[1]]"})
    EXPECT_TRUE(parse_bounded<Json>(text).is_discarded()) << text;
  EXPECT_TRUE(parse_bounded<Json>(std::string_view("[1]\0[2]", 7)).is_discarded());
}

size_t count(const Json& json) {
  size_t values = 1;
  if (json.is_structured())
    for (const Json& one : json) values += count(one);
  return values;
}
size_t depth(const Json& json) {
  size_t most = 0;
  if (!json.is_structured()) return 0;
  for (const Json& one : json) most = std::max(most, depth(one));
  return most + 1;
}
Json any(std::mt19937& random, int room) {
  switch (random() % (room > 0 ? 6 : 4)) {
    case 0: return static_cast<int>(random());
    case 1: return nullptr;
    case 2: return std::string("a\"[{,\\") + static_cast<char>('0' + random() % 70);
    case 3: return random() % 2 == 0;
    case 4: {
      Json list = Json::array();
      for (size_t i = random() % 5; i > 0; --i) list.push_back(any(random, room - 1));
      return list;
    }
    default: {
      Json object = Json::object();
      for (size_t i = random() % 5; i > 0; --i)
        object["[k\\\"" + std::to_string(random() % 100)] = any(random, room - 1);
      return object;
    }
  }
}

// The scan beside the tree itself: the same depth, and never fewer values than the tree has.
TEST(JsonBounds, AgreesWithTheTree) {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    const Json json = any(random, 6);
    const std::string text = json.dump(random() % 2 == 0 ? -1 : 2);
    const size_t deep = depth(json), many = count(json);
    EXPECT_EQ(json_excess(text, {1u << 20, deep, 1'000'000}), JsonExcess::none) << text;
    if (deep > 0) { EXPECT_EQ(json_excess(text, {1u << 20, deep - 1, 1'000'000}), JsonExcess::depth) << text; }
    if (many > 1) { EXPECT_NE(json_excess(text, {1u << 20, 100, many - 1}), JsonExcess::none) << text; }
    EXPECT_EQ(json_excess(text, {1u << 20, 100, many * 2}), JsonExcess::none) << text;
  }
}

}  // namespace
}  // namespace tacho
