#include "katib/rpc/clients.h"

#include <grpcpp/impl/codegen/client_unary_call.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <array>

#include "health.grpc.pb.h"
#include "katib.grpc.pb.h"
#include "katib/rpc/channel.h"
#include "katib/rpc/reply_rows.h"
#include "katib/rpc/report_request.h"

namespace tacho {

const char* rpc_code_name(int code) {
  static constexpr std::array kNames = {
      "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
      "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
      "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
      "DATA_LOSS", "UNAUTHENTICATED"};
  return code >= 0 && static_cast<size_t>(code) < kNames.size() ? kNames[static_cast<size_t>(code)] : "UNKNOWN";
}

const char* const kReportIdKey = "tacho-report-id";

struct DbClient::State {
  explicit State(const RpcOptions& options) : channel(options) {}

  // One call of the DB manager: the method's pointer, its question and its answer.
  template <class Method, class Request, class Reply>
  RpcStatus call(Method method, const Request& request, Reply& reply) {
    return channel.run([&](const auto& peer, grpc::ClientContext& context) {
      api::v1::beta1::DBManager::Stub stub(peer);
      return (stub.*method)(&context, request, &reply);
    });
  }

  RpcChannel channel;
};

using Db = api::v1::beta1::DBManager::Stub;

DbClient::DbClient(const RpcOptions& options) : state_(std::make_unique<State>(options)) {}
DbClient::~DbClient() = default;

RpcStatus DbClient::report(const std::string& trial, const RowPart& rows, const std::string& id) {
  const ReportRequest written(trial, rows);
  grpc_slice room = grpc_slice_malloc(written.room());
  unsigned char* const start = GRPC_SLICE_START_PTR(room);
  const auto bytes = written.write(start);
  const auto begin = static_cast<size_t>(bytes.data() - start);
  const grpc::Slice slice(grpc_slice_sub_no_ref(room, begin, begin + bytes.size()), grpc::Slice::STEAL_REF);
  const grpc::ByteBuffer request(&slice, 1);
  api::v1::beta1::ReportObservationLogReply reply;
  bool knows_ids = false;
  RpcStatus status = state_->channel.run([&](const auto& peer, grpc::ClientContext& context) {
    if (!id.empty()) context.AddMetadata(kReportIdKey, id);
    const grpc::internal::RpcMethod method("/api.v1.beta1.DBManager/ReportObservationLog",
                                           grpc::internal::RpcMethod::NORMAL_RPC);
    const grpc::Status done = grpc::internal::BlockingUnaryCall(peer.get(), method, &context, request, &reply);
    knows_ids = done.ok() && context.GetServerInitialMetadata().contains(kReportIdKey);
    return done;
  });
  status.knows_ids = knows_ids;
  return status;
}

RpcStatus DbClient::get(const std::string& trial, const std::string& metric, const std::string& start,
                        const std::string& end, std::vector<MetricRow>& rows) {
  api::v1::beta1::GetObservationLogRequest request;
  request.set_trial_name(trial);
  request.set_metric_name(metric);
  request.set_start_time(start);
  request.set_end_time(end);
  api::v1::beta1::GetObservationLogReply reply;
  rows.clear();
  const RpcStatus status = state_->call(&Db::GetObservationLog, request, reply);
  if (!status.ok()) return status;
  rows.reserve(static_cast<size_t>(reply.observation_log().metric_logs_size()));
  for (auto& log : *reply.mutable_observation_log()->mutable_metric_logs()) {
    MetricRow row;
    row.time_stamp = TimeStamp(log.time_stamp());
    row.name = std::move(*log.mutable_metric()->mutable_name());
    row.value = std::move(*log.mutable_metric()->mutable_value());
    rows.push_back(std::move(row));
  }
  return status;
}

RpcStatus DbClient::visit(const std::string& trial, const std::string& metric, const Visit& visit) {
  api::v1::beta1::GetObservationLogRequest request;
  request.set_trial_name(trial);
  request.set_metric_name(metric);
  grpc::ByteBuffer reply;
  bool knows_ids = false;
  RpcStatus status = state_->channel.run([&](const auto& peer, grpc::ClientContext& context) {
    const grpc::internal::RpcMethod method("/api.v1.beta1.DBManager/GetObservationLog",
                                           grpc::internal::RpcMethod::NORMAL_RPC);
    const grpc::Status done = grpc::internal::BlockingUnaryCall(peer.get(), method, &context, request, &reply);
    knows_ids = done.ok() && context.GetServerInitialMetadata().contains(kReportIdKey);
    return done;
  });
  status.knows_ids = knows_ids;
  if (!status.ok() || !reply.Valid()) return status;
  grpc::ProtoBufferReader bytes(&reply);
  if (!visit_rows(bytes, visit)) status = {grpc::StatusCode::INTERNAL, "the answer is no observation log"};
  return status;
}

RpcStatus DbClient::remove(const std::string& trial) {
  api::v1::beta1::DeleteObservationLogRequest request;
  request.set_trial_name(trial);
  api::v1::beta1::DeleteObservationLogReply reply;
  return state_->call(&Db::DeleteObservationLog, request, reply);
}

RpcStatus DbClient::healthy() {
  grpc::health::v1::HealthCheckResponse reply;
  const RpcStatus status = state_->channel.run([&](const auto& peer, grpc::ClientContext& context) {
    grpc::health::v1::Health::Stub stub(peer);
    return stub.Check(&context, grpc::health::v1::HealthCheckRequest(), &reply);
  });
  if (!status.ok() || reply.status() == grpc::health::v1::HealthCheckResponse::SERVING) return status;
  return {grpc::StatusCode::UNAVAILABLE, "the DB manager answers, but says that it is not serving"};
}

struct EarlyStoppingClient::State {
  explicit State(const RpcOptions& options) : channel(options) {}
  RpcChannel channel;
};

EarlyStoppingClient::EarlyStoppingClient(const RpcOptions& options) : state_(std::make_unique<State>(options)) {}
EarlyStoppingClient::~EarlyStoppingClient() = default;

RpcStatus EarlyStoppingClient::set_trial_status(const std::string& trial) {
  api::v1::beta1::SetTrialStatusRequest request;
  request.set_trial_name(trial);
  api::v1::beta1::SetTrialStatusReply reply;
  return state_->channel.run([&](const auto& peer, grpc::ClientContext& context) {
    api::v1::beta1::EarlyStopping::Stub stub(peer);
    return stub.SetTrialStatus(&context, request, &reply);
  });
}

}  // namespace tacho
