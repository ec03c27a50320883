#include "katib/db/service.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <climits>
#include <optional>

#include "health.grpc.pb.h"
#include "katib.grpc.pb.h"
#include "katib/db/calls.h"
#include "katib/db/grpc_listener.h"
#include "katib/db/memory_guard.h"
#include "katib/rpc/clients.h"
#include "os/file.h"
#include "os/workers.h"

namespace tacho {
namespace {

using grpc::ByteBuffer;
using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;
using namespace api::v1::beta1;

constexpr int kWorkers = 4;

// Runs `call` on a worker and ends the reactor with its status. The request and the reply live until then.
template <class Call>
ServerUnaryReactor* hand_over(CallbackServerContext* context, Workers& workers, Call call) {
  ServerUnaryReactor* reactor = context->DefaultReactor();
  workers.add([context, reactor, call] {
    // Nobody waits for the answer any more: a row stored now would be sent again by the next call.
    reactor->Finish(context->IsCancelled() ? grpc::Status::CANCELLED : call());
  });
  return reactor;
}

using RawReport = DBManager::WithRawCallbackMethod_ReportObservationLog<DBManager::Service>;
using RawGet = DBManager::WithRawCallbackMethod_GetObservationLog<RawReport>;
using ManagerBase = DBManager::WithCallbackMethod_DeleteObservationLog<RawGet>;

class ManagerService final : public ManagerBase {
 public:
  ManagerService(ObservationStore& store, Workers& workers) : store_(store), workers_(workers) {}

  ServerUnaryReactor* ReportObservationLog(CallbackServerContext* context, const ByteBuffer* request,
                                           ByteBuffer* reply) override {
    tell_of_ids(*context);
    const std::string id = report_id(*context);
    return hand_over(context, workers_, [=, this] {
      const grpc::Status status = report_call(store_, *request, id, [context] { return context->IsCancelled(); });
      if (status.ok()) *reply = ByteBuffer(nullptr, 0);
      return status;
    });
  }
  ServerUnaryReactor* GetObservationLog(CallbackServerContext* context, const ByteBuffer* request,
                                        ByteBuffer* reply) override {
    tell_of_ids(*context);
    return hand_over(context, workers_, [=, this] { return get_call(store_, *request, *reply); });
  }
  ServerUnaryReactor* DeleteObservationLog(CallbackServerContext* context, const DeleteObservationLogRequest* request,
                                           DeleteObservationLogReply*) override {
    return hand_over(context, workers_, [=, this] { return delete_call(store_, request->trial_name()); });
  }

