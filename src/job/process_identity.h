// Which process a number means. A number is given again after its process has ended; with the time of its start it is
// not. Relies on /proc/PID/stat. Thread-safe.
#pragma once
#include <sys/types.h>

#include <cstdint>

#include "base/result.h"

namespace tacho {

// When it was started, in clock ticks since boot; 0 when there is no such process, or nothing but its remains.
uint64_t process_start_ticks(pid_t pid);

// Sends the signal to that process and to no other; gone when it has ended, denied when it is somebody else's.
Status signal_process(pid_t pid, uint64_t start_ticks, int number);

}  // namespace tacho
