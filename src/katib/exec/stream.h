// One output of the trainer on its way to two places: the file that the collector reads, by whole lines, and the
// descriptor that it would have had without us. The descriptor is written only when poll says that it takes some, so
// that a full log pipe holds up the trainer, as it always did, and never the launcher. Not thread-safe.
#pragma once
#include <poll.h>
#include <stddef.h>

namespace tacho_exec {

class Stream {
 public:
  // `source` is our end of the trainer's pipe, `target` the original descriptor, `file` the log (−1: none).
  void open(int source, int target, int file);
  // Puts what is waited for into two entries of a poll set.
  void prepare(pollfd& source, pollfd& target) const;
  void step(const pollfd& source, const pollfd& target);
  // After the trainer's end: all whole lines that are in the pipe now. Waits for the reader of the original descriptor
  // as the trainer would have.
  void drain();
  // The rest, a line without its end; `open_line` says whether the file ends in such a line, before and after the call.
  void finish(bool& open_line);

 private:
  static constexpr size_t kRoom = 64 << 10;
  void receive();
  void log_lines(bool all);
  void pass_on(size_t limit);
  void pass_all();

  int source_ = -1, target_ = -1, file_ = -1;
  bool by_lines_ = true;  // a terminal gets every byte at once
  char buffer_[kRoom];
  size_t size_ = 0;    // bytes held
  size_t logged_ = 0;  // of these, already in the file
  size_t passed_ = 0;  // and at the original descriptor
};

}  // namespace tacho_exec
