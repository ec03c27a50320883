// Where lines go: a file, a FIFO, a terminal, stdout or stderr. A line is written whole or not at all:
//  - in a regular file that tacho opened, a line that did not fit (disk full) is cut off again, and the next one is
//  tried;
//  - elsewhere the rest of a line that was taken in part is kept and goes out before the next line.
// A reader that does not read never blocks the caller for longer than the given wait: the line is then dropped, and
// until the reader is back further lines are dropped at once. The description of an inherited stdout is never changed
// (it is the job's too): a pipe or terminal is opened anew through /proc/self/fd (Linux), else polled before each
// write. Not thread-safe; no allocation but for errors and growing remainders. SIGPIPE must be ignored by the program.
#pragma once
#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/result.h"
#include "os/fd.h"

namespace tacho {

class LineFile {
 public:
  static constexpr int kWaitMs = 100;

  LineFile() = default;
  // Creates it; what it holds stays until empty() or the first line, so that nothing is lost by a start that another
  // output refuses. "-" is stdout, which must be open, and "stderr:" is stderr. A FIFO must have a reader within
  // a second.
  static Result<LineFile> open(const std::string& path, mode_t mode = 0644);
  // A regular file that must be new; a link of that name is not followed.
  static Result<LineFile> create(const std::string& path, mode_t mode = 0644);

  // What a regular file held before goes.
  Status empty();
  // `text` holds whole lines.
  Status write(std::string_view text, int wait_ms = kWaitMs);

  // Takes the whole-file lock (flock) that tells a reader that the writer lives; the kernel drops it at any death.
  bool lock();
  // Its reader did not take all of the last write in time.
  bool stalled() const { return stalled_; }
  const std::string& path() const { return path_; }

 private:
  enum class Kind {
    regular,   // tacho's own regular file: torn lines are cut off
    blocking,  // an inherited regular file, a device: written plainly
    stream,    // own description of a pipe, FIFO or terminal, O_NONBLOCK
    polled,    // shared description of a pipe, terminal or socket: polled, then written in small pieces
  };
  static Result<LineFile> inherited(int fd, const std::string& path);
  Status write_regular(std::string_view text);
  Status write_stream(std::string_view text, int wait_ms);
  // Sends what the reader takes within the wait; false at an error. `done` is what went out.
  bool send(std::string_view text, int64_t deadline_ns, size_t& done);

  std::string path_;
  Fd fd_;
  Kind kind_ = Kind::regular;
  std::string rest_;  // of a line that went out in part
  bool stalled_ = false;
  bool has_old_ = false;  // what was there before
};

// An output as LineFile::open opens it, but with what it holds: made where it is missing, O_APPEND and O_NONBLOCK.
// Refused where a stranger put something in its place (os/output_target.h).
Result<Fd> open_to_append(const std::string& path, mode_t mode);

// Whether a LineFile of this or another process has the file locked.
enum class LockState { held, free, unknown };
LockState probe_lock(const std::string& path);

}  // namespace tacho
