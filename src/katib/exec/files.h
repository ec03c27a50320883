// Small files of the launcher: its record and the marker in the folder that it shares with the collector, and the copy
// of itself in the trainer's container. Plain system calls: the launcher runs in any image. Not thread-safe.
#pragma once
#include <sys/types.h>

namespace tacho_exec {

// "tacho-exec: TEXT[: REASON of errno]" on stderr.
void complain(const char* text, const char* path, int error_number);

bool write_all(int fd, const char* data, size_t size);

// FOLDER/.tacho-launcher: `1234 5678901`, our pid and start time (clock ticks since boot, field 22 of /proc/self/stat).
// A marker that an earlier process of our pid left behind is removed first.
bool write_record(const char* folder);

// FOLDER/.tacho-usage: `1234 5678901 2300000`, the same and the CPU time of all that we started and waited for, µs.
// Another reader of /proc may come too late for the last of it.
bool write_usage(const char* folder);

// FOLDER/PID.pid, by temporary file and rename, mode 0666 whatever the umask: the collector may be another user.
bool mark_completed(const char* folder);
// Whether the collector has put `early-stopped` there.
bool was_stopped_early(const char* folder);

// Copies this program to FOLDER/exec. Returns an exit code.
int install(const char* folder);

}  // namespace tacho_exec
