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

std::vector<std::string> lines_of(int rows, bool compatible = false, bool with_baseline = true,
                                  tacho::Run run = sample_run()) {
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
      R"("memory":{"total_mib":1000.0,"free_mib":250.0,"available_mib":500.0,"used_mib":500.5,"used_pct":50.05,)"
      R"("buffers_mib":10.0,"cached_mib":20.0,"swap_total_mib":0.0,"swap_used_mib":0.0,"swap_used_pct":0,)"
      R"("active_mib":30.0,"inactive_mib":40.0},)"
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
  EXPECT_EQ(json["cpu"]["process_gpu_vram_mib"].dump(), "12.6");
  EXPECT_EQ(json["limits"]["memory_limit_mib"].dump(), "64");
}

TEST(Jsonl, CompatibleUsedAndAvailableAreNoMoreThanThereIs) {
  JsonlEncoder encoder;
  encoder.begin(sample_run(), long_schema(), true);
  Detail detail = sample_detail(0);
  for (int64_t available_kib = 500 * 1024; available_kib <= 501 * 1024; ++available_kib) {
    detail.memory.total_bytes = (int64_t{1000} * 1024 + 307) * 1024;  // 1000.3 MiB
    detail.memory.available_bytes = available_kib * 1024;
    detail.memory.used_bytes = *detail.memory.total_bytes - *detail.memory.available_bytes;
    Writer out;
    encoder.write(out, long_row(0), detail);
    const Json memory = Json::parse(out.view())["memory"];
    ASSERT_TRUE(memory["used_mib"].is_number_integer());
    ASSERT_LE(memory["used_mib"].get<int>() + memory["available_mib"].get<int>(), memory["total_mib"].get<int>())
        << available_kib;
  }
}

TEST(Jsonl, MessagesTravelInsideOfALine) {
  JsonlEncoder encoder;
  encoder.begin(sample_run(), long_schema(), true);
  Writer out;
  const std::vector<std::string> messages{"a \"word\"", "another"};
  encoder.write(out, long_row(0), sample_detail(0), messages);
  EXPECT_EQ(Json::parse(out.view())["messages"], Json(messages));
}

TEST(Jsonl, HiddenIdentifiersAreInNoDeviceList) {
  tacho::Run run = sample_run();
  run.hidden = {"host_hostname", "mac_address", "disk_serial", "gpu_uuid"};
  Detail detail = sample_detail(1);
  detail.network[0].interface = "enx525400123456";  // named after its address
  detail.disks[0].serial = "WD-1234";
  detail.gpus[0].uuid = "GPU-7c3c";
  detail.gpus[0].host_id = "secret-host";
  const auto line = [&] {
    JsonlEncoder encoder;
    encoder.begin(run, long_schema(), false);
    Writer out;
    encoder.write(out, long_row(0), detail);
    return std::string(out.view());
  };
  const std::string hidden = line();
  for (const char* secret : {"52:54:00:12:34:56", "525400123456", "WD-1234", "GPU-7c3c", "secret-host"})
    EXPECT_EQ(hidden.find(secret), std::string::npos) << secret;
  EXPECT_EQ(Json::parse(hidden)["network"][0]["interface"], "enx1");
  run.hidden.clear();
  EXPECT_NE(line().find("secret-host"), std::string::npos);
  EXPECT_NE(line().find("enx525400123456"), std::string::npos);
}

// A list that could not be read in one line costs the next one nothing: its rate is over both intervals.
TEST(Jsonl, AListThatWasMissingOnceLosesNoRate) {
  JsonlEncoder encoder;
  encoder.begin(sample_run(), long_schema(), false);
  encoder.baseline(sample_detail(1));
  Detail empty = sample_detail(2);
  empty.network.clear();
  empty.disks.clear();
  empty.cores.clear();
  empty.cgroup_usage_s.reset();
  Writer out;
  encoder.write(out, long_row(0), empty);
  EXPECT_TRUE(Json::parse(out.view())["network"].empty());
  out.clear();
  encoder.write(out, long_row(1), sample_detail(3));
  const Json json = Json::parse(out.view());
  EXPECT_EQ(json["network"][0]["rx_bytes_per_sec"], 2000.0);
  EXPECT_EQ(json["disk"][0]["read_bytes_per_sec"], 2048.0);
  EXPECT_EQ(json["cpu"]["per_core_pct"][1], 100.0);
  EXPECT_EQ(json["cpu"]["cgroup_utilization_pct"], 1.5);
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
