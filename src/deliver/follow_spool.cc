#include "deliver/follow_spool.h"

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "deliver/kinds.h"
#include "deliver/leftovers.h"

namespace tacho {
namespace {

constexpr size_t kMostInHands = 256, kMostOfAWay = 128, kAlwaysOfAWay = 8;
constexpr int kMostAtOnce = 4;  // ways, and so connections
constexpr int64_t kLeftAgain_ns = 300 * kNsPerSec;

}  // namespace

FollowedSpool::FollowedSpool(const Delivering& common, std::function<bool()> stops)
    : common_(common), stops_(std::move(stops)), workers_(kMostAtOnce) {}

// A way that is blocked must not take all the room: each has a little in any case.
bool FollowedSpool::has_room(const Way& way) const {
  return way.runs < kAlwaysOfAWay || (way.runs < kMostOfAWay && in_hands_ < kMostInHands);
}

void FollowedSpool::look() {
  std::erase_if(ways_, [&](const auto& entry) {
    const Way& way = entry.second;
    return !way.busy && way.runs == 0 && now_ns() >= way.not_before_ns;
  });
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
    common_.notices.warn("elsewhere", folder + " belongs to " + whose);
    known.not_before_ns = now_ns() + kLeftAgain_ns;
    return false;
  }
  const auto metrics = parse_metric_meta(*text);
  known.way = metrics ? MetricLane::way_of(*metrics)
                      : std::string(kind->name) + " " + meta->api_url + " " + meta->s3_endpoint.value_or("");
  return true;
}

void FollowedSpool::take(const std::string& folder, Known& known) {
  if (now_ns() < known.not_before_ns || !identify(folder, known)) return;
  const auto before = ways_.find(known.way);
  if (before != ways_.end()) {
    const Way& way = before->second;
    if (way.busy || !has_room(way) || now_ns() < way.not_before_ns || way.way->has(folder)) return;
  }
  SpoolRun run(folder);
  if (!run.lock()) return;  // in other hands
  Way& way = ways_[known.way];
  if (!way.way) way.way = std::make_unique<FollowWay>(common_, stops_);
  way.way->take(std::move(run));
  ++way.runs;
  ++in_hands_;
  way.due_ns = 0;
}

int64_t FollowedSpool::start_due() {
  int64_t wake_ns = kNever;
  const bool may_keep = ways_.size() <= static_cast<size_t>(kMostAtOnce);
  for (auto& [name, way] : ways_) {
    if (way.busy || way.runs == 0) continue;
    wake_ns = std::min(wake_ns, way.due_ns);
    if (way.due_ns > now_ns()) continue;
    way.busy = true;
    workers_.add([this, name = name, way = way.way.get(), may_keep] {
      const int64_t due_ns = stops_() ? kNever : way->turn();
      if (!may_keep) way->disconnect();
      const std::lock_guard lock(lock_);
      gone_.push_back({name, due_ns});
      lock_.notify_all();
    });
  }
  return wake_ns;
}

void FollowedSpool::wait(int64_t until_ns) {
  std::vector<Gone> gone;
  {
    const std::lock_guard lock(lock_);
    while (gone_.empty() && lock_.wait_until(until_ns)) {}
    gone.swap(gone_);
  }
  for (const Gone& one : gone) collect(one);
}

void FollowedSpool::collect(const Gone& gone) {
  Way& way = ways_.at(gone.way);
  way.busy = false;
  way.due_ns = gone.due_ns;
  way.not_before_ns = way.way->not_before_ns();
  in_hands_ -= way.runs - way.way->size();
  way.runs = way.way->size();
  for (const std::string& folder : way.way->given_back())
    if (const auto known = known_.find(folder); known != known_.end())
      known->second.not_before_ns = now_ns() + kLeftAgain_ns;
}

}  // namespace tacho
