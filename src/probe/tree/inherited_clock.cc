#include "probe/tree/inherited_clock.h"

#include <fcntl.h>

#include <array>
#include <cstdio>

#include "os/directory.h"

namespace tacho {
namespace {

constexpr size_t kMostThreadsListed = 256;  // a descriptor each

}  // namespace

Status InheritedClock::add(int proc_fd, pid_t pid) {
  std::array<char, 32> path{};
  std::snprintf(path.data(), path.size(), "%d/task", static_cast<int>(pid));
  const Fd tasks(::openat(proc_fd, path.data(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!tasks) return ok();  // it has ended
  // All are listed before the first gets its clock: a thread that it starts from then on has it already.
  std::vector<int> numbers;
  NumericEntries threads(tasks.get());
  for (int thread = 0; threads.next(thread);) numbers.push_back(thread);
  for (const int thread : numbers) {
    if (threads_.size() == kMostThreadsListed)
      return Error{Code::not_available, "the job has too many threads to give each a clock", "", ""};
    auto counter = PerfCounter::on_thread(kPerfTaskClock, thread);
    if (counter) threads_.push_back(std::move(*counter));
    else if (counter.error().code != Code::gone) return counter.error();
  }
  return ok();
}

bool InheritedClock::take(InheritedClock&& other) {
  if (threads_.size() + other.threads_.size() > kMostThreadsListed) return false;
  for (PerfCounter& thread : other.threads_) threads_.push_back(std::move(thread));
  other.threads_.clear();
  return true;
}

std::optional<int64_t> InheritedClock::read_ns() const {
  int64_t sum = 0;
  for (const PerfCounter& thread : threads_) {
    const auto value = thread.read();
    if (!value) return std::nullopt;
    sum += *value;
  }
  return sum;
}

}  // namespace tacho
