// The terminal while something is drawn on it: taken over as a whole (tacho top), and always given back as it was: at
// the end, and by a handler when the program crashes. Signals that end the program are its caller's, who must come to
// the destructor. One at a time in a process; not thread-safe.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "os/line_file.h"

namespace tacho {

struct TerminalSize {
  size_t columns = 80, lines = 24;
};
TerminalSize terminal_size(int fd);
// Whether the program may draw there: a terminal whose foreground is this process or `pid`'s group.
bool may_draw(int fd, pid_t pid);

// From now on a crash writes these bytes to the descriptor first, and puts its settings back where they were changed.
void reset_on_crash(int fd, std::string_view sequence);
void no_reset_on_crash();

class TopTerminal {
 public:
  // stdout must be a terminal. Keys are read from stdin where that is one.
  static Result<TopTerminal> open();
  TopTerminal(TopTerminal&& other) noexcept;
  TopTerminal& operator=(TopTerminal&&) = delete;
  ~TopTerminal();

  // A terminal that takes nothing now misses this picture.
  Status draw(std::span<const std::string> lines);
  int key_fd() const { return has_keys_ ? 0 : -1; }
  // Bytes of keys that wait; an end of the terminal is "q".
  std::string read_keys() const;

 private:
  explicit TopTerminal(LineFile out) : out_(std::move(out)) {}
  LineFile out_;
  bool owner_ = true, has_keys_ = false;
};

}  // namespace tacho
