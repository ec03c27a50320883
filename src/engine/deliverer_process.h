// tacho-deliver as a process beside us: started with the folders of a spool, told of news through a pipe, its messages
// passed on. The pipe's end without a farewell tells it that tacho was killed. Not thread-safe.
#pragma once
#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/fd.h"
#include "os/helper.h"

namespace tacho {

class DelivererProcess {
 public:
  struct Start {
    std::vector<std::string> folders;
    std::vector<int> locks;  // of the same folders: free when both processes are gone
    std::vector<std::string> remove_environment;
    std::string_view token;     // of the service; sent through the pipe
    std::string_view settings;  // lines that go before it (spool/contract.h)
  };
  Status start(const Start& start);

  pid_t pid() const { return helper_.pid; }  // not more than 0: none was started, or ended() was told of its end
  bool running() const { return static_cast<bool>(helper_.messages); }
  int messages_fd() const { return helper_.messages.get(); }

  // A full pipe means that there is enough to wake up for.
  void poke(std::string_view message);
  // Passes on what it had to say, but for lines that `take` took.
  void relay(const std::function<bool(std::string_view line)>& take = {});
  // No more waiting: it ends, and is reaped, since PID 1 may not do so. One that hangs is left to itself.
  void farewell();
  // It was reaped. True when it had read something of what it was told, false when it never came so far.
  bool ended();

 private:
  Helper helper_;
  Fd control_;
  std::string pending_;  // of a message line that came in part
  int64_t told_bytes_ = 0;
};

}  // namespace tacho
