#include "os/helper.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "os/environment.h"
#include "os/file.h"

namespace tacho {
namespace {

constexpr int kNice = 10;
// Of linux/ioprio.h, which is not C++ in every stable kernel (6.1.192 has a parameter called `class`).
constexpr int kIoOfProcess = 1;             // IOPRIO_WHO_PROCESS
constexpr int kIoWhenIdle = (3 << 13) | 0;  // IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0)

struct Plan {
  const char* program;
  std::vector<char*> arguments, environment;
  std::vector<int> descriptors;  // 0, 1, 2, then the given ones; all far above their place
  int error_fd;
};

[[noreturn]] void run_helper(Plan& plan) {
  ::setsid();
  ::setpriority(PRIO_PROCESS, 0, kNice);
  ::syscall(SYS_ioprio_set, kIoOfProcess, 0, kIoWhenIdle);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (size_t i = 0; i < plan.descriptors.size(); ++i) ::dup2(plan.descriptors[i], static_cast<int>(i));
  // What tacho itself inherited and keeps for the job is none of the helper's business: a pipe held open by it would
  // keep the pipe's reader waiting after the job ended.
  const auto first = static_cast<unsigned>(plan.descriptors.size());
  const int error_fd = ::fcntl(plan.error_fd, F_DUPFD_CLOEXEC, static_cast<int>(first));
  close_from_on_exec(first);
  ::execve(plan.program, plan.arguments.data(), plan.environment.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t told = ::write(error_fd, &error, sizeof error);
  ::_exit(127);
}

}  // namespace

Fd high_copy(int fd) { return Fd(::fcntl(fd, F_DUPFD_CLOEXEC, 64)); }

void close_from_on_exec(unsigned first) {
#ifdef SYS_close_range
  // Closed on exec, so that an error can still be told (Linux 5.11; before, one by one).
  if (::syscall(SYS_close_range, first, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */) == 0) return;
#endif
  for (int fd = static_cast<int>(first); fd < 1024; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

Result<Helper> start_helper(const HelperOptions& options) {
  int messages[2] = {-1, -1}, errors[2] = {-1, -1};
  if (::pipe2(messages, O_CLOEXEC) != 0) return system_error("cannot make a pipe", "", errno);
  Fd messages_read(messages[0]);
  const Fd messages_write(messages[1]);
  if (::pipe2(errors, O_CLOEXEC) != 0) return system_error("cannot make a pipe", "", errno);
  const Fd errors_read(errors[0]);
  Fd errors_write(errors[1]);
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));

  std::vector<Fd> copies;
  copies.push_back(high_copy(null.get()));
  copies.push_back(high_copy(null.get()));
  copies.push_back(high_copy(messages_write.get()));
  for (const int fd : options.descriptors) copies.push_back(high_copy(fd));
  Fd high_error = high_copy(errors_write.get());
  errors_write.reset();

  Plan plan;
  for (const Fd& copy : copies) {
    if (!copy) return Error{Code::io, "too few descriptors for a helper", options.program, "raise ulimit -n"};
    plan.descriptors.push_back(copy.get());
  }
  if (!high_error) return Error{Code::io, "too few descriptors for a helper", options.program, "raise ulimit -n"};
  plan.program = options.program.c_str();
  plan.arguments.push_back(const_cast<char*>(options.program.c_str()));
  for (const std::string& argument : options.arguments) plan.arguments.push_back(const_cast<char*>(argument.c_str()));
  plan.arguments.push_back(nullptr);
  plan.environment = environment_without(options.remove_environment);
  plan.error_fd = high_error.get();

  const pid_t pid = ::fork();
  if (pid == 0) run_helper(plan);
  if (pid < 0) return system_error("cannot start a process", options.program, errno);
  high_error.reset();
  int number = 0;
  ssize_t got = 0;
  while ((got = ::read(errors_read.get(), &number, sizeof number)) < 0 && errno == EINTR) {}
  if (got == static_cast<ssize_t>(sizeof number)) return system_error("cannot start", options.program, number);
  ::fcntl(messages_read.get(), F_SETFL, O_NONBLOCK);
  return Helper{pid, std::move(messages_read)};
}

Result<std::pair<Fd, Fd>> make_control_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("cannot make a pipe", "", errno);
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
  return std::pair<Fd, Fd>(Fd(ends[0]), Fd(ends[1]));
}

}  // namespace tacho
