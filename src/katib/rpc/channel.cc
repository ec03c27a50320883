#include "katib/rpc/channel.h"

#include <absl/synchronization/mutex.h>

#include <chrono>
#include <climits>
#include <cstdlib>

#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "katib/rpc/grpc_log.h"
#include "os/clock.h"
#include "os/file.h"

namespace tacho {
namespace {

constexpr int kKeepAliveMs = 30'000;
constexpr int kKeepAliveAnswerMs = 10'000;
// Our callers retry from 0.5 s on: the channel must not sit out two minutes of its own when the peer is back.
constexpr int kFirstReconnectMs = 500;
constexpr int kLastReconnectMs = 5'000;
// A channel asks for a name that was not found again after up to two minutes; a new one asks at once, and reads
// certificates that were renewed.
constexpr int64_t kStaleNs = 15 * kNsPerSec;

// gRPC reads the variable once, when it is first used. "native" is getaddrinfo, which knows the pod's search
// list, /etc/hosts and nsswitch.conf: "katib-db-manager.kubeflow" is found by these alone. And Abseil, which some
// distributions build with its checks, would look for deadlocks of gRPC's at every lock.
void prepare_grpc() {
  static std::once_flag once;
  std::call_once(once, [] {
    ::setenv("GRPC_DNS_RESOLVER", "native", 0);
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  });
  quiet_grpc();
}

std::string target(const std::string& address) {
  if (address.starts_with("unix:") || address.find("://") != std::string::npos) return address;
  return "dns:///" + address;
}

bool same_version(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

Result<std::string> read_pem(const std::string& path, const char* option) {
  if (path.empty()) return std::string();
  Result<std::string> text = read_whole_file(path, 1u << 20);
  if (!text) return Error{text.error().code, text.error().what, path, std::string("check ") + option};
  return text;
}

}  // namespace

Result<std::string> TokenFile::token() {
  if (path_.empty()) return std::string();
  const std::lock_guard lock(mutex_);
  struct stat now {};
  if (::stat(path_.c_str(), &now) == 0 && !token_.empty() && same_version(now, seen_)) return token_;
  const Result<std::string> text = read_whole_file(path_, 1u << 20);
  const std::string token(text ? trim(*text) : std::string_view());
  if (token.empty()) {
    if (!token_.empty()) return token_;
    return Error{Code::invalid, text ? "the token file is empty" : text.error().what, path_, "check --auth-token-file"};
  }
  // Anything else would be refused by gRPC with an abort of the process.
  for (const char c : token) {
    if (c < 0x21 || c > 0x7e)
      return Error{Code::invalid, "the token file holds more than a token", path_, "one line of ASCII"};
  }
  token_ = token;
  seen_ = now;
  return token_;
}

RpcChannel::RpcChannel(const RpcOptions& options) : options_(options), token_(options.token_file) {
  prepare_grpc();
  if (!options.token_file.empty() && !options.tls) {
    log::warn("the token of --auth-token-file travels in clear text; add --tls unless the network encrypts");
  }
}

Result<std::shared_ptr<grpc::ChannelCredentials>> RpcChannel::credentials() const {
  if (!options_.tls) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions ssl;
  const Result<std::string> ca = read_pem(options_.ca_file, "--tls-ca");
  if (!ca) return ca.error();
  const Result<std::string> cert = read_pem(options_.cert_file, "--tls-cert");
  if (!cert) return cert.error();
  const Result<std::string> key = read_pem(options_.key_file, "--tls-key");
  if (!key) return key.error();
  if (cert->empty() != key->empty()) {
    return Error{Code::invalid, "a client certificate needs its key", options_.address,
                 "give both --tls-cert and --tls-key"};
  }
  ssl.pem_root_certs = *ca;  // empty: the system's
  ssl.pem_cert_chain = *cert;
  ssl.pem_private_key = *key;
  return grpc::SslCredentials(ssl);
}

Result<std::shared_ptr<grpc::Channel>> RpcChannel::prepare(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(options_.timeout_ms));
  const Result<std::string> token = token_.token();
  if (!token) return token.error();
  if (!token->empty()) context.AddMetadata("authorization", "Bearer " + *token);

  const std::lock_guard lock(mutex_);
  if (channel_) return channel_;
  const auto credentials = this->credentials();
  if (!credentials) return credentials.error();
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepAliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepAliveAnswerMs);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstReconnectMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kLastReconnectMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLastReconnectMs);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);  // the caller's own rules decide
  arguments.SetMaxReceiveMessageSize(INT_MAX);
  arguments.SetMaxSendMessageSize(INT_MAX);
  if (!options_.server_name.empty()) arguments.SetSslTargetNameOverride(options_.server_name);
  channel_ = grpc::CreateCustomChannel(target(options_.address), *credentials, arguments);
  opened_ns_ = system_clock().monotonic_ns();
  return channel_;
}

RpcStatus RpcChannel::outcome(const grpc::Status& status, const std::shared_ptr<grpc::Channel>& used) {
  if (status.ok()) return {};
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
    const std::lock_guard lock(mutex_);
    if (channel_ == used && system_clock().monotonic_ns() - opened_ns_ > kStaleNs) channel_.reset();
  }
  return {static_cast<int>(status.error_code()), options_.address + ": " + status.error_message()};
}

}  // namespace tacho
