#include "deliver/follow_spool.h"

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "deliver/kinds.h"
#include "deliver/leftovers.h"

namespace tacho {
namespace {

constexpr size_t kMostInHands = 256, kMostOfAWay = 128, kAlwaysOfAWay = 8;
constexpr size_t kEnoughLoaded = 20'000;  // points, of one way
constexpr int64_t kLeftAgain_ns = 300 * kNsPerSec;

}  // namespace

// A way that is blocked must not take all the room: each has a little in any case.
bool FollowedSpool::has_room(const Way& way) const {
  const size_t own = way.taken.size();
  return own < kAlwaysOfAWay || (own < kMostOfAWay && in_hands_ < kMostInHands);
}

void FollowedSpool::look() {
  std::map<std::string, Known> still;  // of folders that are gone nothing is kept
  for (std::string& folder : all_spooled()) {
    Known known;
    if (const auto before = known_.find(folder); before != known_.end()) known = std::move(before->second);
    still.emplace(std::move(folder), std::move(known));
  }
  known_ = std::move(still);
  std::vector<decltype(known_)::iterator> oldest;
  for (auto entry = known_.begin(); entry != known_.end(); ++entry) oldest.push_back(entry);
  std::stable_sort(oldest.begin(), oldest.end(),
                   [](const auto& a, const auto& b) { return last_part(a->first) < last_part(b->first); });
  for (const auto& entry : oldest)
    if (stops_()) return;
    else take(entry->first, entry->second);
}

// Whether the run is one that can be sent from here.
bool FollowedSpool::identify(const std::string& folder, Known& known) {
  if (!known.way.empty()) return true;
  const auto text = SpoolRun(folder).meta();
  const auto meta = text ? parse_meta(*text) : Result<SpoolMeta>(text.error());
  const DeliveryKind* kind = meta ? kind_of(*meta) : nullptr;
  if (kind == nullptr) return false;  // not described yet, or not for us
  if (const std::string whose = kind->elsewhere(*meta); !whose.empty()) {
    shared_.notices.warn("elsewhere", folder + " belongs to " + whose);
    known.not_before_ns = now_ns() + kLeftAgain_ns;
    return false;
  }
  const auto metrics = parse_metric_meta(*text);
  known.way = metrics ? MetricLane::way_of(*metrics) : std::string(kind->name);
  return true;
}

void FollowedSpool::take(const std::string& folder, Known& known) {
  if (now_ns() < known.not_before_ns || !identify(folder, known)) return;
  Way& way = ways_[known.way];
  if (!has_room(way) || now_ns() < way.not_before_ns) return;
  if (std::any_of(way.taken.begin(), way.taken.end(), [&](const Taken& one) { return one.folder == folder; })) return;
  SpoolRun run(folder);
  if (!run.lock()) return;  // in other hands
  Taken taken{folder, make_delivery(std::move(run), Role::command, shared_)};
  if (taken.delivery->join() && !way.lane) way.lane = std::make_unique<MetricLane>(shared_);
  taken.delivery->finish(0);
  way.taken.push_back(std::move(taken));
  ++in_hands_;
}

int64_t FollowedSpool::step() {
  int64_t wake_ns = kNever;
  for (auto entry = ways_.begin(); entry != ways_.end() && !stops_();) {
    Way& way = entry->second;
    wake_ns = std::min(wake_ns, step_all(way));
    if (way.lane && !stops_()) wake_ns = std::min(wake_ns, send_together(way));
    if (way.taken.empty() && now_ns() >= way.not_before_ns) entry = ways_.erase(entry);
    else ++entry;
  }
  return wake_ns;
}

size_t FollowedSpool::points_of(const Taken& taken) {
  const MetricRun* run = taken.delivery->ready();
  return run != nullptr ? run->points().size() : 0;
}

int64_t FollowedSpool::step_all(Way& way) {
  int64_t wake_ns = kNever;
  size_t loaded = 0;
  for (size_t i = 0; i < way.taken.size() && !stops_();) {
    Taken& taken = way.taken[i];
    const size_t held = points_of(taken);
    loaded += held;
    // Long runs have thousands of points each: no more are held than the next requests take.
    if (held == 0 && loaded > kEnoughLoaded) {
      ++i;
      continue;
    }
    if (now_ns() < taken.next_ns || step_one(taken)) {
      wake_ns = std::min(wake_ns, taken.next_ns);
      loaded += points_of(taken) - held;
      ++i;
      continue;
    }
    way.taken.erase(way.taken.begin() + static_cast<std::ptrdiff_t>(i));
    --in_hands_;
  }
  return wake_ns;
}

// Whether it goes on.
bool FollowedSpool::step_one(Taken& taken) {
  const Step step = taken.delivery->step();
  taken.next_ns = step.wake_ns;
  if (step.kind == Step::Kind::wait) return true;
  if (step.kind == Step::Kind::left)
    if (const auto known = known_.find(taken.folder); known != known_.end())
      known->second.not_before_ns = now_ns() + kLeftAgain_ns;
  if (shared_.told) shared_.told(*taken.delivery, step.kind == Step::Kind::done);
  return false;
}

int64_t FollowedSpool::send_together(Way& way) {
  std::vector<MetricRun*> ready;
  // One whose description was damaged since it was identified is no longer of metrics.
  for (const Taken& taken : way.taken)
    if (MetricRun* run = taken.delivery->ready()) ready.push_back(run);
  if (ready.empty()) return kNever;
  if (now_ns() < way.lane->next_ns()) return way.lane->next_ns();
  way.lane->send(ready);
  if (way.lane->is_blocked()) leave(way);
  for (Taken& taken : way.taken) taken.next_ns = 0;  // each has had its verdict, or waits
  return way.lane->next_ns();
}

// Until somebody has mended the setting all of them are free, for whoever knows better.
void FollowedSpool::leave(Way& way) {
  way.lane->leave();
  way.not_before_ns = now_ns() + kLeftAgain_ns;
  for (Taken& taken : way.taken) {
    taken.delivery->leave();
    if (shared_.told) shared_.told(*taken.delivery, false);
  }
  in_hands_ -= way.taken.size();
  way.taken.clear();
}

}  // namespace tacho
