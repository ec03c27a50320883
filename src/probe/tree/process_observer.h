// Who keeps a record of the job's processes one by one is told of them here by ProcessTree, on its thread. What is kept
// of a member lies in Member::record.
#pragma once
#include <array>
#include <cstdint>

#include "probe/tree/member.h"
#include "procfs/task_exit.h"

namespace tacho {

// What is known of a process at its end beyond its last reading; −1: nothing.
struct ProcessEnd {
  int status = -1;      // as from wait4
  int64_t cpu_ns = -1;  // its own
  int64_t peak_bytes = -1, read_bytes = -1, write_bytes = -1;
  bool is_told = false;  // by the kernel's message about its end, which has its last name
  std::array<char, 16> name{};
};

class ProcessObserver {
 public:
  virtual ~ProcessObserver() = default;
  // A new member, as it was read first. It may be a zombie.
  virtual void came(Member& member) = 0;
  virtual void ended(Member& member, const ProcessEnd& end) = 0;
  // One that came and ended between two ticks.
  virtual void passed(const TaskExit&) {}
};

}  // namespace tacho
