// JSON logs: which lines are JSON, which rows come of them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "katib/read/json_line.h"
#include "katib/read/json_time.h"
#include "katib/read/readers.h"

namespace tacho {
namespace {

class JsonTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tacho-json-XXXXXX";
    ::close(::mkstemp(name));
    path_ = name;
    options_.metrics = {"loss", "acc"};
  }
  void TearDown() override { ::unlink(path_.c_str()); }

  using Rows = std::vector<std::string>;
  Rows rows(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    const auto reader = make_json_reader(path_, options_);
    Rows found;
    for (bool more = true; more;) {
      const auto read = reader->read(true, 1000, [&](MetricRow&& row) {
        found.push_back(row.name + "=" + row.value +
                        (row.time_stamp == "0001-01-01T00:00:00Z" ? "" : "@" + row.time_stamp.str()) +
                        (row.step ? " step " + std::to_string(*row.step) : "") +
                        (row.epoch ? " epoch " + std::to_string(*row.epoch) : ""));
      });
      if (!read) return {"error: " + read.error().message()};
      more = *read;
    }
    counts_ = reader->counts();
    return found;
  }

  std::string path_;
  ReaderOptions options_;
  ReaderCounts counts_;
};

TEST_F(JsonTest, RowsInTheOrderOfTheMetrics) {
  EXPECT_EQ(rows(R"({"acc":"0.9","x":1,"loss":"0.3"})"
                 "\n\n"
                 R"( {"loss" : " 2 "} )"
                 "\r\n"),
            (Rows{"loss=0.3", "acc=0.9", "loss= 2 "}));
  EXPECT_EQ(rows(R"({"loss":0.30,"acc":-1E+05})"
                 "\n"),
            (Rows{"loss=0.30", "acc=-1E+05"}));
  EXPECT_EQ(rows(R"({"loss":true,"acc":null})"
                 "\n"
                 R"({"loss":["1"],"acc":{"loss":"1"}})"
                 "\n"),
            Rows{});
  EXPECT_EQ(rows(R"({"loss":"1","loss":"2"})"
                 "\n"
                 R"({"loss":"1","loss":null})"
                 "\n"),
            Rows{"loss=2"});
  EXPECT_EQ(rows(R"({"l\u006fss":"\u00e9\ud83d\ude00\ud800\n"})"
                 "\n"),
            Rows{"loss=\xc3\xa9\xf0\x9f\x98\x80\xef\xbf\xbd\n"});
  EXPECT_EQ(rows("{\"loss\":\"a\xff\"}\n"), Rows{"loss=a\xef\xbf\xbd"});
}

TEST_F(JsonTest, BadLinesAreSkippedOrFail) {
  const std::string log =
      "{\"loss\":\"1\"}\nnot json\n{\"loss\":\"2\"\n[1]\n{\"loss\":\"3\"} x\n{\"loss\":\"4\"}\n{\"loss\":\"5\"";
  EXPECT_EQ(rows(log), (Rows{"loss=1", "loss=4"}));
  EXPECT_EQ(counts_.bad_lines, 5u);
  options_.bad_line = BadLine::fail;
  EXPECT_NE(rows(log).at(0).find("not json"), std::string::npos);
}

TEST_F(JsonTest, NonFinite) {
  EXPECT_EQ(rows(R"({"loss":"NaN","acc":""})"
                 "\n"
                 R"({"loss":"-inf","acc":"abc"})"
                 "\n"),
            Rows{"acc=abc"});
  EXPECT_EQ(counts_.non_finite, 2u);
  EXPECT_EQ(counts_.empty_values, 1u);
}

TEST_F(JsonTest, KepForm) {
  EXPECT_EQ(rows(R"({"metric":"acc","value":0.9,"epoch":3,"step":120,"timestamp":"2026-11-15T09:30:00Z"})"
                 "\n"),
            Rows{"acc=0.9@2026-11-15T09:30:00Z step 120 epoch 3"});
  EXPECT_EQ(rows(R"({"metric":"other","value":1})"
                 "\n"
                 R"({"metric":"acc"})"
                 "\n"
                 R"({"metric":"acc","value":[1]})"
                 "\n"),
            Rows{});
  EXPECT_EQ(rows(R"({"metric":"acc","value":"1","loss":"2","step":2.5})"
                 "\n"),
            (Rows{"loss=2", "acc=1"}));
  options_.metrics = {"value", "acc"};
  EXPECT_EQ(rows(R"({"metric":"acc","value":"1"})"
                 "\n"),
            Rows{"value=1"});
}

