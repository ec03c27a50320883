#include "katib/rpc/clients.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "health.grpc.pb.h"
#include "katib.grpc.pb.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

using namespace api::v1::beta1;

// A DB manager in this process that keeps what it was told.
class FakeManager : public DBManager::Service, public EarlyStopping::Service, public grpc::health::v1::Health::Service {
 public:
  FakeManager() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(static_cast<DBManager::Service*>(this));
    builder.RegisterService(static_cast<EarlyStopping::Service*>(this));
    builder.RegisterService(static_cast<grpc::health::v1::Health::Service*>(this));
    builder.SetMaxReceiveMessageSize(INT_MAX);
    server_ = builder.BuildAndStart();
  }
  ~FakeManager() override { server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1)); }

  grpc::Status ReportObservationLog(grpc::ServerContext* context, const ReportObservationLogRequest* request,
                                    ReportObservationLogReply*) override {
    const auto found = context->client_metadata().find("authorization");
    authorization =
        found == context->client_metadata().end() ? "" : std::string(found->second.data(), found->second.size());
    report = *request;
    if (delay_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
    return refuse ? grpc::Status(grpc::StatusCode::UNKNOWN, "no such table") : grpc::Status::OK;
  }
  grpc::Status GetObservationLog(grpc::ServerContext*, const GetObservationLogRequest* request,
                                 GetObservationLogReply* reply) override {
    question = *request;
    *reply->mutable_observation_log() = report.observation_log();
    return grpc::Status::OK;
  }
  grpc::Status DeleteObservationLog(grpc::ServerContext*, const DeleteObservationLogRequest* request,
                                    DeleteObservationLogReply*) override {
    deleted = request->trial_name();
    return grpc::Status::OK;
  }
  grpc::Status SetTrialStatus(grpc::ServerContext*, const SetTrialStatusRequest* request,
                              SetTrialStatusReply*) override {
    stopped = request->trial_name();
    return grpc::Status::OK;
  }
  grpc::Status Check(grpc::ServerContext*, const grpc::health::v1::HealthCheckRequest*,
                     grpc::health::v1::HealthCheckResponse* reply) override {
    reply->set_status(serving ? grpc::health::v1::HealthCheckResponse::SERVING
                              : grpc::health::v1::HealthCheckResponse::NOT_SERVING);
    return grpc::Status::OK;
  }

  RpcOptions options() const {
    RpcOptions options;
    options.address = "127.0.0.1:" + std::to_string(port);
    options.timeout_ms = 20'000;
    return options;
  }

  int port = 0;
  int delay_ms = 0;
  bool refuse = false, serving = true;
  ReportObservationLogRequest report;
  GetObservationLogRequest question;
  std::string deleted, stopped, authorization;

 private:
  std::unique_ptr<grpc::Server> server_;
};

MetricRow row(std::string time, std::string name, std::string value) {
  MetricRow row;
  row.time_stamp = time;
  row.name = std::move(name);
  row.value = std::move(value);
  return row;
}

TEST(DbClient, SendsAndReadsRows) {
  FakeManager manager;
  DbClient client(manager.options());
  const std::vector<MetricRow> rows = {row("2026-11-15T09:30:00Z", "loss", "0.5"),
                                       row("2026-11-15T09:30:01Z", "acc", "")};
  ASSERT_TRUE(client.report("trial-1", rows).ok());
  EXPECT_EQ(manager.report.trial_name(), "trial-1");
  EXPECT_EQ(manager.authorization, "");
  std::vector<MetricRow> back(7);
  ASSERT_TRUE(client.get("trial-1", "loss", "a", "b", back).ok());
  EXPECT_EQ(manager.question.metric_name() + manager.question.start_time() + manager.question.end_time(), "lossab");
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[1].name, "acc");
  std::string visited;
  ASSERT_TRUE(client
                  .visit("trial-1", "loss",
                         [&](const MetricRow& one) { visited += one.time_stamp.str() + one.name + one.value + " "; })
                  .ok());
  EXPECT_EQ(visited, back[0].time_stamp.str() + back[0].name + back[0].value + " " + back[1].time_stamp.str() +
                         back[1].name + back[1].value + " ");
  EXPECT_EQ(back[0].time_stamp.str() + back[0].value, "2026-11-15T09:30:00Z0.5");
  ASSERT_TRUE(client.remove("trial-1").ok());
  EXPECT_EQ(manager.deleted, "trial-1");
  EarlyStoppingClient stopping(manager.options());
  ASSERT_TRUE(stopping.set_trial_status("trial-2").ok());
  EXPECT_EQ(manager.stopped, "trial-2");
}

