#include "deliver/metric_fold.h"

#include <gtest/gtest.h>

#include <map>

#include "net/metrics/remote_write.h"

namespace tacho {
namespace {

constexpr std::string_view kColumns =
    "timestamp,process_children,process_utime,process_stime,process_memory_mib,process_disk_read_bytes,"
    "process_disk_write_bytes";
constexpr int64_t kStart = 1794736800000;

MetricMeta meta_of_f() {
  MetricMeta meta;
  meta.started_ms = kStart;
  meta.labels = {{"run_id", "20261115-a1b2"}, {"instance", "node01"}, {"job", "tacho"}, {"job_name", "align"}};
  meta.cpu_request = 4;
  meta.memory_request = 8589934592.0;
  meta.end = MetricEnd{1794736872345, 0, 3221225472};
  return meta;
}

std::string key_of(const MetricSeries& series) {
  std::string key = series.name;
  for (const auto& [name, value] : series.labels) key += "," + value;
  return key;
}

using Points = std::map<std::string, std::vector<std::pair<int64_t, double>>>;
Points points_of(const MetricFold& fold, const std::vector<MetricPoint>& points) {
  Points all;
  for (const MetricPoint& point : points)
    all[key_of(fold.series()[point.series])].emplace_back(point.time_ms - kStart,
                                                          is_stale(point.value) ? -1 : point.value);
  return all;
}

TEST(MetricFold, TheFixedRunComesOutExactly) {
  const MetricMeta meta = meta_of_f();
  MetricFold fold(prometheus_series(meta), kColumns, meta.started_ms, true);
  std::vector<MetricPoint> out;
  fold.row("1794736860.000,2,100,4,3072,104857600,0", false, nullptr, out);
  fold.row("1794736872.345,0,20.5,0.25,1024,0,52428800", true, &*meta.end, out);
  fold.stale(out);
  const Points all = points_of(fold, out);
  EXPECT_EQ(all.size(), 15u);
  using List = std::vector<std::pair<int64_t, double>>;
  EXPECT_EQ(all.at("tacho_job_cpu_seconds_total,user"), (List{{0, 0}, {60000, 100}, {72345, 120.5}, {72346, -1}}));
  EXPECT_EQ(all.at("tacho_job_cpu_seconds_total,system"), (List{{0, 0}, {60000, 4}, {72345, 4.25}, {72346, -1}}));
  EXPECT_EQ(all.at("tacho_job_memory_bytes"), (List{{60000, 3221225472}, {72345, 1073741824}, {72346, -1}}));
  EXPECT_EQ(all.at("tacho_job_running"), (List{{0, 1}, {60000, 1}, {72345, 0}, {72346, -1}}));
  EXPECT_EQ(all.at("tacho_job_disk_bytes_total,write"), (List{{0, 0}, {60000, 0}, {72345, 52428800}, {72346, -1}}));
  EXPECT_EQ(all.at("tacho_job_processes"), (List{{60000, 3}, {72345, 0}, {72346, -1}}));
  EXPECT_EQ(all.at("tacho_job_info"), (List{{0, 1}, {72345, 1}, {72346, -1}}));
  EXPECT_EQ(all.at("tacho_job_exit_code"), (List{{72345, 0}, {72346, -1}}));
  EXPECT_EQ(all.at("tacho_job_end_time_seconds"), (List{{72345, 1794736872.345}, {72346, -1}}));
  EXPECT_EQ(all.at("tacho_job_memory_peak_bytes"), (List{{60000, 3221225472}, {72345, 3221225472}, {72346, -1}}));
}

TEST(MetricFold, SumsOfDecimalsAreExact) {
  const MetricMeta meta = meta_of_f();
  MetricFold fold(prometheus_series(meta), "timestamp,process_utime", meta.started_ms, true);
  std::vector<MetricPoint> out;
  for (int i = 1; i <= 1000; ++i) fold.row(std::to_string(kStart / 1000 + i) + ".000,0.1", false, nullptr, out);
  EXPECT_EQ(points_of(fold, out).at("tacho_job_cpu_seconds_total,user").back().second, 100.0);
}

TEST(MetricFold, UnknownIsNoPointAndAKilledRunKeepsRunning) {
  const MetricMeta meta = meta_of_f();
  MetricFold fold(prometheus_series(meta), kColumns, meta.started_ms, true);
  std::vector<MetricPoint> out;
  fold.row("1794736860.000,,,4,,,0", true, nullptr, out);
  fold.row("garbage", true, nullptr, out);
  fold.stale(out);
  const Points all = points_of(fold, out);
  EXPECT_FALSE(all.contains("tacho_job_cpu_seconds_total,user"));
  EXPECT_FALSE(all.contains("tacho_job_memory_bytes"));
  EXPECT_FALSE(all.contains("tacho_job_processes"));
  EXPECT_FALSE(all.contains("tacho_job_exit_code"));
  EXPECT_EQ(all.at("tacho_job_running").size(), 3u);
  EXPECT_EQ(all.at("tacho_job_running")[1].second, 1);
}

TEST(MetricFold, NoTwoPointsOfASeriesShareATime) {
  const MetricMeta meta = meta_of_f();
  MetricFold fold(prometheus_series(meta), kColumns, meta.started_ms, true);
  std::vector<MetricPoint> out;
  fold.row("1794736800.000,0,1,1,1,1,1", true, &*meta.end, out);
  for (const auto& [name, points] : points_of(fold, out)) EXPECT_EQ(points.size(), 1u) << name;
}

TEST(MetricFold, AClockThatWasSetBackDoesNotEndASeriesInItsPast) {
  const MetricMeta meta = meta_of_f();
  MetricFold fold(prometheus_series(meta), kColumns, meta.started_ms, true);
  std::vector<MetricPoint> out;
  fold.row("1794736860.000,0,1,1,1,1,1", false, nullptr, out);
  fold.row("1794736830.000,0,1,1,1,1,1", true, &*meta.end, out);
  fold.stale(out);
  EXPECT_EQ(points_of(fold, out).at("tacho_job_memory_bytes").back().first, 60001);
  EXPECT_EQ(points_of(fold, out).at("tacho_job_exit_code").back().first, 30001);
}

TEST(MetricFold, OtlpHasAPointARowAndTheExitCodeAtTheEnd) {
  const MetricMeta meta = meta_of_f();
  MetricFold fold(otlp_series(meta), kColumns, meta.started_ms, false);
  std::vector<MetricPoint> out;
  fold.row("1794736860.000,2,100,4,3072,104857600,0", false, nullptr, out);
  fold.row("1794736872.345,0,20.5,0.25,1024,0,52428800", true, &*meta.end, out);
  const Points all = points_of(fold, out);
  using List = std::vector<std::pair<int64_t, double>>;
  EXPECT_EQ(all.at("process.cpu.time,user"), (List{{60000, 100}, {72345, 120.5}}));
  EXPECT_EQ(all.at("process.uptime"), (List{{60000, 60}, {72345, 72.345}}));
  EXPECT_EQ(all.at("tacho.exit.code"), (List{{72345, 0}}));
  EXPECT_EQ(all.size(), 9u);
}

}  // namespace
}  // namespace tacho
