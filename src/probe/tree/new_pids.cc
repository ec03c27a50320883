#include "probe/tree/new_pids.h"

#include <algorithm>

#include "base/units.h"
#include "os/directory.h"
#include "os/load.h"
#include "procfs/loadavg.h"
#include "procfs/scan.h"

namespace tacho {
namespace {

constexpr int64_t kSeenAfterNs = kNsPerSec;
constexpr int64_t kReservedPids = 300;  // are not given out again after the first round
// To ask about a number costs a third of finding a process in the list of all.
constexpr int64_t kNumbersPerProcess = 3, kFewNumbers = 256;
// So many are asked for in the time in which the list is read from some place on; few bytes of it at a time, since
// behind the last number those of old processes may follow.
constexpr int64_t kNumbersPerReading = 8;
constexpr size_t kListedBytes = 1024;
constexpr const char* kFirstPidNamespace = "pid:[4026531836]";  // PROC_PID_INIT_INO, the same on every machine

}  // namespace

NewPids::NewPids(const std::string& proc)
    : loadavg_(proc + "/loadavg"),
      pid_max_(proc + "/sys/kernel/pid_max"),
      reliable_(is_kernels_own_proc(loadavg_.path()) && is_kernels_own_proc(proc + "/stat")),
      counts_alike_(read_link(proc + "/self/ns/pid") == kFirstPidNamespace) {}

// Whether the numbers given since the older mark are those behind it, and few enough to be asked for one by one.
bool NewPids::in_order(const Mark& now, int64_t threads) const {
  if (older_.last_pid < 0 || now.last_pid < older_.last_pid || now.forks < older_.forks) return false;
  // A number is given first, and counted when its process can be seen: more of these were chosen, behind no mark.
  if (counts_alike_ && now.forks - older_.forks > now.last_pid - older_.last_pid) return false;
  if (now.last_pid - older_.last_pid > std::max(kFewNumbers, kNumbersPerProcess * processes_)) return false;
  // With so many started, the numbers may have gone round.
  return now.forks - older_.forks + threads + kReservedPids < most_;
}

// All, and whether they stand where a reading may begin at a number.
void NewPids::list_all(int proc_fd, ReadBuffer& buffer, std::vector<pid_t>& pids) {
  std::string_view text;
  // Hardly anybody changes it, and to ask costs more than all else of a tick here.
  if (!pid_max_.read(buffer, text) || !Scanner(text).number(most_)) most_ = 0;
  NumericEntries entries(proc_fd);
  int64_t place = -1, shift = -1;
  bool regular = true;
  for (int pid = 0; entries.next(pid); place = entries.next_place()) {
    pids.push_back(pid);
    if (place < 0) continue;
    regular = regular && place >= pid && (shift < 0 || shift == place - pid);
    shift = place - pid;
  }
  processes_ = static_cast<int64_t>(pids.size());
  shift_ = regular ? shift : -1;
}

// False where it cannot be listed; nothing is in pids then.
bool NewPids::list_between(int proc_fd, int64_t older, int64_t newest, std::vector<pid_t>& pids) const {
  if (shift_ < 0) return false;
  NumericEntries entries(proc_fd, older + 1 + shift_, kListedBytes);
  bool good = true;
  for (int pid = 0; good && entries.next(pid) && pid <= newest; good = pid > older) pids.push_back(pid);
  if (good && !entries.failed()) return true;
  pids.clear();
  return false;
}

bool NewPids::collect(int proc_fd, ReadBuffer& buffer, int64_t forks, int64_t now_ns, bool all,
                      std::vector<pid_t>& pids) {
  pids.clear();
  Mark now{-1, forks, now_ns};
  LoadAverage load;
  std::string_view text;
  // Read first: what is started from now on has a number behind it.
  if (reliable_ && loadavg_.read(buffer, text)) {
    load = parse_loadavg(text);
    now.last_pid = load.last_pid > 0 && load.last_pid < INT32_MAX && forks > 0 ? load.last_pid : -1;
  }
  const bool some = !all && now.last_pid > 0 && in_order(now, load.threads);
  const bool few = now.last_pid - older_.last_pid <= kNumbersPerReading;
  if (!some) list_all(proc_fd, buffer, pids);
  else if (few || !list_between(proc_fd, older_.last_pid, now.last_pid, pids))
    for (int64_t pid = older_.last_pid + 1; pid <= now.last_pid; ++pid) pids.push_back(static_cast<pid_t>(pid));
  if (now.last_pid < 0) {
    older_ = newer_ = {};
  } else if (newer_.last_pid < 0) {
    newer_ = now;
  } else if (now_ns - newer_.stamp_ns >= kSeenAfterNs) {
    older_ = newer_;
    newer_ = now;
  }
  return !some;
}

}  // namespace tacho