 private:
  void tell_of_ids(CallbackServerContext& context) const {
    if (store_.knows_ids()) context.AddInitialMetadata(kReportIdKey, "once");
  }
  // "" when there is none, or none that can be kept.
  static std::string report_id(const CallbackServerContext& context) {
    const auto found = context.client_metadata().find(kReportIdKey);
    constexpr size_t kLongest = 200;
    if (found == context.client_metadata().end() || found->second.size() > kLongest) return "";
    return {found->second.data(), found->second.size()};
  }
  ObservationStore& store_;
  Workers& workers_;
};

class HealthService final
    : public grpc::health::v1::Health::WithCallbackMethod_Check<grpc::health::v1::Health::Service> {
 public:
  HealthService(ObservationStore& store, Workers& workers) : store_(store), workers_(workers) {}
  ServerUnaryReactor* Check(CallbackServerContext* context, const grpc::health::v1::HealthCheckRequest* request,
                            grpc::health::v1::HealthCheckResponse* reply) override {
    return hand_over(context, workers_, [=, this] {
      reply->set_status(grpc::health::v1::HealthCheckResponse::SERVING);
      return health_call(store_, request->service());
    });
  }

 private:
  ObservationStore& store_;
  Workers& workers_;
};

Result<std::shared_ptr<grpc::ServerCredentials>> credentials(const DbServerOptions& options) {
  if (options.tls_cert_file.empty()) return grpc::InsecureServerCredentials();
  const Result<std::string> cert = read_whole_file(options.tls_cert_file);
  if (!cert) return cert.error();
  const Result<std::string> key = read_whole_file(options.tls_key_file);
  if (!key) return key.error();
  grpc::SslServerCredentialsOptions ssl;
  ssl.pem_key_cert_pairs.push_back({*key, *cert});
  if (!options.tls_ca_file.empty()) {
    const Result<std::string> ca = read_whole_file(options.tls_ca_file);
    if (!ca) return ca.error();
    ssl.pem_root_certs = *ca;
    ssl.client_certificate_request = GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY;
  }
  return grpc::SslServerCredentials(ssl);
}

}  // namespace

// Health has a thread of its own: a store that is busy for a minute is not one that is dead.
struct DbServer::State {
  explicit State(std::shared_ptr<ObservationStore> kept) : store(std::move(kept)) {}
  std::shared_ptr<ObservationStore> store;
  Workers workers{kWorkers}, health_worker{1};
  ManagerService manager{*store, workers};
  HealthService health{*store, health_worker};
  std::optional<MemoryGuard> guard;
  std::unique_ptr<GrpcListener> listener;  // none: gRPC listens on a socket of the file system
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor;
  std::unique_ptr<grpc::Server> server;
  int port = 0;
};

// Who says nothing, or nothing any more, does not keep its connection: clients make a new one by themselves. Calls
// beyond the number that one may have at a time wait on the client's side.
void bound_connections(grpc::ServerBuilder& builder) {
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 100);
  builder.AddChannelArgument("grpc.server_handshake_timeout_ms", 20'000);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, 600'000);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, 3'600'000);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, 600'000);
}

Result<std::unique_ptr<DbServer>> DbServer::start(const DbServerOptions& options,
                                                  std::shared_ptr<ObservationStore> store) {
  const auto secure = credentials(options);
  if (!secure) return secure.error();
  auto state = std::make_unique<State>(std::move(store));
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // a second server on the port is a mistake
  // A collector's keep-alive of 30 s is no attack: by default more than two pings in five minutes are.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.SetMaxReceiveMessageSize(INT_MAX);
  builder.SetMaxSendMessageSize(INT_MAX);
  bound_connections(builder);
  if (options.listen.starts_with("unix:")) {
    builder.AddListeningPort(options.listen, *secure, &state->port);
  } else {
    Result<std::unique_ptr<GrpcListener>> listener = GrpcListener::open(options.listen);
    if (!listener) return listener.error();
    state->listener = std::move(*listener);
    state->port = state->listener->port();
    using FromFd = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
    state->acceptor = builder.experimental().AddExternalConnectionAcceptor(FromFd::FROM_FD, *secure);
  }
  builder.RegisterService(&state->manager);
  builder.RegisterService(&state->health);
  state->server = builder.BuildAndStart();
  if (!state->server || state->port == 0) {
    return Error{Code::io, "cannot serve", options.listen,
                 options.tls_cert_file.empty() ? "choose another place with --listen HOST:PORT"
                                               : "is the certificate not for its key?"};
  }
  if (state->listener) {
    state->guard.emplace(options.memory_bytes > 0 ? options.memory_bytes : memory_for_clients());
    state->listener->start([acceptor = state->acceptor.get(), guard = &*state->guard](Fd client) {
      guard->add(client);
      grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
      connection.fd = client.release();
      acceptor->HandleNewConnection(&connection);
    });
  }
  return std::unique_ptr<DbServer>(new DbServer(std::move(state)));
}

DbServer::DbServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
DbServer::~DbServer() { stop(0); }

int DbServer::port() const { return state_->port; }

void DbServer::stop(int64_t grace_ms) {
  if (state_->listener) state_->listener->stop();
  state_->server->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(grace_ms));
}

}  // namespace tacho
