// One fixed run in every format, and the corners of each: hours, days, nothing measured, hostile names.
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "base/base64.h"
#include "codec/gunzip.h"
#include "export/jobstats.h"
#include "export/metrics.h"
#include "export/nextflow.h"
#include "export/shortest.h"
#include "export/snakemake.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

std::string decoded(const std::string& jobstats) {
  std::string plain;
  GzipDecoder().decode(base64_decode(jobstats.substr(4)).value_or(""), plain);
  return plain;
}

tacho::Run fixed_run() {
  tacho::Run run;
  run.id = "20261115-a1b2";
  run.version = "9.9.9";
  run.mode = "run";
  run.command = {"bwa", "mem"};
  run.metadata.job_name = "align";
  run.metadata.task_name = "bwa (s \"1\")";
  run.metadata.orchestrator = "nextflow";
  run.metadata.executor = "slurm";
  run.metadata.external_run_id = "3f/9a1c2b";
  run.started_by.job = {"slurm", "test", "4711", "4711", "", "node01", {}, 0, {}, {}, {}, {}};
  run.started_by.requested.cpus = 4;
  run.started_by.requested.memory_bytes = 8589934592;
  run.started_by.requested.gpus = 0;
  run.host.host_hostname = "node01";
  run.host.host_memory_mib = 65536;
  run.host.host_cpu_model = "AMD EPYC 7763 64-Core Processor";
  run.outcome.state = RunState::finished;
  run.outcome.exit_code = 0;
  run.outcome.started_realtime_ns = 1794736800'000'000'000;
  run.outcome.finished_realtime_ns = 1794736872'345'000'000;
  run.outcome.duration_ns = 72'345'000'000;
  run.method.memory = "pss";
  Totals& totals = run.totals;
  totals.cpu_user_s = 120.5;
  totals.cpu_system_s = 4.25;
  totals.memory_peak_bytes = 3221225472;
  totals.virtual_peak_bytes = 4294967296;
  totals.uss_peak_bytes = 3145728000;
  totals.read_chars = 209715200;
  totals.write_chars = 62914560;
  totals.read_calls = 12000;
  totals.write_calls = 3000;
  totals.io_read_bytes = 104857600;
  totals.io_write_bytes = 52428800;
  totals.switches_voluntary = 1500;
  totals.switches_involuntary = 300;
  return run;
}

constexpr const char* kTrace =
    "nextflow.trace/v2\nrealtime=72345\n%cpu=1724\ncpu_model=AMD EPYC 7763 64-Core Processor\nrchar=209715200\n"
    "wchar=62914560\nsyscr=12000\nsyscw=3000\nread_bytes=104857600\nwrite_bytes=52428800\n%mem=47\nvmem=4194304\n"
    "rss=3145728\npeak_vmem=4194304\npeak_rss=3145728\nvol_ctxt=1500\ninv_ctxt=300\n";

TEST(NextflowTrace, TheFixedRun) {
  const tacho::Run run = fixed_run();
  EXPECT_EQ(nextflow_trace(JobFigures(run)), kTrace);
  for (const char* other : {"", "realtime=1\n", "nextflow.trace/v1\nrealtime=1\n", "nextflow.trace/v2", "garbage"})
    EXPECT_EQ(nextflow_trace(JobFigures(run), other), kTrace) << other;
}

TEST(NextflowTrace, ForeignKeysStayInTheirPlace) {
  tacho::Run run = fixed_run();
  run.totals.read_chars.reset();
  const std::string text =
      nextflow_trace(JobFigures(run), "nextflow.trace/v2\nrealtime=1\nrchar=77\nodd=3\nrealtime=2\ntor");
  EXPECT_TRUE(text.starts_with("nextflow.trace/v2\nrealtime=72345\nrchar=77\nodd=3\n%cpu=1724\n")) << text;
  EXPECT_EQ(text.find("realtime=2"), text.npos);
  EXPECT_EQ(text.find("tor"), text.npos);
}

