#include "os/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/units.h"
#include "os/child.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/process.h"

namespace tacho {
namespace {

constexpr size_t kOutLimit = 64u << 10, kErrLimit = 4u << 10;
constexpr int64_t kSlice_ns = 50 * kNsPerMs;

struct Pipe {
  Fd read, write;
};

Result<Pipe> make_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("cannot make a pipe", "", errno);
  Pipe pipe{Fd(ends[0]), high_copy(ends[1])};
  ::close(ends[1]);
  if (!pipe.write) return Error{Code::io, "too few descriptors for a command", "", "raise ulimit -n"};
  ::fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

// Between fork and exec: system calls only.
[[noreturn]] void run_words(pid_t parent, const std::array<int, 3>& descriptors, int error_fd, char* const* arguments) {
  ::setsid();
  end_with_parent(parent);
  ::signal(SIGPIPE, SIG_DFL);
  settle_before_exec(descriptors);
  ::execvp(arguments[0], arguments);
  exec_failed(error_fd);
}

// What is there now, up to the limit; false when there was more than that. The pipe is closed at its end.
bool drain(Fd& from, std::string& to, size_t limit) {
  char buffer[4096];
  bool fits = true;
  while (from) {
    const ssize_t got = ::read(from.get(), buffer, sizeof buffer);
    if (got == 0) from.reset();
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    const size_t taken = std::min(static_cast<size_t>(got), limit - to.size());
    to.append(buffer, taken);
    fits = fits && taken == static_cast<size_t>(got);
  }
  return fits;
}

// One that runs; killed with all of its session, and reaped, when this goes.
class Running {
 public:
  explicit Running(pid_t pid) : pid_(pid), pidfd_(open_pidfd(pid)) {}
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    if (ended_) return;
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);  // should it not have come so far as to have a session
    while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {}
  }

  int pidfd() const { return pidfd_.get(); }
  int status() const { return status_; }
  bool ended() { return ended_ = ended_ || ::waitpid(pid_, &status_, WNOHANG) == pid_; }

 private:
  pid_t pid_;
  Fd pidfd_;
  int status_ = 0;
  bool ended_ = false;
};

}  // namespace

Result<CommandOutput> run_command(const std::vector<std::string>& words, int64_t deadline_ns,
                                  const std::function<bool()>& cancelled) {
  auto out = make_pipe(), err = make_pipe(), failure = make_pipe();
  for (const auto* pipe : {&out, &err, &failure})
    if (!*pipe) return pipe->error();
  const Fd opened(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Fd null = high_copy(opened.get());
  const std::vector<char*> arguments = exec_words(words);
  if (words.empty() || !null) return Error{Code::invalid, "there is no command to run", "", "name a program"};
  const std::array<int, 3> descriptors{null.get(), out->write.get(), err->write.get()};

  become_subreaper();
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {  // what earlier ones left behind
  }
  const pid_t parent = ::getpid(), pid = ::fork();
  if (pid == 0) run_words(parent, descriptors, failure->write.get(), arguments.data());
  if (pid < 0) return system_error("cannot start a process", words[0], errno);
  Running child(pid);
  for (auto* pipe : {&out, &err, &failure}) (*pipe)->write.reset();
  CommandOutput output;
  for (;;) {
    // Whoever is left behind by it may hold the pipes open: what counts is its own end.
    const bool ended = child.ended();
    const bool fits = drain(out->read, output.out, kOutLimit);
    drain(err->read, output.err, kErrLimit);
    if (!fits) return Error{Code::invalid, "this command prints too much", words[0], "at most 64 KiB are read"};
    if (ended) break;
    const int64_t now_ns = system_clock().monotonic_ns();
    if (cancelled && cancelled()) return Error{Code::gone, "the command was cut short", words[0], ""};
    if (now_ns >= deadline_ns)
      return Error{Code::io, "this command did not end in time", words[0], "run it by hand and see what it waits for"};
    std::array<pollfd, 3> fds{pollfd{out->read.get(), POLLIN, 0}, pollfd{err->read.get(), POLLIN, 0},
                              pollfd{child.pidfd(), POLLIN, 0}};
    system_clock().wait(fds, std::min(deadline_ns, now_ns + kSlice_ns));
  }
  int number = 0;
  if (::read(failure->read.get(), &number, sizeof number) == static_cast<ssize_t>(sizeof number))
    return system_error("cannot run this command", words[0], number);
  output.status = child.status();
  return output;
}

Result<std::vector<std::string>> split_words(std::string_view text) {
  std::vector<std::string> words;
  bool inside = false;  // of a word, which may be empty: ''
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && (c == ' ' || c == '\t' || c == '\r' || c == '\n')) {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back();
    inside = true;
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == '\\' && quote != '\'' && i + 1 < text.size() &&
               (quote == 0 || text[i + 1] == '"' || text[i + 1] == '\\')) {
      words.back() += text[++i];
    } else {
      words.back() += c;
    }
  }
  if (quote != 0)
    return Error{Code::invalid, "a quotation mark is not closed", "", std::string("add the missing ") + quote};
  return words;
}

}  // namespace tacho
