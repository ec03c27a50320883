// Starts a helper program of tacho's own beside the job: in a session of its own, at low priority (nice 10, idle I/O
// class), with /dev/null for stdin and stdout, and with no descriptor but the given ones. Not thread-safe.
#pragma once
#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "os/fd.h"

namespace tacho {

struct HelperOptions {
  std::string program;                 // a path
  std::vector<std::string> arguments;  // without the program's name
  std::vector<std::string> remove_environment;
  std::vector<int> descriptors;  // become 3, 4, … in the helper
};

struct Helper {
  pid_t pid = -1;
  Fd messages;  // what it writes to stderr, non-blocking; at its end when the helper has ended
};

Result<Helper> start_helper(const HelperOptions& options);

// A pipe whose writing end never blocks: {read, write}, both closed on exec.
Result<std::pair<Fd, Fd>> make_control_pipe();

}  // namespace tacho
