#include "kube/api/work_queue.h"

#include <algorithm>
#include <mutex>

#include "base/units.h"
#include "os/clock.h"

namespace tacho {

void WorkQueue::push(const std::string& key) {
  if (working_.contains(key)) {
    again_.insert(key);
    return;
  }
  if (const auto held = not_before_ns_.find(key); held != not_before_ns_.end()) {
    if (held->second > system_clock().monotonic_ns()) return appoint(key, held->second);
    not_before_ns_.erase(held);
  }
  if (waiting_.insert(key).second) {
    ready_.push_back(key);
    wait_lock_.notify_all();
  }
}

void WorkQueue::add(const std::string& key) {
  const std::lock_guard lock(wait_lock_);
  push(key);
}

void WorkQueue::add_after(const std::string& key, int64_t delay_ms) {
  const int64_t at_ns = system_clock().monotonic_ns() + delay_ms * kNsPerMs;
  const std::lock_guard lock(wait_lock_);
  appoint(key, at_ns);
}

void WorkQueue::appoint(const std::string& key, int64_t at_ns) {
  const auto found = appointed_ns_.find(key);
  if (found != appointed_ns_.end() && found->second <= at_ns) return;
  appointed_ns_[key] = at_ns;
  appointments_.emplace(at_ns, key);  // an older, later entry is left over and does no harm when it comes
  wait_lock_.notify_all();
}

void WorkQueue::retry(const std::string& key, double random, int64_t first_ms, int64_t last_ms, int64_t at_least_ms) {
  int failures = 0;
  {
    const std::lock_guard lock(wait_lock_);
    failures = failures_[key]++;
    if (at_least_ms > 0) not_before_ns_[key] = system_clock().monotonic_ns() + at_least_ms * kNsPerMs;
  }
  const int64_t bound_ms = std::min(last_ms, first_ms << std::min(failures, 20));
  add_after(key, std::max(at_least_ms, static_cast<int64_t>(static_cast<double>(bound_ms) * (0.8 + 0.4 * random))));
}

void WorkQueue::forget(const std::string& key) {
  const std::lock_guard lock(wait_lock_);
  failures_.erase(key);
  not_before_ns_.erase(key);
}

std::optional<std::string> WorkQueue::take() {
  std::unique_lock lock(wait_lock_);
  for (;;) {
    if (stopped_) return std::nullopt;
    const int64_t now_ns = system_clock().monotonic_ns();
    while (!appointments_.empty() && appointments_.begin()->first <= now_ns) {
      const auto [at_ns, key] = *appointments_.begin();
      appointments_.erase(appointments_.begin());
      const auto appointed = appointed_ns_.find(key);
      if (appointed == appointed_ns_.end() || appointed->second != at_ns) continue;
      appointed_ns_.erase(appointed);
      push(key);
    }
    if (!ready_.empty()) {
      std::string key = std::move(ready_.front());
      ready_.pop_front();
      waiting_.erase(key);
      working_.insert(key);
      return key;
    }
    if (appointments_.empty()) wait_lock_.wait();
    else wait_lock_.wait_until(appointments_.begin()->first);
  }
}

void WorkQueue::done(const std::string& key) {
  const std::lock_guard lock(wait_lock_);
  working_.erase(key);
  if (again_.erase(key) > 0) push(key);
}

void WorkQueue::stop() {
  const std::lock_guard lock(wait_lock_);
  stopped_ = true;
  wait_lock_.notify_all();
}

size_t WorkQueue::size() {
  const std::lock_guard lock(wait_lock_);
  return ready_.size() + working_.size();
}

}  // namespace tacho
