// A program that started tacho run and listens on a descriptor (--begun-fd): one line of JSON tells it that the command
// runs, or why it does not. Not thread-safe.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/run.h"
#include "os/fd.h"

namespace tacho {

// The number that --begun-fd gives, when it is one of a descriptor that we inherited.
std::optional<int> listener_fd(std::string_view text);

// {"id","folder","pid","agent_pid","started"} for whoever started it; `warnings` follow when there are any.
std::string begun_line(const Run& run, const std::string& folder, std::string_view warnings = "");

class Listener {
 public:
  // Also of a line that is not understood otherwise: its words are what has to be told. While somebody listens messages
  // are kept for him: stderr is the command's.
  explicit Listener(std::span<const std::string> arguments);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  explicit operator bool() const { return static_cast<bool>(fd_); }

  void begun(const Run& run, const std::string& folder);
  void refused();
  void not_recorded();  // the command runs, and nobody records it

 private:
  void tell(std::string_view line);

  Fd fd_;
};

}  // namespace tacho
