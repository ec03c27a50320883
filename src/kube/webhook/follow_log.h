// `tacho-kube follow-log`: reads through the API server what a container of this pod prints, and writes it into a file.
// For trainers whose command is unknown, so that no launcher can stand before them. The pod's service account needs the
// right to read pods/log. A container that restarts is followed again. Whether it will restart is told by the pod's
// status if `get` on pods is granted too; otherwise follow-log waits as long as a first restart takes.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "kube/api/object.h"

namespace tacho {

// Lines of a log with time stamps, `2026-11-15T10:00:00.123456789Z text`, in pieces as they come. Lines that were there
// before (a follower resumes by whole seconds) are left out, but only where a stream begins, so that nothing is lost
// when the clock is set back during a stream. No more than a megabyte is held, however long a line is. Not thread-safe.
class LogLines {
 public:
  explicit LogLines(std::function<bool(std::string_view)> write) : write_(std::move(write)) {}
  bool take(std::string_view piece);  // false: the writer failed
  bool finish();                      // the last line without its end
  void resume();                      // a new stream begins
  // For `sinceTime`: the second of the last whole line; empty before the first.
  std::string since() const;
  uint64_t lines() const { return lines_; }

 private:
  bool put(std::string_view line, bool ended);

  std::function<bool(std::string_view)> write_;
  std::string rest_;
  std::string last_;               // time stamp with nine digits, so that texts compare as times do
  uint64_t same_ = 0, lines_ = 0;  // how many lines of that very time were written
  uint64_t skipped_ = 0;           // of these, how many have come again
  bool catching_up_ = false;       // behind a resume(), until the first line that is new
  bool in_long_ = false;           // the beginning of this line was written; its rest is passed on as it comes
  bool stamped_ = false, left_out_ = false;  // the line put last had a time; it had been written before
  bool owes_end_ = false;                    // the last thing written is a line without its end
};

// What the pod's status says of a container, and what that means for reading its log.
enum class ContainerFate {
  unknown,  // the pod has no such container yet, or nobody may ask
  runs,     // or will run: it waits to be started, for the first time or again
  over,     // ended for good
};
// {"spec":{"restartPolicy":…},"status":{"containerStatuses":[{"name":…,"restartCount":1,"state":{"terminated":{"exitCode":0}}}]}}
ContainerFate container_fate(const Json& pod, const std::string& container, int64_t& restarts);

int follow_log_command(std::span<const std::string> words);

}  // namespace tacho
