#include "katib/db/service.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "health.grpc.pb.h"
#include "katib.grpc.pb.h"
#include "katib/db/calls.h"
#include "support/katib_store.h"

namespace tacho {
namespace {

using namespace api::v1::beta1;

class Service : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = open_sqlite_store(folder_ / "katib.db", TableInit::create);
    ASSERT_TRUE(opened);
    store_ = std::move(*opened);
    DbServerOptions options;
    options.listen = "127.0.0.1:0";
    auto started = DbServer::start(options, store_);
    ASSERT_TRUE(started) << started.error().message();
    server_ = std::move(*started);
    rpc_.address = "127.0.0.1:" + std::to_string(server_->port());
    client_ = std::make_unique<DbClient>(rpc_);
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    channel_ = grpc::CreateCustomChannel(rpc_.address, grpc::InsecureChannelCredentials(), arguments);
  }

  // The generated client, for messages that ours never sends.
  grpc::Status report(const ReportObservationLogRequest& request) {
    grpc::ClientContext context;
    ReportObservationLogReply reply;
    return DBManager::Stub(channel_).ReportObservationLog(&context, request, &reply);
  }
  // Bytes as they are.
  grpc::Status report_bytes(std::string_view bytes) {
    grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer> stub(channel_);
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    const grpc::Slice slice(bytes.data(), bytes.size());
    auto call = stub.PrepareUnaryCall(&context, "/api.v1.beta1.DBManager/ReportObservationLog",
                                      grpc::ByteBuffer(&slice, 1), &queue);
    call->StartCall();
    grpc::ByteBuffer reply;
    grpc::Status status;
    call->Finish(&reply, &status, nullptr);
    void* tag = nullptr;
    bool done = false;
    queue.Next(&tag, &done);
    return status;
  }
  std::vector<MetricRow> rows(const std::string& trial) {
    std::vector<MetricRow> rows;
    const RpcStatus status = client_->get(trial, "", "", "", rows);
    EXPECT_TRUE(status.ok()) << status.message;
    return rows;
  }

  TempDir folder_;
  std::shared_ptr<ObservationStore> store_;
  std::unique_ptr<DbServer> server_;
  RpcOptions rpc_;
  std::unique_ptr<DbClient> client_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(Service, ReportsGetsAndDeletes) {
  const std::vector<MetricRow> sent = {metric_row("2026-11-15T10:30:00.1234567+01:00", "loss", "0.5"),
                                       metric_row("0001-01-01T00:00:00Z", "acc", "")};
  ASSERT_TRUE(client_->report("trial", sent).ok());
  const auto back = rows("trial");
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].time_stamp, "0001-01-01T00:00:00Z");
  EXPECT_EQ(back[1].time_stamp, "2026-11-15T09:30:00.123456Z");
  EXPECT_EQ(back[1].name + "=" + back[1].value, "loss=0.5");
  std::vector<MetricRow> some;
  ASSERT_TRUE(
      client_->get("trial", "loss", "2026-11-15T09:30:00.123456Z", "2026-11-15T10:30:00.123456+01:00", some).ok());
  EXPECT_EQ(some.size(), 1u);
  EXPECT_STREQ(rpc_code_name(client_->get("trial", "", "yesterday", "", some).code), "UNKNOWN");
  ASSERT_TRUE(client_->remove("trial").ok());
  EXPECT_TRUE(rows("trial").empty());
  EXPECT_TRUE(client_->healthy().ok());
}

TEST_F(Service, NothingToStoreIsNoError) {
  EXPECT_TRUE(client_->report("trial", {}).ok());
  EXPECT_TRUE(client_->report("trial", std::vector{metric_row("", "loss", "1")}).ok());
  EXPECT_TRUE(report(ReportObservationLogRequest()).ok());
  EXPECT_TRUE(rows("trial").empty());
}

