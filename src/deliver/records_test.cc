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
  EXPECT_TRUE(parse_bq_meta(R"({"kind":"bigquery"})"));
  EXPECT_FALSE(parse_bq_meta(R"({"kind":"bigquery",)" + kDeep + "}"));
}

// What was written here may be long; what somebody answers may not.
TEST(Records, CountTheirValues) {
  std::string list(1'000'001, '0');
  for (size_t i = 2; i < list.size(); i += 2) list[i] = ',';
  list.front() = '[', list.back() = ']';
  EXPECT_TRUE(parse_json(list).is_discarded());
  EXPECT_EQ(parse_json(list, kOwnBounds).size(), 500'000u);
}

// What has a higher version means something that only a newer tacho knows.
TEST(Records, OfANewerTachoAreRefused) {
  for (const char* text : {R"({"version":2,"api_url":"a"})", R"({"version":1.5})", R"({"version":1e300})"}) {
    EXPECT_EQ(parse_meta(text).error().code, Code::denied) << text;
    EXPECT_EQ(parse_bq_meta(text).error().code, Code::denied) << text;
    EXPECT_EQ(parse_spool_state(text).error().code, Code::denied) << text;
    EXPECT_EQ(parse_bq_state(text).error().code, Code::denied) << text;
  }
  for (const char* text : {R"({"version":1})", R"({"version":0})", R"({"version":"x"})", "{}"}) {
    EXPECT_TRUE(parse_meta(text)) << text;
    EXPECT_TRUE(parse_bq_state(text)) << text;
  }
}

// Ten weeks, a batch a minute: what is written once a batch, and read back by whoever takes over.
TEST(Records, OfARunOfMonths) {
  SpoolState state;
  std::vector<uint32_t> sealed;
  for (uint32_t number = 0; number < 100'000; ++number) {
    state.uploaded[number] = "s3://bucket/prefix/20261115-0a1b2c3d4e5f/" + std::to_string(number);
    sealed.push_back(number);
  }
  EXPECT_EQ(parse_spool_state(state_json(state))->uploaded, state.uploaded);
  const std::string left =
      meta_with_state(R"({"version":1,"run":"r","api_url":"a","start":{"b":1,"a":2}})", state, sealed);
  EXPECT_GT(left.size(), 1u << 22);
  const auto meta = parse_meta(left);
  ASSERT_TRUE(meta);
  EXPECT_EQ(meta->kind, "service");
  EXPECT_EQ(meta->start.size(), 2u);
}

}  // namespace
}  // namespace tacho
