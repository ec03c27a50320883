// tacho stop RUN: ends the recording, as a SIGTERM to the tacho that records it does, and waits until it is written.
#include <csignal>

#include "base/log.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/resolve.h"
#include "job/process_identity.h"
#include "os/clock.h"
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

bool goes_on(const std::string& folder) {
  const auto stored = read_run(folder);
  return stored && stored->run.outcome.state == RunState::running;
}

}  // namespace

int stop_command(const Call& call) {
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