TEST_F(Service, AllRowsOrNone) {
  ReportObservationLogRequest request;
  request.set_trial_name("trial");
  auto& logs = *request.mutable_observation_log();
  auto* first = logs.add_metric_logs();
  first->set_time_stamp("2026-11-15T09:30:00Z");
  first->mutable_metric()->set_name("loss");
  logs.add_metric_logs();  // neither time nor metric: left out
  auto* third = logs.add_metric_logs();
  third->set_time_stamp("2026-11-15T09:30:01Z");
  const grpc::Status no_metric = report(request);
  EXPECT_EQ(no_metric.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(no_metric.error_message().find("row 2"), std::string::npos) << no_metric.error_message();
  third->mutable_metric();
  third->set_time_stamp("2026-11-15 09:30:01");
  const grpc::Status bad_time = report(request);
  EXPECT_EQ(bad_time.error_code(), grpc::StatusCode::UNKNOWN);
  EXPECT_NE(bad_time.error_message().find("2026-11-15 09:30:01"), std::string::npos) << bad_time.error_message();
  third->set_time_stamp("2026-11-15T09:30:01Z");
  third->mutable_metric()->set_name(std::string(256, 'm'));
  EXPECT_EQ(report(request).error_code(), grpc::StatusCode::UNKNOWN);
  EXPECT_TRUE(rows("trial").empty());
  std::string wide;
  for (int i = 0; i < 255; ++i) wide += "é";
  third->mutable_metric()->set_name(wide);
  EXPECT_TRUE(report(request).ok());
  EXPECT_EQ(rows("trial").size(), 2u);
}

TEST_F(Service, BytesInAnyOrderAndBytesThatAreNone) {
  // The log before the name, in two parts, with a field that nobody knows and a metric in two parts.
  const std::string time =
      "\x0a\x14"
      "2026-11-15T09:30:00Z";
  const std::string row = time + std::string("\x12\x06\x0a\x04loss", 8) +
                          std::string(
                              "\x12\x03\x12\x01"
                              "1",
                              5) +
                          "\x1a\x02??";
  const std::string log = std::string("\x0a") + static_cast<char>(row.size()) + row;
  const std::string part = std::string("\x12") + static_cast<char>(log.size()) + log;
  ASSERT_TRUE(report_bytes(part + "\x0a\x01t" + part + "\x0a\x05trial").ok());
  const auto stored = rows("trial");
  ASSERT_EQ(stored.size(), 2u);
  EXPECT_EQ(stored[0].name + "=" + stored[0].value, "loss=1");
  for (const std::string& bytes : {std::string("\x12\x7f"), std::string("\x0a\x05tri"), part.substr(0, part.size() - 1),
                                   std::string("\x12\x03\x0a\x05x", 5), std::string("\x0a\x01\xff"),
                                   std::string(9, '\xff'), std::string("\x0c")}) {
    EXPECT_EQ(report_bytes(bytes).error_code(), grpc::StatusCode::INTERNAL) << testing::PrintToString(bytes);
  }
  EXPECT_EQ(rows("trial").size(), 2u);
}

TEST_F(Service, HealthNamesTheServiceOrNone) {
  grpc::health::v1::Health::Stub stub(channel_);
  const auto check = [&](const char* service) {
    grpc::ClientContext context;
    grpc::health::v1::HealthCheckRequest request;
    request.set_service(service);
    grpc::health::v1::HealthCheckResponse reply;
    const grpc::Status status = stub.Check(&context, request, &reply);
    return status.ok() ? static_cast<int>(reply.status()) : -static_cast<int>(status.error_code());
  };
  EXPECT_EQ(check(""), 1);
  EXPECT_EQ(check("grpc.health.v1.Health"), 1);
  EXPECT_EQ(check("api.v1.beta1.DBManager"), -static_cast<int>(grpc::StatusCode::UNKNOWN));
  std::filesystem::remove(folder_ / "katib.db");
  EXPECT_EQ(check(""), -static_cast<int>(grpc::StatusCode::UNAVAILABLE));
}

TEST_F(Service, AReportOfAMillionRows) {
#ifdef TACHO_SANITIZED
  constexpr size_t kRows = 100'000;
#else
  constexpr size_t kRows = 1'000'000;
#endif
  ReportObservationLogRequest request;
  request.set_trial_name("trial");
  for (int i = 0; i < static_cast<int>(kRows); ++i) {
    auto& log = *request.mutable_observation_log()->add_metric_logs();
    log.set_time_stamp(std::string(TimeStampText(1'700'000'000'000'000 + i).wire()));
    log.mutable_metric()->set_name(i % 2 == 0 ? "loss" : "accuracy");
    log.mutable_metric()->set_value(std::to_string(i));
  }
  ASSERT_TRUE(report(request).ok());
  request.Clear();
  const auto stored = rows("trial");
  ASSERT_EQ(stored.size(), kRows);
  EXPECT_EQ(stored.front().value, "0");
  EXPECT_EQ(stored.back().value, std::to_string(kRows - 1));
}

TEST_F(Service, ManyAtOnceAndAStopInTheMiddle) {
  std::atomic<int> acknowledged{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      DbClient client(rpc_);
      const std::vector<MetricRow> chunk(50, metric_row("2026-11-15T09:30:00Z", "loss", std::to_string(thread)));
      while (client.report("trial", chunk).ok()) acknowledged += 50;
    });
  }
  while (acknowledged < 1000) std::this_thread::yield();
  server_->stop(20'000);
  for (std::thread& thread : threads) thread.join();
  server_.reset();
  // What was acknowledged is there, and nothing else.
  EXPECT_EQ(read_all(*store_, {"trial", "", {}, {}}).size(), static_cast<size_t>(acknowledged));
}

TEST_F(Service, APortThatIsTakenIsRefused) {
  DbServerOptions options;
  options.listen = rpc_.address;
  EXPECT_FALSE(DbServer::start(options, store_));
}

// Who sends the same report again, because no answer came, does not store it twice.
TEST_F(Service, AReportWithAnIdIsStoredOnce) {
  const std::vector<MetricRow> sent{metric_row("2026-11-15T09:30:00Z", "loss", "1")};
  for (int i = 0; i < 3; ++i) {
    const RpcStatus status = client_->report("trial", sent, "abc-0-1");
    ASSERT_TRUE(status.ok()) << status.message;
    EXPECT_TRUE(status.knows_ids);
  }
  EXPECT_EQ(rows("trial").size(), 1u);
  ASSERT_TRUE(client_->report("trial", sent, "abc-1-1").ok());
  ASSERT_TRUE(client_->report("trial", sent, std::string(300, 'x')).ok()) << "one that cannot be kept is passed over";
  EXPECT_EQ(rows("trial").size(), 3u);
}

// A caller that gave up before the rows were stored: they are not stored behind its back.
TEST_F(Service, WhatNobodyWaitsForIsNotStored) {
  ReportObservationLogRequest request;
  request.set_trial_name("trial");
  auto* log = request.mutable_observation_log()->add_metric_logs();
  log->set_time_stamp("2026-11-15T09:30:00Z");
  log->mutable_metric()->set_name("loss");
  log->mutable_metric()->set_value("1");
  const std::string text = request.SerializeAsString();
  const grpc::Slice slice(text);
  const grpc::ByteBuffer bytes(&slice, 1);
  EXPECT_EQ(report_call(*store_, bytes, "", [] { return true; }).error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(rows("trial").size(), 0u);
  EXPECT_TRUE(report_call(*store_, bytes, "", [] { return false; }).ok());
  EXPECT_EQ(rows("trial").size(), 1u);
}

}  // namespace
}  // namespace tacho
