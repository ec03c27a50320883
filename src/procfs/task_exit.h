// What the kernel tells of a task that ends: a message of its taskstats family (generic netlink, linux/taskstats.h).
// Version 12 or later (Linux 5.19), which tells the process of a thread.
#pragma once
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace tacho {

struct TaskExit {
  pid_t task = 0, process = 0, parent = 0;  // parent: the process that would wait for it, at that moment
  bool last = false;                        // of the threads of its process
  std::array<char, 16> name{};              // comm; ends with a zero
  int status = 0;                           // as from wait4
  int64_t cpu_ns = 0;  // that it was charged so far: a slice that goes on, and its own end, are not in it
  int64_t lived_ns = 0;
  int64_t peak_bytes = 0;  // resident, of its whole process
  int64_t read_bytes = 0, write_bytes = 0;
};

// One netlink message, with its headers. False when it is none that tells of a task's end.
bool parse_task_exit(std::string_view message, TaskExit& out);

}  // namespace tacho
