// Listens to the kernel's messages about tasks that end: taskstats over generic netlink. Needs CAP_NET_ADMIN and the
// machine's first PID namespace. The whole machine's: each task that ends, whosever it is, costs the kernel a message
// from now on. Never blocks. Not thread-safe.
#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/fd.h"

namespace tacho {

class ExitMessages {
 public:
  static Result<ExitMessages> open();
  // Each message that came since, at most this many. False when the kernel had to drop some before these.
  bool read(size_t most, const std::function<void(std::string_view)>& take);

 private:
  explicit ExitMessages(Fd socket) : socket_(std::move(socket)) {}
  Fd socket_;
  std::vector<char> buffer_;
};

}  // namespace tacho
