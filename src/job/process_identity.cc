#include "job/process_identity.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>

#include "os/file.h"
#include "os/process.h"
#include "procfs/pid_files.h"

namespace tacho {

uint64_t process_start_ticks(pid_t pid) {
  PidStat stat;
  const auto text = read_whole_file("/proc/" + std::to_string(pid) + "/stat", 1 << 16);
  return text && parse_pid_stat(*text, stat) && stat.state != 'Z' ? stat.start_time : 0;
}

Status signal_process(pid_t pid, uint64_t start_ticks, int number) {
  const Fd process = open_pidfd(pid);  // before it is looked at: the number may become another's in between
  if (pid <= 0 || start_ticks == 0 || process_start_ticks(pid) != start_ticks)
    return Error{Code::gone, "there is no such process", std::to_string(pid), ""};
  const long sent = process ? ::syscall(SYS_pidfd_send_signal, process.get(), number, nullptr, 0) : ::kill(pid, number);
  if (sent == 0) return ok();
  if (errno == ESRCH) return Error{Code::gone, "it has just ended", std::to_string(pid), ""};
  return system_error("cannot signal the process", std::to_string(pid), errno);
}

}  // namespace tacho
