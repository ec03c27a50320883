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
};

class SignalQueue {
 public:
  // Blocks the signals; the job's start must restore the mask saved before. SIGPIPE, SIGXFSZ and SIGTTOU are blocked
  // with them, so that a broken pipe, a file at its size limit or a write from the background is an error code and the
  // dispositions stay as inherited.
  explicit SignalQueue(std::span<const int> numbers);
  int fd() const { return fd_.get(); }
  std::optional<SignalEvent> next();

 private:
  Fd fd_;
};

// For a program that speaks to sockets: a peer that has left is an error code. A handler that somebody set stays.
void ignore_broken_pipes();

void stop_self();  // as Ctrl-Z would; returns after SIGCONT

// As nohup leaves SIGHUP. A blocked signal is read from the queue all the same, so whoever reads it has to know.
bool is_ignored(int number);

}  // namespace tacho
