#include "deliver/follow_way.h"

#include <algorithm>
#include <utility>

#include "base/units.h"

namespace tacho {
namespace {

constexpr size_t kEnoughLoaded = 20'000;  // points
constexpr int64_t kBlockedPause_ns = 300 * kNsPerSec;

}  // namespace

FollowWay::FollowWay(const Delivering& common, std::function<bool()> stops)
    : stops_(std::move(stops)),
      shared_{.http = http_,
              .notices = common.notices,
              .token = common.token,
              .add_cloud = {},
              .bucket_credentials = {},
              .clock = common.clock,
              .told = common.told,
              .places = common.places} {
  complete(shared_, cloud_, stops_);
  http_.on_cancel(stops_);
}

void FollowWay::disconnect() {
  http_ = HttpClient();
  http_.on_cancel(stops_);
}

bool FollowWay::has(const std::string& folder) const {
  return std::any_of(taken_.begin(), taken_.end(), [&](const Taken& one) { return one.folder == folder; });
}

void FollowWay::take(SpoolRun run) {
  Taken taken{run.folder(), nullptr};
  taken.delivery = make_delivery(std::move(run), Role::command, shared_);
  if (taken.delivery->join() && !lane_) lane_ = std::make_unique<MetricLane>(shared_);
  taken.delivery->finish(0);
  taken_.push_back(std::move(taken));
}

int64_t FollowWay::turn() {
  int64_t wake_ns = step_all();
  if (lane_ && !stops_()) wake_ns = std::min(wake_ns, send_together());
  return wake_ns;
}

size_t FollowWay::points_of(const Taken& taken) {
  const MetricRun* run = taken.delivery->ready();
  return run != nullptr ? run->points().size() : 0;
}

int64_t FollowWay::step_all() {
  int64_t wake_ns = kNever;
  size_t loaded = 0;
  for (size_t i = 0; i < taken_.size() && !stops_();) {
    Taken& taken = taken_[i];
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
    taken_.erase(taken_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return wake_ns;
}

// Whether it goes on.
bool FollowWay::step_one(Taken& taken) {
  const Step step = taken.delivery->step();
  taken.next_ns = step.wake_ns;
  if (step.kind == Step::Kind::wait) return true;
  if (step.kind == Step::Kind::left) given_back_.push_back(taken.folder);
  if (shared_.told) shared_.told(*taken.delivery, step.kind == Step::Kind::done);
  return false;
}

int64_t FollowWay::send_together() {
  std::vector<MetricRun*> ready;
  // One whose description was damaged since it was identified is no longer of metrics.
  for (const Taken& taken : taken_)
    if (MetricRun* run = taken.delivery->ready()) ready.push_back(run);
  if (ready.empty()) return kNever;
  if (now_ns() < lane_->next_ns()) return lane_->next_ns();
  lane_->send(ready);
  if (lane_->is_blocked()) leave();
  for (Taken& taken : taken_) taken.next_ns = 0;  // each has had its verdict, or waits
  return lane_->next_ns();
}

// Until somebody has mended the setting all of them are free, for whoever knows better.
void FollowWay::leave() {
  lane_->leave();
  not_before_ns_ = now_ns() + kBlockedPause_ns;
  for (Taken& taken : taken_) {
    taken.delivery->leave();
    if (shared_.told) shared_.told(*taken.delivery, false);
  }
  taken_.clear();
}

}  // namespace tacho
