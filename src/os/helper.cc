#include "os/helper.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "os/child.h"
#include "os/environment.h"
#include "os/file.h"

namespace tacho {
namespace {

constexpr int kNice = 10;
// Of linux/ioprio.h, which is not C++ in every stable kernel (6.1.192 has a parameter called `class`).
constexpr int kIoOfProcess = 1;             // IOPRIO_WHO_PROCESS
constexpr int kIoWhenIdle = (3 << 13) | 0;  // IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0)

struct HelperPlan {
  const char* program;
  std::vector<char*> arguments, environment;
  std::vector<int> descriptors;  // 0, 1, 2, then the given ones; all far above their place
  int error_fd;                  // as far above
};

[[noreturn]] void run_helper(HelperPlan& plan) {
  ::setsid();
  ::setpriority(PRIO_PROCESS, 0, kNice);
  ::syscall(SYS_ioprio_set, kIoOfProcess, 0, kIoWhenIdle);
  settle_before_exec(plan.descriptors);
  ::execve(plan.program, plan.arguments.data(), plan.environment.data());
  exec_failed(plan.error_fd);
}

}  // namespace

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

  HelperPlan plan;
  for (const Fd& copy : copies) {
    if (!copy) return Error{Code::io, "too few descriptors for a helper", options.program, "raise ulimit -n"};
    plan.descriptors.push_back(copy.get());
  }
  if (!high_error) return Error{Code::io, "too few descriptors for a helper", options.program, "raise ulimit -n"};
  plan.program = options.program.c_str();
  plan.arguments = exec_words(options.arguments);
  plan.arguments.insert(plan.arguments.begin(), const_cast<char*>(options.program.c_str()));
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