TEST(NextflowTrace, WhatWasNotMeasuredIsLeftOut) {
  tacho::Run run;
  run.host.host_cpu_model = "A=B\nC";
  EXPECT_EQ(nextflow_trace(JobFigures(run)), "nextflow.trace/v2\nrealtime=0\ncpu_model=A B C\n");
  run.totals.cpu_user_s = 1e9;
  run.totals.cpu_system_s = 0;
  run.outcome.duration_ns = 1'000'000;
  EXPECT_NE(nextflow_trace(JobFigures(run)).find("%cpu=2147483647\n"), std::string::npos);
}

class NextflowTsv : public ::testing::Test {
 protected:
  void SetUp() override { zone("UTC"); }
  void TearDown() override { ::unsetenv("TZ"), ::tzset(); }
  void zone(const char* name) { ::setenv("TZ", name, 1), ::tzset(); }
  std::string line(const tacho::Run& run) { return nextflow_tsv_line(JobFigures(run), 1); }
};

TEST_F(NextflowTsv, TheFixedRun) {
  EXPECT_EQ(line(fixed_run()),
            "1\t3f/9a1c2b\t4711\tbwa (s \"1\")\tCOMPLETED\t0\t2026-11-15 10:00:00.000\t1m 12s\t1m 12s\t172.4%\t3 GB\t"
            "4 GB\t200 MB\t60 MB\n");
}

