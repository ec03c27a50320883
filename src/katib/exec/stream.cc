#include "katib/exec/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "katib/exec/files.h"

namespace tacho_exec {

void Stream::open(int source, int target, int file) {
  source_ = source;
  target_ = target;
  file_ = file;
  by_lines_ = isatty(target) == 0;
  fcntl(source_, F_SETFL, O_NONBLOCK);
}

void Stream::prepare(pollfd& source, pollfd& target) const {
  source = {source_ >= 0 && size_ < kRoom ? source_ : -1, POLLIN, 0};
  const size_t ready = by_lines_ ? logged_ : size_;
  target = {target_ >= 0 && passed_ < ready ? target_ : -1, POLLOUT, 0};
}

void Stream::receive() {
  if (size_ == kRoom) return;  // to read nothing would look like the end
  const ssize_t got = read(source_, buffer_ + size_, kRoom - size_);
  if (got > 0) {
    size_ += static_cast<size_t>(got);
  } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
    close(source_);
    source_ = -1;
  }
}

void Stream::log_lines(bool all) {
  const void* last = memrchr(buffer_ + logged_, '\n', size_ - logged_);
  size_t until = last == nullptr ? logged_ : static_cast<size_t>(static_cast<const char*>(last) - buffer_) + 1;
  if (all || (until == logged_ && size_ == kRoom && logged_ == 0)) until = size_;
  if (until == logged_) return;
  if (file_ >= 0 && !write_all(file_, buffer_ + logged_, until - logged_)) {
    complain("cannot write the log for the collector; metrics may be lost", "", errno);
    file_ = -1;
  }
  logged_ = until;
}

void Stream::pass_on(size_t limit) {
  const size_t ready = by_lines_ ? logged_ : size_;
  const size_t part = ready - passed_ < limit ? ready - passed_ : limit;
  if (part > 0 && target_ >= 0) {
    const ssize_t written = write(target_, buffer_ + passed_, part);
    if (written > 0) passed_ += static_cast<size_t>(written);
    else if (written < 0 && errno != EINTR && errno != EAGAIN) target_ = -1;  // nobody listens there any more
  }
  if (target_ < 0) passed_ = by_lines_ ? logged_ : size_;
  const size_t done = passed_ < logged_ ? passed_ : logged_;
  if (done == 0) return;
  memmove(buffer_, buffer_ + done, size_ - done);
  size_ -= done;
  logged_ -= done;
  passed_ -= done;
}

void Stream::step(const pollfd& source, const pollfd& target) {
  if (source.revents != 0 && source_ >= 0) {
    receive();
    log_lines(false);
  }
  // poll promises PIPE_BUF bytes without blocking, no more.
  if ((target.fd >= 0 && target.revents != 0) || target_ < 0) pass_on(PIPE_BUF);
}

void Stream::pass_all() {
  while (target_ >= 0 && passed_ < (by_lines_ ? logged_ : size_)) {
    pollfd ready{target_, POLLOUT, 0};
    poll(&ready, 1, -1);
    pass_on(PIPE_BUF);
  }
  pass_on(0);
}

void Stream::drain() {
  for (bool more = true; more;) {
    log_lines(false);
    pass_all();  // first: the buffer may be full, and more wait in the pipe
    const size_t before = size_;
    if (source_ >= 0) receive();
    more = size_ > before;
  }
  if (source_ >= 0) close(source_);
  source_ = -1;
}

void Stream::finish(bool& open_line) {
  if (logged_ < size_) {
    // Two unfinished lines are two lines.
    if (open_line && file_ >= 0) write_all(file_, "\n", 1);
    open_line = true;
  }
  log_lines(true);
  pass_all();
}

}  // namespace tacho_exec
