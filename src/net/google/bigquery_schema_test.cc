#include "net/google/bigquery_schema.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tacho {
namespace {

using OrderedJson = nlohmann::ordered_json;

BqTableSpec spec() {
  BqTableSpec spec{"t", "time", {}};
  spec.fields = {
      {"time", BqType::timestamp, BqMode::required, false, {}},
      {"zone", BqType::string, BqMode::required, false, {}},
      {"id", BqType::integer, BqMode::required, false, {}},
      {"flag", BqType::boolean, BqMode::nullable, false, {}},
      {"use", BqType::floating, BqMode::repeated, false, {}},
      {"seq", BqType::integer, BqMode::nullable, true, {}},
      {"inputs",
       BqType::record,
       BqMode::repeated,
       false,
       {{"key", BqType::string, BqMode::required, false, {}}, {"size", BqType::integer, BqMode::nullable, true, {}}}}};
  return spec;
}

BqAdapter adapter(const std::string& fields_json) {
  auto made = BqAdapter::make(spec(), {"etag", fields_json, "", false});
  EXPECT_TRUE(made);
  return std::move(*made);
}

constexpr const char* kRow =
    R"({"time":"2026-11-15T00:00:00.000000Z","zone":"z","id":9007199254740993,"flag":null,"use":[1,2.5],"seq":3,
    "inputs":[{"key":"a","size":5},{"key":"b","size":null}],"unknown":1})";

TEST(BigQuerySchema, OwnTableTakesEverything) {
  const BqAdapter own = adapter(bq_fields_json(spec().fields));
  EXPECT_EQ(own.blocked(), "");
  EXPECT_TRUE(own.missing().empty());
  EXPECT_FALSE(own.can_add());
  const auto row = own.adapt(kRow);
  ASSERT_TRUE(row);
  // Null is left out, INTEGER beyond 2^53 is a text.
  EXPECT_EQ(OrderedJson::parse(*row),
            OrderedJson::parse(
                R"({"time":"2026-11-15T00:00:00.000000Z","zone":"z","id":"9007199254740993","use":[1,2.5],"seq":3,
      "inputs":[{"key":"a","size":5},{"key":"b"}]})"));
  const auto plain = own.adapt(kRow, false);
  ASSERT_TRUE(plain);
  EXPECT_EQ(OrderedJson::parse(*plain).contains("seq"), false);
  EXPECT_EQ(OrderedJson::parse(*plain)["inputs"][0], OrderedJson::parse(R"({"key":"a"})"));
}

TEST(BigQuerySchema, IntersectionByNameAndType) {
  const BqAdapter theirs = adapter(
      R"([{"name":"TIME","type":"timestamp","mode":"required"},{"name":"Id","type":"FLOAT64"},{"name":"flag","type":"STRING"},
      {"name":"use","type":"FLOAT"},{"name":"inputs","type":"STRUCT","mode":"REPEATED","fields":[{"name":"key","type":"STRING"}]},{"name":"theirs","type":"DATE"}])");
  EXPECT_EQ(theirs.blocked(), "");
  EXPECT_EQ(theirs.missing(), (std::vector<std::string>{"zone", "flag", "use", "seq", "inputs.size"}));
  const auto row = theirs.adapt(kRow);
  ASSERT_TRUE(row);
  const OrderedJson json = OrderedJson::parse(*row);
  EXPECT_EQ(json.size(), 3u) << *row;
  EXPECT_EQ(json["TIME"], "2026-11-15T00:00:00.000000Z");
  EXPECT_EQ(json["inputs"], OrderedJson::parse(R"([{"key":"a"},{"key":"b"}])"));
}

TEST(BigQuerySchema, PatchKeepsTheirsAndAppendsOurs) {
  const std::string before =
      R"([{"name":"id","type":"INTEGER","mode":"REQUIRED","description":"kept","policyTags":{"names":["x"]}},
      {"name":"inputs","type":"RECORD","mode":"REPEATED","fields":[{"name":"key","type":"STRING","mode":"REQUIRED"}]}])";
  const BqAdapter theirs = adapter(before);
  EXPECT_TRUE(theirs.can_add());
  const OrderedJson patched = OrderedJson::parse(theirs.patched_fields_json());
  EXPECT_EQ(patched[0], OrderedJson::parse(before)[0]);
  EXPECT_EQ(patched[1]["fields"].size(), 2u);
  EXPECT_EQ(patched[1]["fields"][1]["name"], "size");
  ASSERT_EQ(patched.size(), 7u);
  // Never REQUIRED: BigQuery refuses that for a table with rows.
  EXPECT_EQ(patched[2], OrderedJson::parse(R"({"name":"time","type":"TIMESTAMP","mode":"NULLABLE"})"));
  EXPECT_EQ(patched[5]["mode"], "REPEATED");
}