TEST_F(NextflowTsv, Durations) {
  const auto duration = [&](int64_t ms) {
    tacho::Run run = fixed_run();
    run.outcome.duration_ns = ms * 1'000'000;
    const std::string text = line(run);
    const size_t begin = text.find("10:00:00.000\t") + 13;
    return text.substr(begin, text.find('\t', begin) - begin);
  };
  EXPECT_EQ(duration(850), "850ms");
  EXPECT_EQ(duration(12'340), "12.3s");
  EXPECT_EQ(duration(12'000), "12s");
  EXPECT_EQ(duration(59'960), "60s");
  EXPECT_EQ(duration(60'000), "1m");
  EXPECT_EQ(duration(72'500), "1m 13s");
  EXPECT_EQ(duration(72'345), "1m 12s");
  EXPECT_EQ(duration(3'600'000), "1h");
  EXPECT_EQ(duration((26 * 3600 + 3 * 60) * 1000), "1d 2h 3m");
  EXPECT_EQ(duration((26 * 3600 + 3 * 60 + 4) * 1000), "1d 2h 3m 4s");
}

TEST_F(NextflowTsv, UnknownIsADashAndNamesStayInTheirColumn) {
  tacho::Run run;
  run.metadata.task_name = "a\tb\nc";
  run.outcome.state = RunState::interrupted;
  EXPECT_EQ(line(run), "1\t-\t-\ta b c\tABORTED\t-\t-\t0ms\t0ms\t-\t-\t-\t-\t-\n");
}

TEST_F(NextflowTsv, PercentIsThatOfTheTrace) {
  tacho::Run run = fixed_run();
  run.outcome.duration_ns = 100'000'000'000;
  run.totals.cpu_user_s = 172.45, run.totals.cpu_system_s = 0;
  EXPECT_NE(nextflow_trace(JobFigures(run)).find("%cpu=1725\n"), std::string::npos);
  EXPECT_NE(line(run).find("\t172.5%\t"), std::string::npos) << line(run);
  run.totals.cpu_user_s = 1e300;
  EXPECT_NE(line(run).find("\t214748364.7%\t"), std::string::npos) << line(run);
}

TEST_F(NextflowTsv, AHashIsOfWholeCharacters) {
  tacho::Run run = fixed_run();
  run.metadata.external_run_id = "ää/ääääääää";
  EXPECT_NE(line(run).find("\tää/ääääää\t"), std::string::npos) << line(run);
}

TEST(Snakemake, TheFixedRun) {
  const tacho::Run run = fixed_run();
  EXPECT_EQ(snakemake_line(JobFigures(run)),
            "72.3450\t0:01:12\t3072.00\t4096.00\t3000.00\t3072.00\t100.00\t50.00\t172.44\t124.75\n");
  EXPECT_EQ(snakemake_json_line(JobFigures(run)),
            "{\"cpu_time\": 124.75, \"h:m:s\": \"0:01:12\", \"io_in\": 100.0, \"io_out\": 50.0, \"max_pss\": 3072.0, "
            "\"max_rss\": 3072.0, \"max_uss\": 3000.0, \"max_vms\": 4096.0, \"mean_load\": 172.43762526781396, \"s\": "
            "72.345}\n");
}

TEST(Snakemake, DaysAndUnknown) {
  tacho::Run run;
  run.outcome.duration_ns = 86'401'900'000'000;
  EXPECT_EQ(snakemake_line(JobFigures(run)), "86401.9000\t1 day, 0:00:01\tNA\tNA\tNA\tNA\tNA\tNA\tNA\tNA\n");
  EXPECT_NE(snakemake_json_line(JobFigures(run)).find("\"max_rss\": \"NA\""), std::string::npos);
  run.outcome.duration_ns *= 2;
  EXPECT_NE(snakemake_line(JobFigures(run)).find("2 days, 0:00:03"), std::string::npos);
  run.method.memory = "rss";
  run.totals.memory_peak_bytes = 1 << 20;
  EXPECT_NE(snakemake_line(JobFigures(run)).find("\t1.00\tNA\tNA\tNA\t"), std::string::npos);  // RSS is no PSS
}

TEST(Jobstats, TheFixedRun) {
  const tacho::Run run = fixed_run();
  const JobFigures job(run);
  const std::string text = jobstats_text({&job, 1}, 2);
  ASSERT_TRUE(text.starts_with("JS1:H4sIAAAAAAA")) << text;
  EXPECT_EQ(decoded(text),
            "{\"nodes\":{\"node01\":{\"total_memory\":8589934592,\"used_memory\":3221225472,\"total_time\":124.8,"
            "\"cpus\":4}},\"total_time\":72,\"gpus\":0}");
}

TEST(Jobstats, ShortNoneAndUnknown) {
  tacho::Run run = fixed_run();
  const JobFigures whole(run);
  EXPECT_EQ(jobstats_text({&whole, 1}, 0), "JS1:None");
  run.outcome.duration_ns = 999'000'000;
  const JobFigures brief(run);
  EXPECT_EQ(jobstats_text({&brief, 1}, 3), "JS1:Short");
  run.outcome.duration_ns = 2'000'000'000;
  run.started_by.requested = {};
  run.started_by.job.node = "a\"b";
  const JobFigures bare(run);
  EXPECT_EQ(decoded(jobstats_text({&bare, 1}, 3)),
            "{\"nodes\":{\"a\\\"b\":{\"total_time\":124.8}},\"total_time\":2,\"gpus\":0}");
}

// reportseff divides by what was asked for, and by CPUs, without looking.
TEST(Jobstats, NothingToDivideByIsZero) {
  tacho::Run run = fixed_run();
  run.started_by.requested.cpus = 0.4;
  run.started_by.requested.memory_bytes = 0;
  const JobFigures part(run);
  std::string text = decoded(jobstats_text({&part, 1}, 3));
  EXPECT_NE(text.find("{\"total_time\":124.8,\"cpus\":0.4"), std::string::npos) << text;
  run.totals.cpu_user_s.reset();
  const JobFigures blind(run);
  text = decoded(jobstats_text({&blind, 1}, 3));
  EXPECT_EQ(text.find("cpus"), std::string::npos) << text;
}

TEST(Jobstats, AHiddenHostHasNoName) {
  tacho::Run run = fixed_run();
  run.hidden = {"host_hostname"};
  const JobFigures job(run);
  EXPECT_EQ(decoded(jobstats_text({&job, 1}, 2)).find("node01"), std::string::npos);
}

class JobstatsGpus : public testing::Test {
 protected:
  JobstatsGpus() {
    stored_.run = fixed_run();
    stored_.run.host.host_gpu_count = 2;
    stored_.run.host.host_gpu_memory_mib = 2500;
    stored_.run.host.gpu_memory_mib = {1000, 1500};
    stored_.run.started_by.requested.gpus = 2;
    stored_.folder = dir_.path();
    stored_.rows = 2;
    write("devices.csv",
          "timestamp,gpu_0_usage,gpu_0_vram_mib,gpu_1_usage,gpu_1_vram_mib\n"
          "1794736860.000,0.5,100,,\n1794736872.345,0.5,300,0.25,60\n");
  }
  void write(const std::string& name, const std::string& text) { std::ofstream(dir_ / name) << text; }
  std::string json() { return decoded(jobstats_of({&stored_, 1})); }

  const TempDir dir_;
  StoredRun stored_;
};

TEST_F(JobstatsGpus, EachByItsNumber) {
  EXPECT_NE(json().find("\"cpus\":4,\"gpu_total_memory\":{\"0\":1048576000,\"1\":1572864000},"
                        "\"gpu_used_memory\":{\"0\":314572800,\"1\":62914560},"
                        "\"gpu_utilization\":{\"0\":50.0,\"1\":25.0}}},\"total_time\":72,\"gpus\":2}"),
            std::string::npos)
      << json();
}

TEST_F(JobstatsGpus, NoneWhereItIsNotKnownWhichOrHowLarge) {
  stored_.run.started_by.requested.gpus = 1;  // of two: which?
  EXPECT_EQ(json().find("gpu_"), std::string::npos) << json();
  stored_.run.started_by.requested.gpus = std::nullopt;
  EXPECT_NE(json().find("gpu_total_memory"), std::string::npos) << json();
  for (const std::optional<int64_t> wrong :
       {std::optional<int64_t>(), std::optional<int64_t>(0), std::optional<int64_t>(INT64_MAX)}) {
    stored_.run.host.gpu_memory_mib = {1000, wrong};
    EXPECT_NE(json().find("\"gpu_total_memory\":{\"0\":1048576000},"), std::string::npos) << json();
  }
  stored_.run.host.gpu_memory_mib = {};  // of two, the sum says nothing
  EXPECT_EQ(json().find("gpu_"), std::string::npos) << json();
  stored_.run.started_by.requested.gpus = stored_.run.host.host_gpu_count = 1;
  EXPECT_NE(json().find("\"gpu_total_memory\":{\"0\":2621440000},"), std::string::npos) << json();
}

Schema schema_of(std::initializer_list<const char*> names) {
  Schema schema;
  for (const char* name : names) {
    Column column = kTimestampColumn;
    column.name = name;
    schema.push_back(column);
  }
  return schema;
}

JobMetrics fixed_metrics() {
  JobMetrics metrics;
  metrics.begin(schema_of({"timestamp", "process_utime", "process_stime", "process_memory_mib", "process_children",
                           "process_disk_read_bytes", "process_disk_write_bytes"}));
  Row row;
  row.cells = {1794736860.0, 100, 4, 3072, 2, 104857600, 0};
  metrics.add(row);
  row.cells = {1794736872.345, 20.5, 0.25, 1024, 0, 0, 52428800};
  metrics.add(row);
  return metrics;
}

size_t series_in(const std::string& text) {
  size_t count = 0;
  for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) count += text[at] != '#';
  return count;
}

TEST(Metrics, TheFixedRun) {
  const std::string text = metrics_text(fixed_run(), fixed_metrics(), MetricsFormat::prometheus);
  EXPECT_NE(
      text.find("tacho_job_info{executor=\"slurm\",external_run_id=\"3f/9a1c2b\",job_name=\"align\",orchestrator="
                "\"nextflow\",run_id=\"20261115-a1b2\",tacho_version=\"9.9.9\",task_name=\"bwa (s \\\"1\\\")\"} 1\n"),
      text.npos)
      << text;
  EXPECT_NE(text.find("\ntacho_job_end_time_seconds{job_name=\"align\"} 1794736872.345\n"), text.npos) << text;
  EXPECT_NE(text.find("\ntacho_job_cpu_seconds_total{job_name=\"align\",mode=\"user\"} 120.5\n"), text.npos) << text;
  EXPECT_NE(text.find("\ntacho_job_memory_peak_bytes{job_name=\"align\"} 3221225472\n"), text.npos);
  EXPECT_NE(text.find("\ntacho_job_processes{job_name=\"align\"} 0\n"), text.npos);
  EXPECT_EQ(series_in(text), 15u);
  EXPECT_EQ(text.find("# EOF"), text.npos);
}

TEST(Metrics, OpenMetrics) {
  const std::string text = metrics_text(fixed_run(), fixed_metrics(), MetricsFormat::openmetrics);
  EXPECT_TRUE(text.starts_with("# TYPE tacho_job info\n# HELP tacho_job "));
  EXPECT_TRUE(text.ends_with("# EOF\n"));
  EXPECT_NE(text.find("# TYPE tacho_job_cpu_seconds counter\n# UNIT tacho_job_cpu_seconds seconds\n# HELP "),
            text.npos);
}

TEST(Metrics, HostileNamesAndTheLabelsOfAUser) {
  tacho::Run run = fixed_run();
  run.metadata.job_name = "a\"b\\c\nd\x01\xff";
  run.started_by.job.index = 3;
  run.metric_labels = {{"run_id", "{run_id}"}, {"lab", "x"}};
  const std::string text = metrics_text(run, {}, MetricsFormat::prometheus);
  EXPECT_NE(text.find("tacho_job_running{index=\"3\",job_name=\"a\\\"b\\\\c\\nd \xEF\xBF\xBD\",lab=\"x\",run_id="
                      "\"20261115-a1b2\"} 0\n"),
            text.npos)
      << text;
  for (const char* bad : {"", "x", "=1", "job=x", "__a=1", "1a=2", "a-b=1", "mode=x"})
    EXPECT_FALSE(parse_metric_label(bad)) << bad;
  EXPECT_FALSE(parse_metric_label("a=" + std::string(129, 'x')));
  EXPECT_TRUE(parse_metric_label("run_id={run_id}"));
  EXPECT_FALSE(parse_metric_label("run_id=5"));  // that of another run
  run.metric_labels = {{"a", "{run_id}/{run_id}"}};
  EXPECT_EQ(job_labels(run, false).back().second, "20261115-a1b2/20261115-a1b2");
  EXPECT_EQ(parse_metric_label("a=b=c")->second, "b=c");
  run.metadata.job_name = std::string(10'000, 'n');
  EXPECT_NE(metrics_text(run, {}, MetricsFormat::prometheus).find("job_name=\"" + std::string(64, 'n') + "\""),
            std::string::npos);
  run.metadata.job_name = std::string(100, '\xff');
  EXPECT_EQ(JobFigures(run).job_label().size(), 63u);  // whole characters of three bytes
}

TEST(Metrics, SumsAreThoseOfTheDecimals) {
  JobMetrics metrics;
  Schema schema = schema_of({"process_utime", "process_disk_read_bytes"});
  schema[0].decimals = 4;
  schema[1].decimals = 0;
  metrics.begin(schema);
  Row row;
  for (const double seconds : {0.1, 0.2, 0.0001}) row.cells = {seconds, 1e15 + 1}, metrics.add(row);
  EXPECT_EQ(*metrics.cpu_user_s, 0.3001);  // 0.30010000000000003 in floating point
  EXPECT_EQ(*metrics.read_bytes, 3e15 + 3);
}

TEST(Metrics, AnUnknownValueIsNoLine) {
  JobMetrics metrics;
  metrics.begin(schema_of({"process_memory_mib", "process_gpu_usage"}));
  Row row;
  row.cells = {kAbsent, kAbsent};
  metrics.add(row);
  const std::string text = metrics_text(tacho::Run{}, metrics, MetricsFormat::prometheus);
  EXPECT_EQ(text.find("memory"), text.npos) << text;
  EXPECT_EQ(text.find("gpu"), text.npos) << text;
}

TEST(ShortestDecimal, ReadsBackTheSame) {
  for (const double value : {0.0, 1.0, 0.1, 1e16, 123456789.125, 1e-7, 1e300, 1794736872.345})
    EXPECT_EQ(std::strtod(shortest_decimal(value).c_str(), nullptr), value);
  EXPECT_EQ(shortest_decimal(3221225472.0), "3221225472");
  EXPECT_EQ(shortest_decimal(100, true), "100.0");
}

}  // namespace
}  // namespace tacho