TEST_F(JsonTest, TimeStamps) {
  const auto time = [&](const std::string& text) {
    const Rows found = rows("{\"loss\":\"1\",\"timestamp\":" + text + "}\n");
    return found.size() == 1 ? found[0].substr(std::min<size_t>(found[0].size(), 7)) : "?";
  };
  EXPECT_EQ(time("\"2026-11-15T09:30:00.10+01:00\""), "2026-11-15T09:30:00.10+01:00");
  EXPECT_EQ(time("\"\""), "");
  EXPECT_EQ(time("\"yesterday\""), "");
  EXPECT_EQ(time("null"), "");
  EXPECT_EQ(time("true"), "");
  EXPECT_EQ(time("1638422847.5"), "2021-12-02T05:27:27.000000005Z");
  EXPECT_EQ(time("1e300"), "");
  options_.json_time = JsonTime::exact;
  EXPECT_EQ(time("1638422847.5"), "2021-12-02T05:27:27.5Z");
}

TEST(JsonTime, ByDigits) {
  EXPECT_EQ(json_time_by_digits("1638422847"), "2021-12-02T05:27:27Z");
  EXPECT_EQ(json_time_by_digits("1638422847.325"), "2021-12-02T05:27:27.000000325Z");
  EXPECT_EQ(json_time_by_digits("1638422847.50"), "2021-12-02T05:27:27.000000005Z");
  EXPECT_EQ(json_time_by_digits("1.638422847e9"), "2021-12-02T05:27:27Z");
  EXPECT_EQ(json_time_by_digits("-1.5"), "1969-12-31T23:59:59.000000005Z");
  EXPECT_EQ(json_time_by_digits("0.12345678901"), "1970-01-01T00:00:12.345678901Z");
  EXPECT_EQ(json_time_by_digits("-0.5"), "1970-01-01T00:00:00.000000005Z");
  EXPECT_EQ(json_time_by_digits("1e-300"), "1970-01-01T00:00:00.000000001Z");
  EXPECT_FALSE(json_time_by_digits("1e19"));
  EXPECT_FALSE(json_time_by_digits("1e999"));
}

TEST(JsonTime, Exact) {
  EXPECT_EQ(json_time_exact("1638422847"), "2021-12-02T05:27:27Z");
  EXPECT_EQ(json_time_exact("1638422847.123456789999"), "2021-12-02T05:27:27.123456789Z");
  EXPECT_EQ(json_time_exact("1.6384228475e9"), "2021-12-02T05:27:27.5Z");
  EXPECT_EQ(json_time_exact("16384228475e-1"), "2021-12-02T05:27:27.5Z");
  EXPECT_EQ(json_time_exact("5e-2"), "1970-01-01T00:00:00.05Z");
  EXPECT_EQ(json_time_exact("1.23456e-6"), "1970-01-01T00:00:00.000001234Z");
  EXPECT_EQ(json_time_exact("5e-20"), "1970-01-01T00:00:00Z");
  EXPECT_EQ(json_time_exact("-0.5"), "1969-12-31T23:59:59.5Z");
  EXPECT_EQ(json_time_exact("0e2000000000"), "1970-01-01T00:00:00Z");
  EXPECT_FALSE(json_time_exact("1e13"));
  EXPECT_FALSE(json_time_exact("1e99999999999"));
}

TEST(JsonLine, IsStrict) {
  JsonLine json;
  const auto valid = [&](const std::string& line) { return json.parse(line, [](const JsonMember&) {}); };
  for (const char* line : {"{}", "null", " { } ", R"({"a":1})", R"({"a":[1,{"b":[]},"x",-0.5e+3,true,false,null]})",
                           R"({"a":{"b":{}},"c":[[]]})"})
    EXPECT_TRUE(valid(line)) << line;
  for (const char* line : {"",
                           " ",
                           "nul",
                           "1",
                           "\"a\"",
                           "[]",
                           "{",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "{a:1}",
                           "{'a':1}",
                           "{\"a\":01}",
                           "{\"a\":1.}",
                           "{\"a\":.5}",
                           "{\"a\":+1}",
                           "{\"a\":NaN}",
                           "{\"a\":\"\\x\"}",
                           "{\"a\":\"\\u12g4\"}",
                           "{\"a\":\"\t\"}",
                           "{\"a\":[1,]}",
                           "{\"a\":[1}",
                           "{\"a\":{\"b\"}}",
                           "{\"a\":1}}",
                           "{\"a\":tru}",
                           "{\"a\":1 \"b\":2}",
                           "{\"a\":\"x}",
                           "{\"a\":[1 2]}",
                           "{,}",
                           "{\"a\":[,1]}",
                           "{\"a\":{,}}",
                           "{\"a\":\"\\"})
    EXPECT_FALSE(valid(line)) << line;
  EXPECT_TRUE(valid("{\"a\":" + std::string(9000, '[') + std::string(9000, ']') + "}"));
  EXPECT_FALSE(valid("{\"a\":" + std::string(20000, '[') + std::string(20000, ']') + "}"));
}

}  // namespace
}  // namespace tacho
