#include "katib/rpc/grpc_log.h"

#include <grpc/support/log.h>

#include <cstdlib>
#include <mutex>
#include <string>

#include "base/log.h"

namespace tacho {

void quiet_grpc() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (std::getenv("GRPC_VERBOSITY") != nullptr) return;
    gpr_set_log_function([](gpr_log_func_args* arguments) { log::debug(std::string("gRPC: ") + arguments->message); });
  });
}

}  // namespace tacho
