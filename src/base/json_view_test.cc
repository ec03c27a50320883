#include "base/json_view.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

namespace tacho {
namespace {

TEST(JsonView, ValuesOfEveryKind) {
  JsonText json;
  const std::string text = R"( {"a": [1, -2.5e3, true, null, []], "b": {"c": "x\n\"A\u00e9\ud83d\ude00"}, "b2": {} } )";
  ASSERT_TRUE(json.parse(text));
  const JsonView root = json.root();
  std::vector<std::optional<double>> numbers;
  root["a"].each_element([&](const JsonView& value) { numbers.push_back(value.number()); });
  ASSERT_EQ(numbers.size(), 5U);
  EXPECT_EQ(numbers[0], 1);
  EXPECT_EQ(numbers[1], -2500);
  EXPECT_EQ(numbers[2], std::nullopt);
  EXPECT_EQ(root["b"]["c"].string(), "x\n\"A\u00e9\U0001F600");
  EXPECT_TRUE(root["b2"].is_object());
  EXPECT_FALSE(root["nothing"]);
  EXPECT_FALSE(root["nothing"]["below"].string());
}

TEST(JsonView, OfTwoMembersOfOneNameTheLastCounts) {
  JsonText json;
  ASSERT_TRUE(json.parse(R"({"a": 1, "\u0061": 2})"));
  EXPECT_EQ(json.root()["a"].integer(), 2);
}

TEST(JsonView, IntegersBeyondTheTypeAreNone) {
  JsonText json;
  ASSERT_TRUE(json.parse("[9223372036854775807, 9223372036854775808, 1e999, 2.9, -0]"));
  std::vector<std::optional<int64_t>> read;
  json.root().each_element([&](const JsonView& value) { read.push_back(value.integer()); });
  EXPECT_EQ(read[0], INT64_MAX);
  EXPECT_EQ(read[1], std::nullopt);
  EXPECT_EQ(read[2], std::nullopt);
  EXPECT_EQ(read[3], 2);
  EXPECT_EQ(read[4], 0);
}

TEST(JsonView, DepthIsBounded) {
  JsonText json;
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(json.parse(nested(JsonText::kDeepest)));
  EXPECT_FALSE(json.parse(nested(JsonText::kDeepest + 1)));
  EXPECT_FALSE(json.root());
  EXPECT_FALSE(json.parse(std::string(1'000'000, '[')));
}

// What it takes and what it refuses is what the other parser does, byte by byte.
TEST(JsonView, AgreesWithTheOtherParser) {
  const std::vector<std::string> seeds = {
      R"({"a": [1, 2.5, "x\u00e9\ud83d\ude00", true, false, null], "b": {"c": {}, "d": [[]]}, "e": "é\t"})",
      "[0, -1, 1e5, 0.25E-3, 123456789012]", R"(["", "\\\"\/\b\f\n\r\t", {"": ""}])"};
  std::mt19937 chance(7);
  const std::string bytes = "{}[]\",:0123456789.-+eE\\/utrfnals \n\t\xC3\xA9\xFF\x01";
  JsonText json;
  for (int i = 0; i < 10'000; ++i) {
    std::string text = seeds[chance() % seeds.size()];
    for (unsigned edits = chance() % 4; edits > 0 && !text.empty(); --edits) {
      const size_t at = chance() % text.size();
      if (chance() % 3 == 0) text.erase(at, 1 + chance() % 4);
      else text[at] = bytes[chance() % bytes.size()];
    }
    // Numbers beyond a double are JSON; the other parser looks no further.
    bool is_json = false;
    try {
      is_json = !nlohmann::json::parse(text).is_discarded();
    } catch (const nlohmann::json::out_of_range&) { continue; } catch (const nlohmann::json::parse_error&) {
    }
    ASSERT_EQ(json.parse(text), is_json) << text;
  }
}

}  // namespace
}  // namespace tacho