TEST(BigQuerySchema, PlaceholdersAndBlocks) {
  const BqAdapter own = adapter(bq_fields_json(spec().fields));
  const auto row = own.adapt(R"({"time":"2026-11-15T00:00:00Z"})");
  ASSERT_TRUE(row);
  EXPECT_EQ(OrderedJson::parse(*row), OrderedJson::parse(R"({"time":"2026-11-15T00:00:00Z","zone":"","id":0})"));
  EXPECT_NE(adapter(R"([{"name":"owner","type":"STRING","mode":"REQUIRED"}])").blocked().find("owner"),
            std::string::npos);
  EXPECT_NE(adapter(R"([{"name":"id","type":"STRING","mode":"REQUIRED"}])").blocked().find("id"), std::string::npos);
  EXPECT_FALSE(own.adapt("[]"));
  EXPECT_FALSE(own.adapt("{"));
}

TEST(BigQuerySchema, NullInAListIsNeverSent) {
  const BqAdapter own = adapter(bq_fields_json(spec().fields));
  const auto row = own.adapt(R"({"time":"t","zone":"z","id":1,"use":[1,null]})");
  ASSERT_TRUE(row);
  EXPECT_FALSE(OrderedJson::parse(*row).contains("use"));
  const auto empty = own.adapt(R"({"time":"t","zone":"z","id":1,"use":[],"inputs":[]})");
  ASSERT_TRUE(empty);
  EXPECT_FALSE(OrderedJson::parse(*empty).contains("use"));
  EXPECT_EQ(OrderedJson::parse(*empty)["inputs"], OrderedJson::array());
}

TEST(BigQuerySchema, ReadsATable) {
  const auto table = parse_bq_table(
      R"({"etag":"\"e\"","schema":{"fields":[{"name":"a","type":"STRING"}]},"timePartitioning":{"type":"DAY","field":"a","requirePartitionFilter":true}})");
  ASSERT_TRUE(table);
  EXPECT_EQ(table->etag, "\"e\"");
  EXPECT_EQ(table->partition, "a");
  EXPECT_TRUE(table->filter_required);
  EXPECT_EQ(table->fields_json, R"([{"name":"a","type":"STRING"}])");
  EXPECT_TRUE(parse_bq_table(R"({"requirePartitionFilter":true})")->filter_required);
  EXPECT_EQ(parse_bq_table("{}")->fields_json, "[]");
  EXPECT_FALSE(parse_bq_table("<html>"));
}

TEST(BigQuerySchema, TrimsTextsAndRecordsOnly) {
  std::string row = OrderedJson{{"a", std::string(1000, 'x')}, {"n", 1}}.dump();
  ASSERT_TRUE(trim_bq_row(row, 300));
  EXPECT_LE(row.size(), 300u);
  EXPECT_EQ(OrderedJson::parse(row)["n"], 1);
  OrderedJson inputs = OrderedJson::array();
  for (int i = 0; i < 100; ++i) inputs.push_back({{"key", std::string("k").append(std::to_string(i))}});
  row = OrderedJson{{"inputs", inputs}}.dump();
  ASSERT_TRUE(trim_bq_row(row, 500));
  EXPECT_EQ(OrderedJson::parse(row)["inputs_truncated"], true);
  EXPECT_EQ(OrderedJson::parse(row)["inputs"][0]["key"], "k0");
  row = OrderedJson{{"numbers", std::vector<int>(1000, 1)}}.dump();
  EXPECT_FALSE(trim_bq_row(row, 100));  // a list of values would be another list
  row = "\xc3(";
  EXPECT_FALSE(trim_bq_row(row, 1));
}

TEST(BigQuerySchema, PartitionBounds) {
  const int64_t now_s = 1'794'700'800;  // 2026-11-15T00:00:00Z
  const auto in = [&](const char* time) {
    return in_partition_bounds(std::string(R"({"x":1,"time":")") + time + R"("})", "time", now_s);
  };
  EXPECT_TRUE(in("2026-11-15T00:00:00.000000Z"));
  EXPECT_TRUE(in("2021-11-16T00:00:00.000000Z"));  // 1825 days
  EXPECT_FALSE(in("2021-11-15T23:59:59.999999Z"));
  EXPECT_TRUE(in("2027-11-16T23:59:59.000000Z"));  // 366 days
  EXPECT_FALSE(in("2027-11-17T00:00:00.000000Z"));
  EXPECT_TRUE(in_partition_bounds("{}", "time", now_s));
  EXPECT_TRUE(in_partition_bounds(R"({"time":"1970-01-01T00:00:00Z"})", "", now_s));
}

}  // namespace
}  // namespace tacho
