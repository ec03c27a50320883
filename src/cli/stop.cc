// tacho stop RUN: ends the recording, as a SIGTERM to the tacho that records it does, and waits until it is written.
#include <sys/stat.h>

#include <csignal>

#include "base/log.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/resolve.h"
#include "job/process_identity.h"
#include "os/clock.h"
#include "os/file.h"
#include "procfs/cgroup_files.h"
#include "report/store/store.h"

namespace tacho {
namespace {

constexpr int64_t kPatience_ns = 5 * kNsPerSec, kPause_ns = 5 * kNsPerMs;

int has_ended(const StoredRun& stored) {
  log::error("this run does not go on: " + stored.shown_id() + "; tacho show " + stored.shown_id() + " prints it");
  return kNothingThere;
}

// Of another machine or container, whose number means nothing here.
int cannot_be_reached(const StoredRun& stored) {
  return refuse({Code::invalid, "the process that records it is not here", stored.shown_id(),
                 "run tacho stop on the machine, and in the container, where it was started"});
}

// Where others write to the store, what a stranger's run.json names may be any process of ours. The one that records
// belongs to whoever owns the file or, where a file system has owners of its own, holds the run's rows open.
bool is_recorder(const StoredRun& stored) {
  const std::string process = "/proc/" + std::to_string(stored.run.tracker_pid);
  struct stat file {};
  const auto status = read_whole_file(process + "/status", 1 << 16);
  const auto owner = status ? parse_keyed(*status, "Uid:") : std::nullopt;
  if (::stat((stored.folder + "/run.json").c_str(), &file) == 0 && owner == static_cast<int64_t>(file.st_uid))
    return true;
  bool has_rows = false;
  list_directory(process + "/fd", [&](std::string_view name) {
    has_rows = has_rows || same_file(process + "/fd/" + std::string(name), stored.folder + "/metrics.csv");
  });
  return has_rows;
}

int is_no_recorder(const StoredRun& stored) {
  return refuse({Code::denied, "its run.json names a process of somebody else, which is left alone", stored.shown_id(),
                 "end the recording as the user who began it"});
}

bool goes_on(const std::string& folder) {
  const auto stored = read_run(folder);
  return stored && stored->run.outcome.state == RunState::running;
}

}  // namespace

int stop_command(const Invocation& call) {
  const Started started = start(call, Words::anywhere);
  if (started.done) return *started.done;
  if (started.line.words.size() != 1)
    return refuse({Code::invalid, "stop takes one run", "", "write tacho stop last; tacho runs lists all"});
  const auto settings = resolve(started.line, kStop, real_surroundings());
  if (!settings) return refuse(settings.error());
  const auto stored = find_run(settings->store_dir, started.line.words[0]);
  if (!stored) return refuse(stored.error());
  const Run& run = stored->run;
  if (run.outcome.state != RunState::running) return has_ended(*stored);
  if (process_start_ticks(run.tracker_pid) == run.tracker_start_ticks && !is_recorder(*stored))
    return is_no_recorder(*stored);
  if (const Status sent = signal_process(run.tracker_pid, run.tracker_start_ticks, SIGTERM); !sent) {
    if (sent.error().code != Code::gone) return refuse(sent.error());
    return goes_on(stored->folder) ? cannot_be_reached(*stored) : has_ended(*stored);
  }
  Clock& clock = system_clock();
  const int64_t deadline_ns = clock.monotonic_ns() + kPatience_ns;
  while (goes_on(stored->folder)) {
    if (clock.monotonic_ns() >= deadline_ns) {
      log::error("told to end, but not yet done: " + stored->shown_id() + "; tacho show " + stored->shown_id() +
                 " tells when it is");
      return 1;
    }
    clock.wait({}, clock.monotonic_ns() + kPause_ns);
  }
  return 0;
}

}  // namespace tacho
