#include "deliver/service_delivery.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/units.h"
#include "deliver/bucket_delivery.h"
#include "spool/writer.h"
#include "support/double.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

class ReplayedClock final : public Clock {
 public:
  int64_t monotonic_ns() override { return now_ns; }
  int64_t realtime_ns() override { return 1'794'751'200 * kNsPerSec + now_ns; }
  int wait(std::span<pollfd>, int64_t deadline_ns) override { return now_ns = deadline_ns, 0; }
  int64_t now_ns = kNsPerSec;
};

constexpr const char* kMeta =
    R"({"run":"r","api_url":"http://127.0.0.1:1","bucket_uri":"","data_source":"inline","host_known":true,)"
    R"("header":"timestamp,a","start":{"job_name":"j"},"outcome":null})";

class Delivered : public testing::Test {
 protected:
  Delivered() : notices_(false), shared_{http_, notices_, "token", {}, {}, clock_} {
    auto writer = SpoolWriter::create({dir_.path() + "/spool"}, "20261115T140000Z");
    writer_.emplace(std::move(*writer));
    writer_->set_header("timestamp,a\n");
    EXPECT_TRUE(writer_->write_meta(kMeta, false));
  }

  TempDir dir_;
  WithVariable service_{"SENTINEL_API_URL", "http://127.0.0.1:1"};
  ReplayedClock clock_;
  HttpClient http_;
  Notices notices_;
  Delivering shared_;
  std::optional<SpoolWriter> writer_;
};

// Nothing listens on port 1 of the loopback address: every call is refused at once.
TEST_F(Delivered, AnHourWithoutNetwork) {
  ServiceDelivery delivery(SpoolRun(writer_->folder()), Role::beside, shared_);
  const uint64_t warnings_before = log::warnings();
  const int64_t end_ns = clock_.now_ns + 3600 * kNsPerSec;
  int64_t next_seal_ns = clock_.now_ns, rows = 0, calls = 0;
  while (clock_.now_ns < end_ns) {
    if (clock_.now_ns >= next_seal_ns) {
      for (int i = 0; i < 60; ++i) ASSERT_TRUE(writer_->append(std::to_string(rows++) + ",1\n"));
      ASSERT_TRUE(writer_->seal());
      next_seal_ns += 60 * kNsPerSec;
    }
    const Step step = delivery.step();
    ++calls;
    ASSERT_EQ(step.kind, Step::Kind::wait);
    clock_.now_ns = std::max(clock_.now_ns, std::min(step.wake_ns, next_seal_ns));
  }
  EXPECT_LE(log::warnings() - warnings_before, 1u);
  EXPECT_LT(calls, 1000);  // back-off, not a busy loop
  int64_t kept = 0;
  for (const Segment& segment : SpoolRun(writer_->folder()).sealed()) kept += segment.seal.rows;
  EXPECT_EQ(kept, rows);
  EXPECT_FALSE(delivery.is_registered());
}

TEST_F(Delivered, LeftWhenTheTimeIsOver) {
  ASSERT_TRUE(writer_->append("1,2\n"));
  const std::string folder = writer_->folder();
  ServiceDelivery delivery(SpoolRun(folder), Role::beside, shared_);
  const int64_t deadline_ns = clock_.now_ns + 8 * kNsPerSec;
  delivery.finish(deadline_ns);
  for (;;) {
    const Step step = delivery.step();
    if (step.kind == Step::Kind::left) break;
    ASSERT_EQ(step.kind, Step::Kind::wait);
    ASSERT_LE(step.wake_ns, deadline_ns);
    clock_.now_ns = std::max(clock_.now_ns, step.wake_ns);
  }
  EXPECT_EQ(clock_.now_ns, deadline_ns);
  ASSERT_EQ(SpoolRun(folder).sealed().size(), 1u);  // what was open is sealed and kept
}

TEST_F(Delivered, PlainHttpElsewhereIsRefused) {
  std::string meta = kMeta;
  meta.replace(meta.find("http://127.0.0.1:1"), 18, "http://192.0.2.1:80");
  ASSERT_TRUE(writer_->write_meta(meta, false));
  ServiceDelivery delivery(SpoolRun(writer_->folder()), Role::beside, shared_);
  delivery.finish(0);
  EXPECT_EQ(delivery.step().kind, Step::Kind::left);
  EXPECT_NE(delivery.reason().find("http"), std::string::npos) << delivery.reason();
}

// Nobody corrects the set-up while the job's exit is held: what is wrong is told at once, and the rows are kept.
TEST_F(Delivered, ABucketWithoutCredentialsIsNotWaitedFor) {
  std::string meta = kMeta;
  meta.replace(meta.find(R"("bucket_uri":"")"), 15, R"("bucket_uri":"s3://b/p")");
  ASSERT_TRUE(writer_->write_meta(meta, false));
  ASSERT_TRUE(writer_->append("1,2\n"));
  shared_.bucket_credentials = [](const SpoolMeta&) {
    return Result<AwsCredentials>(Error{Code::invalid, "none here", "", ""});
  };
  BucketDelivery delivery(SpoolRun(writer_->folder()), Role::beside, shared_);
  EXPECT_EQ(delivery.step().kind, Step::Kind::wait);  // the run goes on
  delivery.finish(clock_.now_ns + 30 * kNsPerSec);
  clock_.now_ns += kNsPerSec;
  EXPECT_EQ(delivery.step().kind, Step::Kind::left);
  EXPECT_EQ(delivery.reason(), "none here");
  // Plain http elsewhere is refused before anything is sent.
  shared_.bucket_credentials = [](const SpoolMeta&) {
    return Result<AwsCredentials>(AwsCredentials{"a", "b", "", 0, "", 0});
  };
  const WithVariable endpoint("TACHO_S3_ENDPOINT", "http://192.0.2.1:9");
  BucketDelivery refused(SpoolRun(writer_->folder()), Role::beside, shared_);
  refused.finish(clock_.now_ns + 30 * kNsPerSec);
  EXPECT_EQ(refused.step().kind, Step::Kind::left);
}

// While the old ones are good, whoever gives new ones is asked with little patience, and not for every batch.
TEST_F(Delivered, ABucketIsNotKeptWaitingForNewCredentials) {
  spill(dir_ / "s3.json", R"({"credentials":{"a":{"secret_key":"b","session_token":"","expires":9999999999}}})");
  DoubleServer s3("s3_double.py", {"--config", dir_ / "s3.json"});
  DoubleServer silent("echo_double.py");
  silent.fault(R"({"path":".*"})", R"({"delay_s":60})");
  const WithVariable endpoint("TACHO_S3_ENDPOINT", s3.url());
  std::string meta = kMeta;
  meta.replace(meta.find(R"("bucket_uri":"")"), 15, R"("bucket_uri":"s3://b/p")");
  ASSERT_TRUE(writer_->write_meta(meta, false));
  int asked = 0;
  shared_.bucket_credentials = [&](const SpoolMeta&) -> Result<AwsCredentials> {
    if (asked++ == 0) return AwsCredentials{"a", "b", "", system_clock().realtime_ns() + 100 * kNsPerSec, "", 0};
    HttpRequest request;
    request.url = silent.url();
    const auto answer = http_.send(request);
    return answer ? Error{Code::gone, "there was an answer", "", ""} : answer.error();
  };
  BucketDelivery delivery(SpoolRun(writer_->folder()), Role::beside, shared_);
  ASSERT_TRUE(writer_->append("1,2\n") && writer_->seal());
  delivery.step();
  for (const char* row : {"3,4\n", "5,6\n"}) ASSERT_TRUE(writer_->append(row) && writer_->seal());
  clock_.now_ns += 90 * kNsPerSec;
  delivery.finish(clock_.now_ns + 400 * kNsPerMs);
  delivery.step();
  delivery.step();
  EXPECT_EQ(asked, 2);
  EXPECT_NE(s3.get("/__objects").find("000002.csv.gz"), std::string::npos) << s3.get("/__objects");
}

// sentinel.md L7: nothing was uploaded before the end, and the whole is too large for one call.
TEST_F(Delivered, LargeRunGoesToS3First) {
  spill(dir_ / "s3.json", R"({"credentials":{}})");
  DoubleServer s3("s3_double.py", {"--config", dir_ / "s3.json"});
  spill(dir_ / "config.json", R"({"prefix":"s3://data/runs/{run_id}"})");
  DoubleServer service("sentinel_double.py", {"--config", dir_ / "config.json", "--s3", s3.url()});
  const WithVariable endpoint("TACHO_S3_ENDPOINT", s3.url()), ours("SENTINEL_API_URL", service.url());
  const std::string filler(1000, '7');
  const auto finish = [&](int rows) {
    auto writer = SpoolWriter::create({dir_ / "spool"}, "20261115T150000Z");
    writer->set_header("timestamp,a\n");
    std::string meta = kMeta;
    meta.replace(meta.find("http://127.0.0.1:1"), 18, service.url());
    const WithVariable ours("SENTINEL_API_URL", service.url());
    EXPECT_TRUE(writer->write_meta(meta, false));
    for (int i = 0; i < rows; ++i) EXPECT_TRUE(writer->append(std::to_string(i) + "," + filler + "\n"));
    EXPECT_TRUE(writer->seal());
    ServiceDelivery delivery(SpoolRun(writer->folder()), Role::beside, shared_);
    delivery.finish(clock_.now_ns + 60 * kNsPerSec);
    Step step = delivery.step();
    for (; step.kind == Step::Kind::wait; step = delivery.step()) clock_.now_ns = std::max(clock_.now_ns, step.wake_ns);
    EXPECT_EQ(step.kind, Step::Kind::done) << delivery.reason();
    const std::string runs = service.get("/__runs");
    return std::pair(runs.find(R"("data_source": "inline")") != std::string::npos,
                     runs.find(R"("data_source": "s3")") != std::string::npos);
  };
  EXPECT_EQ(finish(4000), std::pair(true, false));  // just below 4 MiB: inline
  EXPECT_EQ(finish(4400), std::pair(true, true));   // above
}

// Uploads that cannot be written down are put again and told of once; at the end all rows go inline, which needs no
// state.
TEST_F(Delivered, AStateThatCannotBeWrittenCostsNothing) {
  spill(dir_ / "s3.json", R"({"credentials":{}})");
  DoubleServer s3("s3_double.py", {"--config", dir_ / "s3.json"});
  spill(dir_ / "config.json", R"({"prefix":"s3://data/runs/{run_id}","life_s":1000000})");
  DoubleServer service("sentinel_double.py", {"--config", dir_ / "config.json", "--s3", s3.url()});
  const WithVariable endpoint("TACHO_S3_ENDPOINT", s3.url()), ours("SENTINEL_API_URL", service.url());
  std::string meta = kMeta;
  meta.replace(meta.find("http://127.0.0.1:1"), 18, service.url());
  ASSERT_TRUE(writer_->write_meta(meta, false));
  ASSERT_EQ(::mkdir((writer_->folder() + "/state.json").c_str(), 0700), 0);
  for (const char* row : {"1,2\n", "3,4\n"}) ASSERT_TRUE(writer_->append(row) && writer_->seal());
  const std::string folder = writer_->folder();
  const uint64_t warnings_before = log::warnings();
  ServiceDelivery delivery(SpoolRun(folder), Role::beside, shared_);
  int calls = 0;
  for (const int64_t end_ns = clock_.now_ns + 600 * kNsPerSec; clock_.now_ns < end_ns; ++calls) {
    const Step step = delivery.step();
    ASSERT_EQ(step.kind, Step::Kind::wait);
    clock_.now_ns = std::max(clock_.now_ns, std::min(step.wake_ns, end_ns));
  }
  EXPECT_LT(calls, 200);  // back-off, not every second
  delivery.finish(clock_.now_ns + 30 * kNsPerSec);
  Step step = delivery.step();
  for (; step.kind == Step::Kind::wait; step = delivery.step()) clock_.now_ns = std::max(clock_.now_ns, step.wake_ns);
  EXPECT_EQ(step.kind, Step::Kind::done) << delivery.reason();
  EXPECT_LE(log::warnings() - warnings_before, 1u);
  EXPECT_NE(service.get("/__runs").find(R"("data_csv": "timestamp,a\n1,2\n3,4\n")"), std::string::npos)
      << service.get("/__runs");
}

// How often the service was told within an hour of the replayed clock that the run lives.
class Heartbeats : public Delivered {
 protected:
  int64_t count(const std::string& config) {
    spill(dir_ / "config.json", config);
    DoubleServer service("sentinel_double.py", {"--config", dir_ / "config.json"});
    std::string meta = kMeta;
    meta.replace(meta.find("http://127.0.0.1:1"), 18, service.url());
    const WithVariable ours("SENTINEL_API_URL", service.url());
    EXPECT_TRUE(writer_->write_meta(meta, false));
    ServiceDelivery delivery(SpoolRun(writer_->folder()), Role::beside, shared_);
    const int64_t end_ns = clock_.now_ns + 3600 * kNsPerSec;
    while (clock_.now_ns < end_ns) {
      const Step step = delivery.step();
      EXPECT_EQ(step.kind, Step::Kind::wait);
      clock_.now_ns = std::max(clock_.now_ns, std::min(step.wake_ns, end_ns));
    }
    EXPECT_TRUE(delivery.is_registered());
    const std::string log = service.log();
    int64_t calls = 0;
    for (size_t at = 0; (at = log.find("/heartbeat\"", at)) != std::string::npos; ++at) ++calls;
    return calls;
  }
};

TEST_F(Heartbeats, EveryMinuteWhereAPathIsSet) {
  const WithVariable path("TACHO_SENTINEL_HEARTBEAT_PATH", "/runs/{run_id}/heartbeat");
  const int64_t calls = count(R"({"heartbeat":true,"life_s":1000000})");
  EXPECT_GE(calls, 54);  // 60 s and a tenth
  EXPECT_LE(calls, 67);
}

TEST_F(Heartbeats, OffOnceTheServiceDoesNotKnowThem) {
  const WithVariable path("TACHO_SENTINEL_HEARTBEAT_PATH", "/runs/{run_id}/heartbeat");
  EXPECT_EQ(count(R"({"life_s":1000000})"), 1);
}

TEST_F(Heartbeats, NoneWithoutAPath) {
  const WithVariable path("TACHO_SENTINEL_HEARTBEAT_PATH", nullptr);
  EXPECT_EQ(count(R"({"heartbeat":true,"life_s":1000000})"), 0);
}

TEST_F(Delivered, FolderOfATachoThatNeverBeganIsRemoved) {
  const std::string folder = writer_->folder();
  ASSERT_EQ(::unlink((folder + "/meta.json").c_str()), 0);
  const auto delivery = make_delivery(SpoolRun(folder), Role::command, shared_);
  delivery->finish(0);
  EXPECT_EQ(delivery->step().kind, Step::Kind::done);
  EXPECT_TRUE(spool_folders(dir_.path() + "/spool").empty());
}

}  // namespace
}  // namespace tacho
