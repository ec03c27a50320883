// A gRPC channel to a peer in the cluster, opened at the first call, and what every call on it needs: time limit and
// token. Thread-safe. Relies on gRPC 1.51: channel arguments, the variable GRPC_DNS_RESOLVER.
#pragma once
#include <grpcpp/grpcpp.h>
#include <sys/stat.h>

#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "katib/rpc/clients.h"

namespace tacho {

// A bearer token in a file that somebody else renews: read again when the file has changed.
class TokenFile {
 public:
  explicit TokenFile(std::string path) : path_(std::move(path)) {}
  // The token without white space around it. The last one stays in use while the file cannot be read.
  Result<std::string> token();

 private:
  const std::string path_;
  std::mutex mutex_;
  std::string token_;
  struct stat seen_ {};
};

class RpcChannel {
 public:
  explicit RpcChannel(const RpcOptions& options);

  // Calls `call(channel, context)`, which returns grpc::Status, with deadline and credentials in the context.
  template <class Call>
  RpcStatus run(const Call& call) {
    grpc::ClientContext context;
    const Result<std::shared_ptr<grpc::Channel>> channel = prepare(context);
    if (!channel) return {grpc::StatusCode::FAILED_PRECONDITION, channel.error().message()};
    return outcome(call(*channel, context), *channel);
  }

 private:
  Result<std::shared_ptr<grpc::Channel>> prepare(grpc::ClientContext& context);
  Result<std::shared_ptr<grpc::ChannelCredentials>> credentials() const;
  RpcStatus outcome(const grpc::Status& status, const std::shared_ptr<grpc::Channel>& used);

  const RpcOptions options_;
  TokenFile token_;
  std::mutex mutex_;
  std::shared_ptr<grpc::Channel> channel_;
  int64_t opened_ns_ = 0;
};

}  // namespace tacho
