#include "os/perf_counter.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "os/file.h"

namespace tacho {
namespace {

enum class From { now, next_exec };

Result<Fd> open_event(PerfEvent event, pid_t pid, int cpu, From from) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = event.type;
  attributes.config = event.config;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  attributes.disabled = attributes.enable_on_exec = from == From::next_exec;
  attributes.inherit = pid >= 0;
  for (const bool user_only : {false, true}) {
    attributes.exclude_kernel = attributes.exclude_hv = user_only;
    Fd fd(static_cast<int>(::syscall(SYS_perf_event_open, &attributes, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
    if (fd) return fd;
    if (errno != EACCES && errno != EPERM) break;
  }
  return system_error("cannot count performance events", "", errno);
}

}  // namespace

Result<PerfCounter> PerfCounter::on_next_exec(PerfEvent event, pid_t pid) {
  auto fd = open_event(event, pid, -1, From::next_exec);
  if (!fd) return fd.error();
  return PerfCounter(std::move(*fd));
}

Result<PerfCounter> PerfCounter::on_thread(PerfEvent event, pid_t thread) {
  auto fd = open_event(event, thread, -1, From::now);
  if (!fd) return fd.error();
  return PerfCounter(std::move(*fd));
}

Result<PerfCounter> PerfCounter::on_cpu(PerfEvent event, int cpu) {
  auto fd = open_event(event, -1, cpu, From::now);
  if (!fd) return fd.error();
  return PerfCounter(std::move(*fd));
}

std::optional<int64_t> PerfCounter::read() const {
  struct {
    uint64_t value, enabled_ns, running_ns;
  } counts{};
  if (!fd_ || ::read(fd_.get(), &counts, sizeof counts) != static_cast<ssize_t>(sizeof counts)) return std::nullopt;
  if (counts.enabled_ns == 0) return 0;  // the job has not run exec yet
  if (counts.running_ns == 0) return std::nullopt;
  const double share = static_cast<double>(counts.enabled_ns) / static_cast<double>(counts.running_ns);
  return static_cast<int64_t>(static_cast<double>(counts.value) * share);
}

}  // namespace tacho
