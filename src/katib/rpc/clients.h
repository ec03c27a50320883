// Clients of the DB manager and of the early-stopping service over gRPC. A call never throws and ends within its time
// limit; proxies of the environment are not used, since both peers are in the cluster. Thread-safe.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "katib/model/row_batch.h"

namespace tacho {

struct RpcOptions {
  std::string address;          // host:port
  int64_t timeout_ms = 60'000;  // of one call
  bool tls = false;
  std::string ca_file, cert_file, key_file, server_name;
  std::string token_file;  // read again when it changes; sent as "authorization: Bearer …"
};

struct RpcStatus {
  int code = 0;  // as gRPC numbers them: 0 ok, 2 unknown, 3 invalid argument, 14 unavailable …
  std::string message;
  bool knows_ids = false;  // after a successful call: see DbClient::report
  bool ok() const { return code == 0; }
};
// "UNAVAILABLE"
const char* rpc_code_name(int code);

// The key of a report's id in the metadata of the call, and of the answer of a service that knows ids.
extern const char* const kReportIdKey;

class DbClient {
 public:
  explicit DbClient(const RpcOptions& options);
  ~DbClient();
  // `id` (ASCII) goes along as metadata: a service that knows it (RpcStatus::knows_ids) stores rows of one id once.
  RpcStatus report(const std::string& trial, const RowPart& rows, const std::string& id = "");
  RpcStatus report(const std::string& trial, const RowBatch& rows, const std::string& id = "") {
    return report(trial, RowPart(rows), id);
  }
  // Rows in the order of the answer; an empty metric, start or end is no filter.
  RpcStatus get(const std::string& trial, const std::string& metric, const std::string& start, const std::string& end,
                std::vector<MetricRow>& rows);
  // The same rows, one after the other through one buffer: for answers that are much larger than the rows looked for.
  using Visit = std::function<void(const MetricRow& row)>;
  RpcStatus visit(const std::string& trial, const std::string& metric, const Visit& visit);
  RpcStatus remove(const std::string& trial);
  RpcStatus healthy();  // ok: the service said SERVING

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class EarlyStoppingClient {
 public:
  explicit EarlyStoppingClient(const RpcOptions& options);
  ~EarlyStoppingClient();
  RpcStatus set_trial_status(const std::string& trial);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tacho
