#include <gtest/gtest.h>
#include <snappy-c.h>

#include <limits>

#include "net/metrics/answers.h"
#include "net/metrics/otlp.h"
#include "net/metrics/protobuf.h"
#include "net/metrics/remote_write.h"

namespace tacho {
namespace {

TEST(RemoteWrite, FieldsHaveTheBytesOfTheWireFormat) {
  std::string out;
  ProtoWriter writer(out);
  writer.integer(2, 300);
  writer.bytes(1, "ab");
  EXPECT_EQ(out, std::string("\x10\xac\x02\x0a\x02"
                             "ab"));
  out.clear();
  writer.integer(1, -1);
  EXPECT_EQ(out.size(), 11u) << "a negative number has ten bytes";
}

TEST(RemoteWrite, LabelsAreSortedUniqueAndClean) {
  const MetricSeries series{.name = "m", .labels = {{"mode", "user"}, {"empty", ""}}};
  const SeriesLabels labels =
      sorted_labels(series, {{"run_id", "r"}, {"job", "tacho"}, {"job_name", "a\x01\n\xff"}, {"mode", "other"}});
  const SeriesLabels expected{
      {"__name__", "m"}, {"job", "tacho"}, {"job_name", "a \n\xEF\xBF\xBD"}, {"mode", "user"}, {"run_id", "r"}};
  EXPECT_EQ(labels, expected);
}

TEST(RemoteWrite, RequestIsByteExact) {
  const std::vector<MetricSeries> series{{.name = "x"}, {.name = "unused"}};
  const std::vector<MetricPoint> points{{0, 1, 1.0}};
  const std::string label("\x0a\x0d\x0a\x08__name__\x12\x01x", 15);
  const std::string sample("\x12\x0b\x09\0\0\0\0\0\0\xf0\x3f\x10\x01", 13);
  EXPECT_EQ(write_request(series, {}, points), "\x0a\x1c" + label + sample);
  EXPECT_EQ(write_request(series, {}, {}), "");
}

TEST(RemoteWrite, SnappyBlocksReadBack) {
  const std::string text(10'000, 'a');
  const std::string block = snappy_block(text);
  std::string back(text.size(), 0);
  size_t bytes = back.size();
  ASSERT_EQ(::snappy_uncompress(block.data(), block.size(), back.data(), &bytes), SNAPPY_OK);
  EXPECT_EQ(back, text);
  EXPECT_LT(block.size(), 1000u);
  EXPECT_EQ(snappy_block(""), std::string(1, 0)) << "the empty request has a length too";
}

TEST(RemoteWrite, StaleMarkerIsThatOfPrometheus) {
  EXPECT_TRUE(is_stale(stale_marker()));
  EXPECT_FALSE(is_stale(std::numeric_limits<double>::quiet_NaN()));
  const std::string text =
      write_request(std::vector<MetricSeries>{{.name = "x"}}, {}, std::vector<MetricPoint>{{0, 1, stale_marker()}});
  EXPECT_NE(text.find(std::string("\x02\0\0\0\0\0\xf0\x7f", 8)), std::string::npos);
}

TEST(RemoteWrite, DeadLettersAreOpenMetrics) {
  const SeriesLabels labels{{"__name__", "m"}, {"a", "q\"\\\n"}};
  EXPECT_EQ(openmetrics_line(labels, {0, 1794736860050, 1.5}), "m{a=\"q\\\"\\\\\\n\"} 1.5 1794736860.050\n");
}

// The clock was set back by an hour after the start.
TEST(Otlp, NoPointIsOlderThanItsStart) {
  const std::vector<MetricSeries> series{{.name = "process.cpu.time", .unit = "s", .shape = OtlpShape::monotonic}};
  const std::vector<MetricPoint> points{{0, 1794733200000, 100}};
  const OtlpRequest before{{}, "1", 1794736800000, series, points}, same{{}, "1", 1794733200000, series, points};
  const std::string json = otlp_json_request(otlp_json_part(before));
  EXPECT_NE(json.find(R"([{"timeUnixNano":"1794733200000000000","asDouble":100}])"), std::string::npos) << json;
  EXPECT_EQ(otlp_protobuf(before).size() + 9, otlp_protobuf(same).size());
}

TEST(Otlp, JsonPointIsThatOfTheConventions) {
  const std::vector<MetricSeries> series{
      {.name = "process.cpu.time", .labels = {{"cpu.mode", "user"}}, .unit = "s", .shape = OtlpShape::monotonic},
      {.name = "process.memory.usage", .unit = "By", .shape = OtlpShape::sum, .is_integer = true}};
  const std::vector<MetricPoint> points{{0, 1794736860000, 100}, {1, 1794736860000, 3221225472.0}};
  const OtlpAttributes resource{{"service.name", "align"},
                                {"process.pid", int64_t{7}},
                                {"process.command_args", std::vector<std::string>{"bwa", "mem"}}};
  const std::string json = otlp_json_request(otlp_json_part({resource, "1", 1794736800000, series, points}));
  EXPECT_NE(json.find(R"({"attributes":[{"key":"cpu.mode","value":{"stringValue":"user"}}],"startTimeUnixNano":)"
                      R"("1794736800000000000","timeUnixNano":"1794736860000000000","asDouble":100})"),
            std::string::npos)
      << json;
  EXPECT_NE(json.find(R"("asInt":"3221225472"})"), std::string::npos);
  EXPECT_NE(json.find(R"("aggregationTemporality":2,"isMonotonic":false)"), std::string::npos);
  EXPECT_NE(json.find(R"({"key":"process.pid","value":{"intValue":"7"}})"), std::string::npos);
  const std::string binary = otlp_protobuf({resource, "1", 1794736800000, series, points});
  EXPECT_NE(binary.find("process.cpu.time"), std::string::npos);
  EXPECT_NE(binary.find(std::string("\x31\0\0\0\xc0\0\0\0\0", 9)), std::string::npos) << "as_int is a fixed64";
}

TEST(MetricAnswers, EachStatusHasItsRow) {
  using enum MetricAnswer;
  const auto prom = [](int status) { return classify_metrics(MetricProtocol::remote_write, status); };
  const auto otlp = [](int status) { return classify_metrics(MetricProtocol::otlp, status); };
  for (const int status : {200, 202, 204}) EXPECT_EQ(prom(status), delivered);
  for (const int status : {400, 422, 409, 418}) EXPECT_EQ(prom(status), refused) << status;
  for (const int status : {500, 501, 505, 599}) EXPECT_EQ(prom(status), broken) << status;
  for (const int status : {500, 501, 505, 400}) EXPECT_EQ(otlp(status), refused) << status;
  for (const int status : {0, 408, 425, 502, 503, 504}) EXPECT_EQ(otlp(status), outage) << status;
  for (const int status : {401, 403, 404, 405, 415, 301, 307, 402, 410, 431, 511}) {
    EXPECT_EQ(prom(status), settings) << status;
    EXPECT_EQ(otlp(status), settings) << status;
  }
  EXPECT_EQ(prom(413), too_large);
  EXPECT_EQ(otlp(429), slow_down);
}

TEST(MetricAnswers, PartialSuccessIsRead) {
  EXPECT_FALSE(parse_partial_success("", false));
  EXPECT_FALSE(parse_partial_success(std::string("\x0a\0", 2), false)) << "present but empty is full success";
  EXPECT_FALSE(parse_partial_success("{\"partialSuccess\":{}}", true));
  const auto binary = parse_partial_success("\x0a\x06\x08\x03\x12\x02no", false);
  ASSERT_TRUE(binary);
  EXPECT_EQ(binary->rejected, 3);
  EXPECT_EQ(binary->message, "no");
  const auto json = parse_partial_success(R"({"partialSuccess":{"rejectedDataPoints":"5","errorMessage":"x"}})", true);
  ASSERT_TRUE(json);
  EXPECT_EQ(json->rejected, 5);
  for (const char* text :
       {"\x0a\xff", "\x0a\x06\x08", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "<html>", "{", "[]"}) {
    EXPECT_FALSE(parse_partial_success(text, false));
    EXPECT_FALSE(parse_partial_success(text, true));
  }
  EXPECT_EQ(server_words("a\nb\x1b[31m" + std::string(500, 'x')).size(), 200u);
}

}  // namespace
}  // namespace tacho
