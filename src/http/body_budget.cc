#include "http/body_budget.h"

#include <algorithm>

#include "os/clock.h"

namespace tacho {

int64_t BodyBudget::left_bytes() const {
  const std::lock_guard lock(mutex_);
  return small_.left + large_.left;
}

bool BodyBudget::resize(Share& share, size_t bytes) {
  const int64_t now_ns = system_clock().monotonic_ns();
  const std::lock_guard lock(mutex_);
  Pool& from = pool(share.held_);
  Pool& to = pool(bytes);
  const int64_t held = static_cast<int64_t>(share.held_), wanted = static_cast<int64_t>(bytes);
  const int64_t more = &from == &to ? wanted - held : wanted;
  if (bytes > share.held_ && (share.is_evicted() || !make_room(to, more, share, now_ns))) return false;
  // Before anything is changed, since it may need memory. One that is complete only gives back.
  const bool moves = bytes > 0 && (!share.listed_ ? share.held_ == 0 : &from != &to);
  if (moves) to.arriving.reserve(to.arriving.size() + 1);
  if (moves || bytes == 0) unlist(share);
  else if (share.is_evicted()) from.promised += wanted - held;
  from.left += held;
  to.left -= wanted;
  const bool makes_step = share.held_ == 0 || bytes < share.step_bytes_ || bytes - share.step_bytes_ >= kStep;
  if (makes_step) share.step_bytes_ = bytes, share.step_ns_ = now_ns;
  share.held_ = bytes;
  if (moves) list(share);
  if (bytes == 0) share.evicted_ = false;
  return true;
}

void BodyBudget::complete(Share& share) {
  if (!share.listed_) return;  // known to the share's own thread
  const std::lock_guard lock(mutex_);
  unlist(share);
  share.evicted_ = false;
}

// Those that have made no step for longest go until there is, or will be, room. Nobody goes where that is not enough.
bool BodyBudget::make_room(Pool& pool, int64_t bytes, const Share& asking, int64_t now_ns) {
  int64_t missing = bytes - pool.left - pool.promised;
  if (missing <= 0) return true;
  std::vector<Share*> slow;
  for (Share* share : pool.arriving)
    if (share != &asking && !share->is_evicted() && now_ns - share->step_ns_ >= slow_ns_) slow.push_back(share);
  std::sort(slow.begin(), slow.end(), [](const Share* a, const Share* b) { return a->step_ns_ < b->step_ns_; });
  size_t count = 0;
  for (; missing > 0 && count < slow.size(); ++count) missing -= static_cast<int64_t>(slow[count]->held_);
  if (missing > 0) return false;
  for (size_t i = 0; i < count; ++i) {
    slow[i]->evicted_ = true;
    pool.promised += static_cast<int64_t>(slow[i]->held_);
    if (slow[i]->on_evicted_) slow[i]->on_evicted_();
  }
  return true;
}

void BodyBudget::list(Share& share) {
  Pool& in = pool(share.held_);
  share.place_ = in.arriving.size();
  in.arriving.push_back(&share);
  share.listed_ = true;
  if (share.is_evicted()) in.promised += static_cast<int64_t>(share.held_);
}

void BodyBudget::unlist(Share& share) {
  if (!share.listed_) return;
  Pool& in = pool(share.held_);
  in.arriving[share.place_] = in.arriving.back();
  in.arriving[share.place_]->place_ = share.place_;
  in.arriving.pop_back();
  share.listed_ = false;
  if (share.is_evicted()) in.promised -= static_cast<int64_t>(share.held_);
}

}  // namespace tacho