TEST(DbClient, AnswersOfMoreThanFourMebibytesAreTaken) {
  FakeManager manager;
  DbClient client(manager.options());
  const std::vector<MetricRow> rows(8, row("2026-11-15T09:30:00Z", "architecture", std::string(1 << 20, 'x')));
  ASSERT_TRUE(client.report("trial-1", rows).ok());
  std::vector<MetricRow> back;
  ASSERT_TRUE(client.get("trial-1", "", "", "", back).ok());
  EXPECT_EQ(back.size(), 8u);
  size_t seen = 0;
  ASSERT_TRUE(
      client.visit("trial-1", "architecture", [&](const MetricRow& one) { seen += one.value == rows[0].value; }).ok());
  EXPECT_EQ(seen, 8u);
  EXPECT_EQ(manager.question.metric_name(), "architecture");
}

TEST(DbClient, SaysWhatTheServiceSaid) {
  FakeManager manager;
  manager.refuse = true;
  DbClient client(manager.options());
  const std::vector<MetricRow> rows(1);
  const RpcStatus status = client.report("trial-1", rows);
  EXPECT_STREQ(rpc_code_name(status.code), "UNKNOWN");
  EXPECT_NE(status.message.find("no such table"), std::string::npos);
  EXPECT_TRUE(client.healthy().ok());
  manager.serving = false;
  EXPECT_STREQ(rpc_code_name(client.healthy().code), "UNAVAILABLE");
}

TEST(DbClient, NobodyThereAndNobodyAnsweringAreTwoThings) {
  RpcOptions nobody;
  nobody.address = "127.0.0.1:1";
  nobody.timeout_ms = 10'000;
  EXPECT_STREQ(rpc_code_name(DbClient(nobody).healthy().code), "UNAVAILABLE");
  FakeManager manager;
  manager.delay_ms = 1'000;
  RpcOptions hasty = manager.options();
  hasty.timeout_ms = 100;
  EXPECT_STREQ(rpc_code_name(DbClient(hasty).report("t", std::vector<MetricRow>(1)).code), "DEADLINE_EXCEEDED");
}

TEST(DbClient, ProxiesOfTheEnvironmentAreNotAsked) {
  FakeManager manager;
  ::setenv("http_proxy", "http://127.0.0.1:1", 1);
  ::setenv("grpc_proxy", "http://127.0.0.1:1", 1);
  EXPECT_TRUE(DbClient(manager.options()).healthy().ok());
  ::unsetenv("http_proxy");
  ::unsetenv("grpc_proxy");
}

TEST(DbClient, TheTokenIsReadAgainWhenItChanges) {
  FakeManager manager;
  TempDir folder;
  RpcOptions options = manager.options();
  options.token_file = folder / "token";
  DbClient client(options);
  EXPECT_STREQ(rpc_code_name(client.healthy().code), "FAILED_PRECONDITION");
  spill(options.token_file, "first\n");
  ASSERT_TRUE(client.report("t", std::vector<MetricRow>(1)).ok());
  EXPECT_EQ(manager.authorization, "Bearer first");
  spill(folder / "next", "second one is refused\n");
  std::filesystem::rename(folder / "next", options.token_file);
  EXPECT_FALSE(client.report("t", std::vector<MetricRow>(1)).ok());
  spill(folder / "next", "second");
  std::filesystem::rename(folder / "next", options.token_file);
  ASSERT_TRUE(client.report("t", std::vector<MetricRow>(1)).ok());
  EXPECT_EQ(manager.authorization, "Bearer second");
  std::filesystem::remove(options.token_file);
  EXPECT_TRUE(client.report("t", std::vector<MetricRow>(1)).ok());
}

TEST(DbClient, TlsFilesThatAreMissingAreNamed) {
  RpcOptions options;
  options.address = "127.0.0.1:1";
  options.tls = true;
  options.ca_file = "/nonexistent/ca.pem";
  const RpcStatus status = DbClient(options).healthy();
  EXPECT_STREQ(rpc_code_name(status.code), "FAILED_PRECONDITION");
  EXPECT_NE(status.message.find("/nonexistent/ca.pem"), std::string::npos);
}

TEST(RpcCode, HasTheNamesOfTheStandard) {
  EXPECT_STREQ(rpc_code_name(0), "OK");
  EXPECT_STREQ(rpc_code_name(16), "UNAUTHENTICATED");
  EXPECT_STREQ(rpc_code_name(17), "UNKNOWN");
  EXPECT_STREQ(rpc_code_name(-1), "UNKNOWN");
}

}  // namespace
}  // namespace tacho
