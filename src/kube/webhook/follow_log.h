// `tacho-kube follow-log`: writes what a container of this pod prints into a file, as read through the API server. For
// trainers whose command nobody knows, so that no launcher can stand before them. Needs the right to read pods/log for
// the pod's service account. A container that is started again is followed again; whether it will be, the pod's status
// says where `get` on pods is granted too, and otherwise it is waited for as long as a first restart takes.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "kube/api/object.h"

namespace tacho {

// Lines of a log with time stamps, `2026-11-15T10:00:00.123456789Z text`, in pieces as they come. Lines that were there
// before (a follower resumes by whole seconds) are left out, but only where a stream begins: a clock that is set back
// while it runs loses nothing. No more than a megabyte is held, however long a line is. Not thread-safe.
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
  bool in_long_ = false;           // the beginning of this line was put, and its rest is passed on as it comes
  bool stamped_ = false, left_out_ = false;  // the line put last had a time; it had been written before
  bool owes_end_ = false;                    // what was written last is a beginning without its end
};

// What the pod's status says of a container, and what follows for whoever reads its log.
enum class ContainerFate {
  unknown,  // the pod has no such container yet, or nobody may ask
  runs,     // or will run: it waits to be started, for the first time or again
  over,     // ended for good
};
// {"spec":{"restartPolicy":…},"status":{"containerStatuses":[{"name":…,"restartCount":1,"state":{"terminated":{"exitCode":0}}}]}}
ContainerFate container_fate(const Json& pod, const std::string& container, int64_t& restarts);

int follow_log_command(std::span<const std::string> words);

}  // namespace tacho
