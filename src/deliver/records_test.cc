#include "deliver/records.h"

#include <gtest/gtest.h>

#include "deliver/bq_meta.h"

namespace tacho {
namespace {

const std::string kDeep = R"("more":)" + std::string(100'000, '[') + std::string(100'000, ']');

TEST(Records, AreMeasuredBeforeTheyAreRead) {
  EXPECT_FALSE(parse_json(R"({"a":[[1]]})").is_discarded());
  EXPECT_TRUE(parse_json("{" + kDeep + "}").is_discarded());
  const std::string meta = R"({"version":1,"run":"20261115-0000","api_url":"https://a.example","start":{})";
  EXPECT_TRUE(parse_meta(meta + "}"));
  EXPECT_FALSE(parse_meta(meta + "," + kDeep + "}"));
  EXPECT_TRUE(is_bq_meta(R"({"kind":"bigquery"})"));
  EXPECT_FALSE(is_bq_meta(R"({"kind":"bigquery",)" + kDeep + "}"));
}

// What was written here may be long; what somebody answers may not.
TEST(Records, CountTheirValues) {
  std::string list(1'000'001, '0');
  for (size_t i = 2; i < list.size(); i += 2) list[i] = ',';
  list.front() = '[', list.back() = ']';
  EXPECT_TRUE(parse_json(list).is_discarded());
  EXPECT_EQ(parse_json(list, kOwnBounds).size(), 500'000u);
}

}  // namespace
}  // namespace tacho
