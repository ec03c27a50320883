#include "codec/jsonl.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/sample_detail.h"
#include "support/sample_run.h"

namespace tacho {
namespace {

using Json = nlohmann::ordered_json;

Schema long_schema() {
  Schema schema = sample_schema();
  schema.push_back({22, "process_pid", "", 0, Rule::level, 0, 1, "", nullptr});
  schema.push_back({31, "process_gpu_vram_mib", "MiB", 4, Rule::level, 0, 1, "", nullptr});
  schema.push_back({100, "system_load1", "", 2, Rule::level, 0, 1, "", nullptr});
  schema.push_back({101, "system_iowait", "s", 3, Rule::delta, 0, 1, "", nullptr});
  return schema;
}

Row long_row(int64_t index) {
  Row row = sample_row(index);
  row.cells.insert(row.cells.end(), {4001, 12.6, 0.25, kAbsent});
  return row;
}

std::vector<std::string> lines_of(int rows, bool compatible = false, bool with_baseline = true, tacho::Run run = sample_run()) {
  JsonlEncoder encoder;
  encoder.begin(run, long_schema(), compatible);
  if (with_baseline) encoder.baseline(sample_detail(0));
  std::vector<std::string> lines;
  for (int i = 0; i < rows; ++i) {
    Writer out;
    encoder.write(out, long_row(i), sample_detail(i + 1));
    lines.emplace_back(out.view());
  }
  return lines;
}

TEST(Jsonl, OneLineInFull) {
  EXPECT_EQ(
      lines_of(2)[1],
      R"({"timestamp_secs":1794735002,"timestamp":1794735002.250,"actual_interval_ms":1000,"job_name":"train","tracked_pid":4001,)"
      R"("cpu":{"utilization_pct":2.2500,"per_core_pct":[25.00,100.00],"utime_secs":null,"stime_secs":null,"process_count":321,)"
      R"("cgroup_utilization_pct":1.5000,"cgroup_usage_secs":16.0000,"process_cores_used":1.5000,"process_child_count":null,)"
      R"("process_utime_secs":null,"process_stime_secs":null,"process_pss_mib":1.500,"process_rss_mib":null,)"
      R"("process_memory_source":"pss","process_disk_read_bytes":null,"process_disk_write_bytes":null,)"
      R"("process_gpu_usage":null,"process_gpu_vram_mib":12.6000,"process_gpu_utilized":null},)"
      R"("memory":{"total_mib":1000.000,"free_mib":250.000,"available_mib":500.000,"used_mib":500.500,"used_pct":50.05,)"
      R"("buffers_mib":10.000,"cached_mib":20.000,"swap_total_mib":0.000,"swap_used_mib":0.000,"swap_used_pct":0,)"
      R"("active_mib":30.000,"inactive_mib":40.000},)"
      R"("network":[{"interface":"eth0","mac_address":"52:54:00:12:34:56","driver":"virtio_net","operstate":"up","speed_mbps":1000,)"
      R"("mtu":1500,"rx_bytes_per_sec":2000.000,"tx_bytes_per_sec":50.000,"rx_bytes_total":9000,"tx_bytes_total":700,"counted":true},)"
      R"({"interface":"veth1","mac_address":null,"driver":"veth","operstate":"up","speed_mbps":10000,"mtu":1500,)"
      R"("rx_bytes_per_sec":0.000,"tx_bytes_per_sec":0.000,"rx_bytes_total":7,"tx_bytes_total":7,"counted":false}],)"
      R"("disk":[{"device":"vda","model":null,"vendor":"0x1af4","serial":null,"device_type":"ssd","capacity_bytes":8000000000,)"
      R"("mounts":[{"mount_point":"/","filesystem":"ext4","total_bytes":4000,"used_bytes":1000,"available_bytes":3000,"used_pct":25.00}],)"
      R"("read_bytes_per_sec":2048.000,"write_bytes_per_sec":4096.000,"read_bytes_total":8192,"write_bytes_total":16384,"counted":true}],)"
      R"("gpu":[{"uuid":"GPU-1","name":"H200","device_type":"nvidia","host_id":null,)"
      R"("detail":{"driver_version":"555.1","pci_bus_id":"0000:01:00.0"},"utilization_pct":71.50,"vram_total_bytes":1000,)"
      R"("vram_used_bytes":250,"vram_used_pct":25.00,"temperature_celsius":null,"power_watts":null,"frequency_mhz":null,"core_count":null}],)"
      R"("limits":{"cpu_quota_cores":1.5000,"cpuset_cpus":null,"memory_limit_mib":64.000},)"
      R"("extended":{"system_load1":0.25,"system_iowait":null},)"
      R"("resource-tracker-version":"0.1.0","tacho_version":"0.1.0"})"
      "\n");
}

TEST(Jsonl, TheFirstSampleHasNoIntervalButRatesWithABaseline) {
  const Json first = Json::parse(lines_of(1)[0]);
  EXPECT_FALSE(first.contains("actual_interval_ms"));
  EXPECT_EQ(first["network"][0]["rx_bytes_per_sec"], 2000.0);
  const Json blind = Json::parse(lines_of(1, false, false)[0]);
  EXPECT_TRUE(blind["network"][0]["rx_bytes_per_sec"].is_null());
  EXPECT_EQ(blind["network"][0]["rx_bytes_total"], 5000);
  EXPECT_EQ(blind["cpu"]["per_core_pct"], (Json{nullptr, nullptr}));
  EXPECT_TRUE(blind["cpu"]["cgroup_utilization_pct"].is_null());
}

TEST(Jsonl, CompatibleMibAreWholeNumbers) {
  const Json json = Json::parse(lines_of(1, true)[0]);
  EXPECT_EQ(json["memory"]["used_mib"].dump(), "501");
  EXPECT_EQ(json["cpu"]["process_pss_mib"].dump(), "2");
  EXPECT_EQ(json["cpu"]["process_gpu_vram_mib"].dump(), "13");
  EXPECT_EQ(json["limits"]["memory_limit_mib"].dump(), "64");
}

TEST(Jsonl, DevicesThatComeOrFallBack) {
  JsonlEncoder encoder;
  encoder.begin(sample_run(), long_schema(), false);
  Detail before = sample_detail(5);
  before.network.erase(before.network.begin());
  before.disks[0].read_bytes = 1 << 30;
  before.cores.pop_back();
  encoder.baseline(before);
  Writer out;
  encoder.write(out, long_row(0), sample_detail(6));
  const Json json = Json::parse(out.view());
  EXPECT_TRUE(json["network"][0]["rx_bytes_per_sec"].is_null());  // new: no earlier reading
  EXPECT_EQ(json["disk"][0]["read_bytes_per_sec"], 0.0);          // reset: starts again
  EXPECT_EQ(json["cpu"]["per_core_pct"].size(), 2u);
}

TEST(Jsonl, CountersThatAPoolDoesNotHaveAreNull) {
  JsonlEncoder encoder;
  encoder.begin(sample_run(), long_schema(), false);
  Detail detail = sample_detail(1);
  detail.disks[0].read_bytes = detail.disks[0].write_bytes = std::nullopt;
  detail.network[0].mtu = std::nullopt;
  encoder.baseline(detail);
  detail.stamp_ns += 1'000'000'000;
  Writer out;
  encoder.write(out, long_row(0), detail);
  const Json json = Json::parse(out.view());
  for (const char* key : {"read_bytes_total", "write_bytes_total", "read_bytes_per_sec", "write_bytes_per_sec"})
    EXPECT_TRUE(json["disk"][0][key].is_null()) << key;
  EXPECT_TRUE(json["network"][0]["mtu"].is_null());
}

TEST(Jsonl, HiddenAndMissingFieldsAreNull) {
  auto run = sample_run();
  run.hidden = {"job_name", "pid"};
  const Json json = Json::parse(lines_of(1, false, true, run)[0]);
  EXPECT_TRUE(json["job_name"].is_null());
  EXPECT_TRUE(json["tracked_pid"].is_null());
}

TEST(Jsonl, NothingReadIsNullEverywhereAndExtendedAbsent) {
  JsonlEncoder encoder;
  encoder.begin(sample_run(), sample_schema(), false);
  Writer out;
  encoder.write(out, sample_row(0), Detail{});
  const Json json = Json::parse(out.view());
  for (const auto& [key, value] : json["memory"].items()) EXPECT_TRUE(value.is_null()) << key;
  EXPECT_TRUE(json["gpu"].empty());
  EXPECT_FALSE(json.contains("extended"));
  EXPECT_TRUE(json["tracked_pid"].is_null());
}

}  // namespace
}  // namespace tacho
