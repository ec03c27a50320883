#include "deliver/bq_meta.h"

#include <gtest/gtest.h>

#include "deliver/bq_identity.h"

namespace tacho {
namespace {

TEST(BqMeta, RowRanges) {
  EXPECT_EQ(row_ranges({}), "");
  EXPECT_EQ(row_ranges({true, true, false, true, false, true, true}), "0-1,3,5-6");
  std::vector<bool> rows(7);
  mark_rows("0-1,3,5-99,x,7-,,-2", rows);
  EXPECT_EQ(rows, (std::vector<bool>{true, true, false, true, false, true, true}));
}

TEST(BqMeta, StateSurvivesAndGarbageIsEmpty) {
  BqState state;
  state.identity = {{"instance_id", 1234567890123456789}, {"zone", "z"}};
  state.project = "p";
  state.done = {3, 4};
  state.partial[5] = {0xfedcba98, "0-2"};
  state.repeat.push_back({0, "r-1", "{\"a\":1}"});
  state.reports = 2;
  const BqState back = *parse_bq_state(bq_state_json(state));
  EXPECT_EQ(back.identity, state.identity);
  EXPECT_EQ(back.done, state.done);
  EXPECT_EQ(back.partial.at(5).crc, 0xfedcba98);
  EXPECT_EQ(back.partial.at(5).rows, "0-2");
  ASSERT_EQ(back.repeat.size(), 1u);
  EXPECT_EQ(back.repeat[0].json, "{\"a\":1}");
  EXPECT_EQ(back.reports, 2);
  for (const char* text : {"", "{", "[]"}) EXPECT_EQ(parse_bq_state(text).error().code, Code::invalid) << text;
  const char* kOdd = R"({"done":7,"partial":[1],"repeat":{"a":1},"identity":null})";
  EXPECT_TRUE(parse_bq_state(kOdd)->identity.is_null() && parse_bq_state(kOdd)->done.empty());
  // A number that fits into no segment's is none: 4294967297 is not segment 1.
  EXPECT_EQ(parse_bq_state(R"({"done":[4294967297,-1,2.5,"3",4]})")->done, std::set<uint32_t>{4});
}

TEST(BqMeta, ReadsWhatTheAgentWrote) {
  const auto meta = parse_bq_meta(
      R"({"kind":"bigquery","form":"monitor","run":"r","destination":{"project":"p","dataset":"d","tables":{"R":"rt","M":"mt"},"create":"never",
      "add_columns":true,"batch_rows":7},"google":{"metadata_host":"h","no_cloud":true},"given":{"instance_id":5},"task":{"workflow_id":"w","shard":-1}})");
  ASSERT_TRUE(meta);
  EXPECT_EQ(meta->runtime_table, "rt");
  EXPECT_FALSE(meta->settings.create);
  EXPECT_TRUE(meta->settings.add_columns);
  EXPECT_EQ(meta->settings.rows_per_request, 7u);
  EXPECT_TRUE(meta->no_cloud);
  // Where credentials go is not for a file in the spool to say.
  EXPECT_EQ(meta->google.metadata_host, "");
  // A table is no path.
  EXPECT_TRUE(parse_bq_meta(R"({"kind":"bigquery","destination":{"dataset":"d","tables":{"M":"../x"}}})")
                  ->settings.dataset.empty());
  // An absent part of the task is the empty text.
  EXPECT_EQ(meta->scope, (std::vector<std::string>{"w", "", "-1", ""}));
  EXPECT_FALSE(parse_bq_meta("[]"));
}

TEST(BqMeta, InstanceIds) {
  EXPECT_EQ(instance_id_of(Json{{"instance_id", -5}}), "-5");
  EXPECT_EQ(instance_id_of(Json{{"instance_id", "12"}}), "12");
  EXPECT_EQ(instance_id_of(Json::object()), "0");
}

}  // namespace
}  // namespace tacho
