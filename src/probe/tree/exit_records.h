// The processes of the machine that ended lately, as the kernel's messages tell (os/exit_messages.h), until somebody
// takes them as the job's or they are too old to be. Bounded: what does not fit is lost, and that is known. Not
// thread-safe.
#pragma once
#include <optional>
#include <vector>

#include "os/exit_messages.h"
#include "procfs/task_exit.h"

namespace tacho {

struct EndedProcess {
  TaskExit exit;                               // of its last thread, with the sums of those that ended before
  uint64_t after_ticks = 0, before_ticks = 0;  // of the kernel's clock since boot: when it ended
  uint32_t tick = 0;                           // in which it was told
  bool of_job = false;

  // Whether it may be the process with this number that was started then; another one may have had it before.
  bool was_started_at(uint64_t start_ticks) const;
};

class ExitRecords {
 public:
  ExitRecords() = default;  // for tests: nobody tells
  explicit ExitRecords(ExitMessages messages);

  void collect();  // what was told since
  void add(const TaskExit& exit);
  // The first one told with this number that may have been started then (0: ever), which is not kept any more.
  std::optional<TaskExit> take(pid_t pid, uint64_t start_ticks);
  bool is_new(const EndedProcess& ended) const { return ended.tick == tick_; }
  std::vector<EndedProcess>& processes() { return processes_; }
  // Drops those that were told before the last tick: a child of the job's has shown to be one by now.
  void end_tick();
  bool lost_some() const { return lost_some_; }

 private:
  static constexpr size_t kMostProcesses = 8192, kMostThreads = 4096;
  static constexpr size_t kMostMessages = 16384;  // in one reading

  struct Threads {  // that ended before their process
    pid_t process = 0;
    int64_t cpu_ns = 0, read_bytes = 0, write_bytes = 0;
    uint32_t tick = 0;
  };
  void add_thread(const TaskExit& exit);

  std::optional<ExitMessages> messages_;
  std::vector<EndedProcess> processes_;  // in the order of their ends
  std::vector<Threads> threads_;
  uint64_t begun_ticks_ = 0;  // when the last collecting was begun
  uint32_t tick_ = 0;
  bool lost_some_ = false;
};

}  // namespace tacho
