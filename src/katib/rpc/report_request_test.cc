#include "katib/rpc/report_request.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "katib.pb.h"

namespace tacho {
namespace {

std::string by_generated_code(const std::string& trial, const std::vector<MetricRow>& rows) {
  api::v1::beta1::ReportObservationLogRequest request;
  request.set_trial_name(trial);
  request.mutable_observation_log();
  for (const MetricRow& row : rows) {
    auto& log = *request.mutable_observation_log()->add_metric_logs();
    log.set_time_stamp(row.time_stamp.str());
    log.mutable_metric()->set_name(row.name);
    log.mutable_metric()->set_value(row.value);
  }
  return request.SerializeAsString();
}

std::string by_hand(const std::string& trial, const std::vector<MetricRow>& rows) {
  const RowBatch batch(rows);
  const ReportRequest request(trial, batch);
  std::vector<unsigned char> room(request.room());
  const auto bytes = request.write(room.data());
  EXPECT_GE(bytes.data(), room.data());
  EXPECT_LE(bytes.data() + bytes.size(), room.data() + room.size());
  return {bytes.begin(), bytes.end()};
}

// Lengths on both sides of where a varint gets another byte, and of what is left out because it is empty.
TEST(ReportRequest, IsWhatTheGeneratedCodeWrites) {
  std::vector<MetricRow> rows;
  for (const size_t length : {0, 1, 59, 60, 61, 125, 126, 127, 128, 129, 16381, 16382, 16383, 16384, 16385, 65535}) {
    rows.push_back({"2026-11-15T09:30:00Z", "loss", std::string(length, 'x'), {}, {}});
    rows.push_back({"", std::string(length, 'n'), "", 7, 3});
    rows.push_back({std::string(length, 't'), "", "€ 3", {}, {}});
    EXPECT_EQ(by_hand(std::string(length, 'a'), rows), by_generated_code(std::string(length, 'a'), rows)) << length;
    EXPECT_EQ(by_hand("t", {rows.back()}), by_generated_code("t", {rows.back()})) << length;
  }
  EXPECT_EQ(by_hand("", {}), by_generated_code("", {}));
}

}  // namespace
}  // namespace tacho
