#include "katib/rpc/grpc_log.h"

#include <grpc/support/log.h>

#include <mutex>
#include <string>

#include "base/log.h"
#include "os/environment.h"

namespace tacho {

void quiet_grpc() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (environment_raw("GRPC_VERBOSITY")) return;
    gpr_set_log_function([](gpr_log_func_args* arguments) { log::debug(std::string("gRPC: ") + arguments->message); });
  });
}

}  // namespace tacho
