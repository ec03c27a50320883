// The DBManager service and its health over a store: gRPC on one port, with reflection. Calls run side by side; the
// store orders them. Thread-safe.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "katib/db/store.h"

namespace tacho {

struct DbServerOptions {
  std::string listen = "0.0.0.0:6789";
  std::string tls_cert_file, tls_key_file;  // both or none
  std::string tls_ca_file;                  // clients must have a certificate signed by it
  int64_t memory_bytes = 0;                 // of the process, beyond which connections are closed; 0: half of all
};

class DbServer {
 public:
  static Result<std::unique_ptr<DbServer>> start(const DbServerOptions& options,
                                                 std::shared_ptr<ObservationStore> store);
  ~DbServer();  // as stop(0)
  DbServer(const DbServer&) = delete;
  DbServer& operator=(const DbServer&) = delete;

  int port() const;
  // Takes no more calls, gives running ones this long to finish, then cancels them.
  void stop(int64_t grace_ms);

 private:
  struct State;
  explicit DbServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tacho
