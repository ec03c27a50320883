#include "katib/collect/trainer.h"

#include <poll.h>

#include <algorithm>

#include "base/units.h"
#include "katib/collect/marker.h"
#include "os/process.h"

namespace tacho {
namespace {

// So many looks in vain before traces of a trainer are taken for its end.
constexpr int kTraceLooks = 5;
// The volume's clock need not be this machine's, and a process's begin is known by the clock tick only. Nobody makes a
// new pod of an old one in less time.
constexpr int64_t kClockNs = 2 * kNsPerSec;

}  // namespace

Trainer::Waited Trainer::hold(const ProcessId& id) {
  Waited out{id, open_pidfd(id.pid), false};
  // The descriptor is of whoever has the pid now: only the same start time makes it the one that was meant.
  if (!is_alive(options_.roots, id)) {
    out.pidfd.reset();
    out.gone = true;
  } else if (!out.pidfd) {
    pidfds_ = false;
  }
  return out;
}

bool Trainer::has_ended(Waited& process) {
  if (process.gone || process.id.pid == 0) return true;
  if (process.pidfd) {
    pollfd ready{process.pidfd.get(), POLLIN, 0};
    process.gone = ::poll(&ready, 1, 0) > 0;
  } else {
    process.gone = !is_alive(options_.roots, process.id);
  }
  if (process.gone) process.pidfd.reset();
  if (process.gone) ++generation_;
  return process.gone;
}

void Trainer::choose(const ProcessId& id, bool wrapped, const std::vector<ProcessId>& containers) {
  main_ = id;
  wrapped_ = wrapped;
  ++generation_;
  waited_main_ = hold(id);
  left_over_.reset();
  if (!waited_main_.gone && !options_.folder.empty()) {
    left_over_ = shared_file_version(marker_path(options_.folder, id.pid));
    if (left_over_ && left_over_->written_ns >= begin_ns_of(id.start_time) - kClockNs) left_over_.reset();
  }
  others_.clear();
  if (!options_.wait_all) return;
  // Only those that are there now: a shell that somebody opens later is nobody to wait for.
  for (const ProcessId& other : containers)
    if (!(other == id)) others_.push_back(hold(other));
}

bool Trainer::is_left_over(const std::string& path) const {
  if (options_.begin_ns == 0) return false;
  const auto version = shared_file_version(path);
  return version && version->written_ns < options_.begin_ns - kClockNs;
}

// Pids with a marker of this pod.
std::vector<pid_t> Trainer::marked() const {
  if (options_.folder.empty()) return {};
  std::vector<pid_t> pids = marked_processes(options_.folder);
  std::erase_if(pids, [&](pid_t pid) { return is_left_over(marker_path(options_.folder, pid)); });
  return pids;
}

// A marker of a process that is gone: training ended before the first look.
bool Trainer::already_ended(const std::vector<ProcessId>& containers) {
  for (const pid_t pid : marked()) {
    const bool lives =
        std::any_of(containers.begin(), containers.end(), [&](const ProcessId& id) { return id.pid == pid; });
    if (lives || read_marker(options_.folder, pid) != Marker::completed) continue;
    choose({pid, 0}, true, containers);
    return true;
  }
  return false;
}

// The launcher left its record: that process is meant, and no other.
bool Trainer::look_at_record(const std::vector<ProcessId>& containers) {
  const auto record = read_launcher_record(options_.folder);
  if (!record) return false;
  if (is_alive(options_.roots, *record)) return choose(*record, true, containers), true;
  if (found() || is_left_over(launcher_record_path(options_.folder))) return false;
  // It is gone. Either training is over, or the container is just being started again and a new record will come.
  const bool over = read_marker(options_.folder, record->pid) != Marker::missing || ++empty_looks_ >= kTraceLooks;
  if (over) choose(*record, true, containers);
  return true;
}

bool Trainer::look() {
  if (!search_again()) return false;
  const uint64_t before = generation_;
  const std::vector<ProcessId> containers = container_roots(options_.roots, options_.ignored);
  const std::string& folder = options_.folder;
  if (!folder.empty()) {
    if (look_at_record(containers)) return generation_ != before;
    for (const ProcessId& id : containers)
      if (is_wrapper_command(command_line(options_.roots, id.pid), folder)) return choose(id, true, containers), true;
    if (!found() && already_ended(containers)) return true;
  }
  if (found()) {
    --looks_left_;
    return false;
  }
  if (!containers.empty()) return choose(containers.front(), false, containers), true;
  // Nobody there, but somebody has written: it ended before the first look, with a marker that is not "completed", or
  // none.
  const std::vector<pid_t> ended = marked();
  const bool wrote = !options_.evidence.empty() && file_exists(options_.evidence) && !is_left_over(options_.evidence);
  if ((ended.empty() && !wrote) || ++empty_looks_ < kTraceLooks) return false;
  if (!ended.empty()) return choose({ended.front(), 0}, true, containers), true;
  ++generation_;
  return vanished_ = true;
}

bool Trainer::main_gone() { return found() && has_ended(waited_main_); }

bool Trainer::others_gone() {
  bool all = true;
  for (Waited& other : others_) all = has_ended(other) && all;
  return all;
}

void Trainer::forget_ignored() {
  if (others_.empty()) return;
  const std::vector<ProcessId> containers = container_roots(options_.roots, options_.ignored);
  std::erase_if(others_, [&](const Waited& other) {
    return std::find(containers.begin(), containers.end(), other.id) == containers.end();
  });
  ++generation_;
}

TrainingEnd Trainer::end() const {
  if (!found()) return TrainingEnd::none;
  if (vanished_) return options_.marker_expected ? TrainingEnd::failed : TrainingEnd::success;
  if (options_.folder.empty()) return TrainingEnd::success;
  const bool unchanged = left_over_ && shared_file_version(marker_path(options_.folder, main_.pid)) == left_over_;
  switch (unchanged ? Marker::missing : read_marker(options_.folder, main_.pid)) {
    case Marker::completed: return TrainingEnd::success;
    case Marker::early_stopped: return TrainingEnd::early_stopped;
    case Marker::damaged: return TrainingEnd::damaged;
    case Marker::missing: break;
  }
  const bool expected = options_.marker_if_wrapped ? wrapped_ : options_.marker_expected;
  return expected ? TrainingEnd::failed : TrainingEnd::success;
}

std::vector<int> Trainer::descriptors() const {
  std::vector<int> out;
  if (waited_main_.pidfd) out.push_back(waited_main_.pidfd.get());
  for (const Waited& other : others_)
    if (other.pidfd) out.push_back(other.pidfd.get());
  return out;
}

}  // namespace tacho
