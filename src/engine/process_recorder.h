// ProcessRecorder keeps processes.csv: it is told by the tree who came and who ended, reads of a new process what the
// tree does not need (its command, its number in its own namespace), and of those that live a high-water mark now and
// then. Relies on /proc/PID/{cmdline,status}. Not thread-safe; a tick without news allocates nothing.
#pragma once
#include <string>
#include <vector>

#include "probe/tree/process_observer.h"
#include "probe/tree/process_tree.h"
#include "sink/process_file.h"

namespace tacho {

struct ProcessRecordOptions {
  size_t most = 10'000;
  bool hide_command = false;
  bool hide_pids = false;  // lines of one process cannot be told to be such, so that there is one when it ended
};

class ProcessRecorder final : public ProcessObserver {
 public:
  ProcessRecorder(ProcessFile file, ProcessTree& tree, ProbeContext& context, const ProcessRecordOptions& options)
      : file_(std::move(file)), tree_(tree), context_(context), options_(options) {}

  void came(Member& member) override;
  void ended(Member& member, const ProcessEnd& end) override;
  void passed(const TaskExit& exit) override;

  // tacho starts the job, now by the machine's clock: no process is older, and what its first one is called and when it
  // began is known however soon it ends.
  void set_job(int64_t realtime_ns, const std::vector<std::string>& command);

  // After each sample: what changed goes to the file. The first failure comes back, once. After the closing one
  // finish() comes at once, and writes it all.
  Status tick(bool closing);
  // At the end: one line a process; job_cpu_ns is what all of them used.
  Status finish(int64_t job_cpu_ns);

 private:
  void fill_identity(Member& member);
  void notice_clock();
  int64_t started_ms(uint64_t start_ticks);
  static int64_t ended_ms(const Member& member);
  bool is_first(const Member& member) const { return earliest_ms_ > 0 && member.pid() == tree_.root(); }
  std::string command_of(const Member& member) const;
  void fill_usage(Member& member) const;
  struct Now {
    int64_t monotonic_ns, realtime_ms;
  };
  void look_at(Member& member, const Now& now);
  void take_vram();
  void read_peaks();
  void read_peak(Member& member);
  Status report(const Status& status);
  ProcessFile::Living living();

  ProcessFile file_;
  ProcessTree& tree_;
  ProbeContext& context_;
  ProcessRecordOptions options_;
  std::vector<ProcessVram> vram_;  // by pid
  std::string job_command_;        // a field
  size_t next_peak_ = 0;
  int64_t boot_ms_ = 0, earliest_ms_ = 0;  // UNIX time
  bool told_ = false;
};

}  // namespace tacho
