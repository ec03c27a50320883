// Signals as readable events: blocked for the whole process, read from a descriptor in the poll set. Not thread-safe.
#pragma once
#include <csignal>
#include <optional>
#include <span>

#include "os/fd.h"

namespace tacho {

struct SignalEvent {
  int number = 0;
  pid_t sender = 0;
  bool from_terminal = false;  // made by the kernel (Ctrl-C …): the whole foreground group has it already
  bool ignored = false;        // it was when the queue was made: it may be passed on, but means nothing to this program
};

// Signals that were ignored when the program was started, as nohup does with SIGHUP and a shell without job control
// with SIGINT and SIGQUIT of what it starts in the background. A blocked signal is kept although it is ignored.
enum class IgnoredSignals { left_out, told };

class SignalQueue {
 public:
  // Blocks the signals; the job's start must restore the mask saved before. SIGPIPE, SIGXFSZ and SIGTTOU are blocked
  // with them, so that a broken pipe or a file at its size limit is an error code, a write from the background is
  // none at all, and the dispositions stay as inherited.
  explicit SignalQueue(std::span<const int> numbers, IgnoredSignals ignored = IgnoredSignals::left_out);
  int fd() const { return fd_.get(); }
  std::optional<SignalEvent> next();

 private:
  Fd fd_;
  sigset_t ignored_{};
};

// For a program that speaks to sockets: a peer that has left is an error code. A handler that somebody set stays.
void ignore_broken_pipes();

// Stops this process as the signal does by default, so that its parent sees a stop by that very signal, and returns
// after SIGCONT, which is pending then if it is blocked. False when it had no effect: the kernel lets nothing but
// SIGSTOP stop a process group that nobody could continue (an orphaned one).
bool stop_by(int number);

// Ends this process by the signal, so that its parent sees what it would have seen of the job; leaves no core. Comes
// back where that cannot be: as PID 1, and for a signal that ends nothing.
void end_by(int number);

bool is_ignored(int number);

}  // namespace tacho
