#include "deliver/leftovers.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/path.h"
#include "base/time_text.h"
#include "base/units.h"
#include "deliver/kinds.h"
#include "os/environment.h"
#include "os/file.h"
#include "spool/layout.h"

namespace tacho {
namespace {

constexpr int64_t kDefaultMaxBytes = int64_t{1} << 30;
constexpr int64_t kMaxAge_s = int64_t{90} * 24 * 3600;
constexpr int64_t kLeftoverPatience_ns = 60 * kNsPerSec;  // for one leftover; the next tacho tries again

int64_t max_bytes(Notices& notices) {
  const SpoolLimit limit = spool_limit("1 GiB is used");
  if (!limit.complaint.empty()) notices.must(limit.complaint);
  return limit.bytes.value_or(kDefaultMaxBytes);
}

// Of that kind, and meant for where that kind goes by our settings.
bool is_ours(const SpoolRun& run, const DeliveryKind& kind) {
  const auto text = run.meta();
  const auto meta = text ? parse_meta(*text) : Result<SpoolMeta>(text.error());
  return meta && kind_of(*meta) == &kind && kind.elsewhere(*meta).empty();
}

}  // namespace

std::vector<std::string> all_spooled() {
  std::vector<std::string> all;
  for (const std::string& root : spool_roots())
    for (std::string& folder : spool_folders(root)) all.push_back(std::move(folder));
  std::sort(all.begin(), all.end(),
            [](const std::string& a, const std::string& b) { return last_part(a) < last_part(b); });
  return all;
}

void bound_spool(Notices& notices) {
  struct Entry {
    std::string folder;
    int64_t bytes;
  };
  for (const std::string& root : spool_roots()) sweep_delivered(root);
  std::vector<Entry> entries;
  int64_t sum = 0;
  for (const std::string& folder : all_spooled()) {
    entries.push_back({folder, SpoolRun(folder).bytes()});
    sum += entries.back().bytes;
  }
  const int64_t now_s = system_clock().realtime_ns() / kNsPerSec, limit = max_bytes(notices);
  for (const Entry& entry : entries) {
    const int64_t start_s = parse_compact_utc(last_part(entry.folder)).value_or(0);
    const bool old = start_s > 0 && now_s - start_s > kMaxAge_s;
    if (!old && sum <= limit) continue;
    SpoolRun run(entry.folder);
    if (!run.has_files() || !run.lock()) continue;  // nothing of ours; alive, or being sent
    notices.must(std::string("the spool is ") + (old ? "kept for 90 days" : "full (TACHO_SPOOL_MAX)") +
                 ": removed a run that was never delivered: " + entry.folder);
    remove_delivered(run, notices);
    sum -= entry.bytes;
  }
}

std::vector<SpoolRun> take_leftovers(const std::string& folder) {
  std::vector<SpoolRun> runs;
  const SpoolRun own(folder);
  const DeliveryKind* kind = kind_of(own);
  if (kind == nullptr || !kind->leftovers_at_once) return runs;
  for (const std::string& root : own.roots()) {
    for (std::string& other : spool_folders(root)) {
      SpoolRun run(std::move(other));
      if (run.folder() != folder && is_ours(run, *kind) && run.lock()) runs.push_back(std::move(run));
    }
  }
  return runs;
}

// One that was killed and is not waited for by its parent yet is still listed: "4711 (tacho) Z 1 …".
bool owner_lives(const SpoolRun& run) {
  const pid_t pid = run.owner_pid();
  if (pid <= 0 || (::kill(pid, 0) != 0 && errno != EPERM)) return false;
  const std::string line = read_first_line("/proc/" + std::to_string(pid) + "/stat");
  const size_t name_end = line.rfind(") ");
  return name_end == std::string::npos || (line[name_end + 2] != 'Z' && line[name_end + 2] != 'X');
}

int64_t Leftovers::step(Delivering& shared, const std::function<bool(const SpoolMeta& meta)>& ours) {
  const int64_t now = shared.clock.monotonic_ns();
  if (!looked_) {
    looked_ = true;
    for (std::string& folder : all_spooled()) folders_.push_back(std::move(folder));
  }
  if (current_ && now < next_ns_) return next_ns_;
  if (!in_hands_.empty() && now >= look_again_ns_) {
    folders_.insert(folders_.end(), in_hands_.begin(), in_hands_.end());
    in_hands_.clear();
  }
  while (!current_) {
    if (folders_.empty()) return in_hands_.empty() ? kNever : look_again_ns_;
    SpoolRun run(folders_.front());
    folders_.pop_front();
    const auto text = run.meta();
    const auto meta = text ? parse_meta(*text) : Result<SpoolMeta>(text.error());
    // Runs of another service or for another bucket are not ours to send.
    if (!meta || !ours(*meta)) continue;
    if (const Status locked = run.lock(); !locked) {
      if (locked.error().code == Code::not_available && !owner_lives(run)) {
        if (in_hands_.empty()) look_again_ns_ = now + pause_ns_.next();
        in_hands_.push_back(run.folder());
      }
      continue;
    }
    current_ = make_delivery(std::move(run), Role::background, shared);
    current_->finish(now + kLeftoverPatience_ns);
  }
  const Step step = current_->step();
  next_ns_ = step.wake_ns;
  if (step.kind != Step::Kind::wait) {
    current_.reset();
    next_ns_ = now;
  }
  return next_ns_;
}

}  // namespace tacho
