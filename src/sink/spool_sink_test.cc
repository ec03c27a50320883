#include "sink/spool_sink.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/units.h"
#include "spool/reader.h"
#include "support/sample_run.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

class SpoolSinkTest : public testing::Test {
 protected:
  SpoolSinkTest() { ::setenv("TACHO_SPOOL_DIR", dir_.path().c_str(), 1); }
  ~SpoolSinkTest() override { ::unsetenv("TACHO_SPOOL_DIR"); }

  std::unique_ptr<Sink> open(int64_t upload_interval_ns) {
    SinkOptions options;
    options.upload_interval_ns = upload_interval_ns;
    options.spooled = [this](SpoolSink& opened) { spooled_ = &opened; };
    auto sink = open_sink("s3://bucket/prefix", options);
    EXPECT_TRUE(sink);
    EXPECT_EQ(sink->get(), spooled_);
    return std::move(*sink);
  }

  TempDir dir_;
  SpoolSink* spooled_ = nullptr;
};

TEST_F(SpoolSinkTest, SealsByTheTimeThatRowsCover) {
  auto run = sample_run();
  auto sink = open(10 * kNsPerSec);
  ASSERT_TRUE(sink->begin(run, sample_schema()));
  Row row = sample_row(0);
  row.interval_ns = kNsPerSec;
  for (int i = 0; i < 25; ++i) {
    row.index = i;
    row.realtime_ns += kNsPerSec;
    ASSERT_TRUE(sink->write(row, nullptr));
  }
  const SpoolRun spooled(spooled_->folder());
  ASSERT_EQ(spooled.sealed().size(), 2u);
  EXPECT_EQ(spooled.sealed()[0].seal.rows, 10);
  ASSERT_TRUE(sink->end(run));
  ASSERT_EQ(spooled.sealed().size(), 3u);
  EXPECT_EQ(spooled.sealed()[2].seal.rows, 5);
}

// Ticks that come a moment early do not make every batch a row longer.
TEST_F(SpoolSinkTest, SealsWithTheNearestRow) {
  auto run = sample_run();
  auto sink = open(10 * kNsPerSec);
  ASSERT_TRUE(sink->begin(run, sample_schema()));
  Row row = sample_row(0);
  row.interval_ns = kNsPerSec - 100'000;
  for (int i = 0; i < 20; ++i) {
    row.index = i;
    row.realtime_ns += row.interval_ns;
    ASSERT_TRUE(sink->write(row, nullptr));
  }
  const auto sealed = SpoolRun(spooled_->folder()).sealed();
  ASSERT_EQ(sealed.size(), 2u);
  EXPECT_EQ(sealed[0].seal.rows, 10);
  EXPECT_EQ(sealed[1].seal.rows, 10);
}

TEST_F(SpoolSinkTest, DescribesTheRunWithoutWhatIsHidden) {
  auto run = sample_run();
  run.command = {"train", "--password", "hunter2"};
  run.metadata.job_name = "shown";
  run.host.host_ip = "192.0.2.7";
  run.hidden = {"command", "host_ip"};
  auto sink = open(kNsPerSec);
  ASSERT_TRUE(sink->begin(run, sample_schema()));
  const std::string meta = SpoolRun(spooled_->folder()).meta().value_or("");
  EXPECT_NE(meta.find("shown"), std::string::npos);
  EXPECT_NE(meta.find("s3://bucket/prefix"), std::string::npos);
  EXPECT_EQ(meta.find("hunter2"), std::string::npos);
  EXPECT_EQ(meta.find("192.0.2.7"), std::string::npos);
}

TEST_F(SpoolSinkTest, BucketMustBeNamed) {
  for (const char* bad : {"s3://", "s3:///key", "s3://my bucket/key", "s3://bucket!/key", "s3://user@bucket"}) {
    const auto sink = open_sink(bad, {});
    ASSERT_FALSE(sink) << bad;
    EXPECT_EQ(sink.error().code, Code::invalid);
  }
}

}  // namespace
}  // namespace tacho
