// The files of one process: /proc/PID/{stat,io,status,smaps_rollup} and task/TID/children.
#include "procfs/pid_files.h"

#include "target.h"

void fuzz_one(std::string_view text) {
  tacho::PidStat stat;
  if (tacho::parse_pid_stat(text, stat)) require(is_inside(stat.comm, text));
  tacho::PidIo io;
  if (tacho::parse_pid_io(text, io)) require(io.read_bytes >= 0 && io.write_bytes >= 0);
  tacho::PidStatus status;
  tacho::parse_pid_status(text, status);
  if (const auto rollup = tacho::parse_smaps_rollup(text))
    require(rollup->rss_bytes >= 0 && rollup->pss_bytes >= 0 && rollup->huge_bytes >= 0);
  tacho::parse_children(text, [](pid_t pid) { require(pid > 0); });
}
