// The trainer's main process: finding it, and telling how it ended. Looks again until there is one; a trainer that
// started late, or that had ended before the first look, is normal. Every process waited for is held by a pidfd
// (Linux 5.3), opened before its start time is compared, so that a reused pid is never mistaken; without pidfds it is
// polled. What an earlier pod left in the folder, where that is a volume which outlives pods, tells nothing. Not
// thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "katib/collect/pod.h"
#include "katib/collect/shared_file.h"
#include "os/fd.h"

namespace tacho {

struct TrainerOptions {
  Roots roots;
  std::string folder;                // of markers; "": none
  std::vector<std::string> ignored;  // programs
  std::string evidence;              // what only a trainer makes (its log); "": nothing
  int64_t begin_ns = 0;              // of the pod (realtime): what was written before is an earlier one's; 0: not known
  bool wait_all = true;
  bool marker_expected = true;     // a missing marker is a failure, unless the trainer is not wrapped
  bool marker_if_wrapped = false;  // a missing marker is a failure only where the wrapper was seen
};

enum class TrainingEnd {
  none,  // still going, or not found yet
  success,
  early_stopped,  // the marker still is our own
  failed,         // no marker
  damaged,        // a marker with other text
};

class Trainer {
 public:
  explicit Trainer(TrainerOptions options) : options_(std::move(options)) {}

  // Looks for the main process while none is known, or while only the oldest container's stands in for it. True when
  // something changed. Cheap enough for each poll interval; search_again() tells whether it can still change.
  bool look();
  bool found() const { return main_.pid != 0 || vanished_; }
  bool wrapped() const { return wrapped_; }
  // Nobody has begun yet, and the log there is an earlier pod's.
  bool has_old_log() const { return !found() && !options_.evidence.empty() && is_left_over(options_.evidence); }
  bool search_again() const { return !found() || (!wrapped_ && looks_left_ > 0); }
  const ProcessId& main() const { return main_; }
  uint64_t generation() const { return generation_; }  // changes with the descriptors

  bool main_gone();    // it has ended, whatever the others do
  bool others_gone();  // all others that are waited for
  // Looks again which processes the others are: a container may have begun as a shell and be a proxy by now.
  void forget_ignored();
  // What the marker says; only after main_gone().
  TrainingEnd end() const;

  // To poll for reading: one becomes readable when a process has ended. Empty where pidfds are missing.
  std::vector<int> descriptors() const;
  bool needs_polling() const { return found() && !pidfds_; }

 private:
  struct Waited {
    ProcessId id;
    Fd pidfd;
    bool gone = false;
  };
  Waited hold(const ProcessId& id);
  bool has_ended(Waited& process);
  void choose(const ProcessId& id, bool wrapped, const std::vector<ProcessId>& containers);
  bool already_ended(const std::vector<ProcessId>& containers);
  bool look_at_record(const std::vector<ProcessId>& containers);
  bool is_left_over(const std::string& path) const;
  std::vector<pid_t> marked() const;

  TrainerOptions options_;
  ProcessId main_;
  Waited waited_main_;
  std::optional<FileVersion> left_over_;  // a marker under the main process's pid that was there before it began
  std::vector<Waited> others_;
  bool wrapped_ = false, pidfds_ = true;
  bool vanished_ = false;  // it ran and left nothing but its log
  int looks_left_ = 10;    // for a better answer than the oldest container
  int empty_looks_ = 0;    // in which only traces of a trainer were seen
  uint64_t generation_ = 0;
};

}  // namespace tacho
