#include "kube/trials/job_watches.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "os/clock.h"

namespace tacho {

JobWatches::JobWatches(std::shared_ptr<ApiServer> server, std::shared_ptr<Discovery> discovery, int stop_fd,
                       std::string ns, int64_t watch_timeout_s, int64_t idle_ms,
                       std::function<void(const std::string&)> changed)
    : server_(std::move(server)),
      discovery_(std::move(discovery)),
      stop_fd_(stop_fd),
      ns_(std::move(ns)),
      watch_timeout_s_(watch_timeout_s),
      idle_ms_(idle_ms),
      changed_(std::move(changed)) {}

JobWatches::~JobWatches() {
  for (const auto& entry : entries_) entry->stop.raise();
}

std::shared_ptr<JobWatches::Entry> JobWatches::find(const KindName& kind) const {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) { return entry->watch->kind() == kind; });
  return found == entries_.end() ? nullptr : *found;
}

std::shared_ptr<JobWatches::Entry> JobWatches::begin(const KindName& kind, bool further) {
  WatchOptions options;
  options.timeout_s = watch_timeout_s_;
  options.packed = true;
  options.wanted = [](const Json& object) { return trial_owner(object).has_value(); };
  // A job has its Trial's name.
  options.on_put = [this](const std::string& key, const CachedObject&) { changed_(key); };
  options.on_delete = [this](const std::string& key, const CachedObject&) { changed_(key); };
  auto entry = std::make_shared<Entry>();
  entry->further = further;
  entry->used_ns = system_clock().monotonic_ns();
  entry->watch = std::make_unique<ResourceWatch>(server_, discovery_, further ? entry->stop.fd() : stop_fd_, kind, ns_,
                                                 std::move(options));
  entry->watch->start();
  entries_.push_back(entry);
  return entry;
}

void JobWatches::add(const KindName& kind) {
  const std::lock_guard lock(mutex_);
  if (!find(kind)) begin(kind, false);
}

bool JobWatches::settled() const {
  const std::lock_guard lock(mutex_);
  return std::all_of(entries_.begin(), entries_.end(), [](const auto& entry) {
    return entry->further || entry->watch->settled() || entry->watch->refused();
  });
}

std::optional<std::shared_ptr<const std::string>> JobWatches::get(const KindName& kind, const std::string& key) {
  std::shared_ptr<Entry> entry;
  {
    const std::lock_guard lock(mutex_);
    entry = find(kind);
    if (!entry) {
      const auto further =
          std::count_if(entries_.begin(), entries_.end(), [](const auto& one) { return one->further; });
      if (static_cast<size_t>(further) >= kFurther) return std::nullopt;
      entry = begin(kind, true);
    }
    entry->used_ns = system_clock().monotonic_ns();
  }
  const Watch* const watch = entry->watch->watch();
  if (watch == nullptr || !watch->synced()) return std::nullopt;
  return watch->cache().get(key).json;
}

bool JobWatches::watched(const KindName& kind) const {
  const std::lock_guard lock(mutex_);
  const std::shared_ptr<Entry> entry = find(kind);
  // One that is still being filled may yet be refused.
  const Watch* const watch = entry ? entry->watch->watch() : nullptr;
  return watch != nullptr && watch->synced() && !watch->refused();
}

void JobWatches::need(const KindName& kind, int change) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(needed_.begin(), needed_.end(), [&](const auto& entry) { return entry.first == kind; });
  if (found == needed_.end()) {
    if (change > 0) needed_.emplace_back(kind, change);
    return;
  }
  found->second += change;
  if (found->second <= 0) needed_.erase(found);
}

void JobWatches::sweep() {
  std::vector<std::shared_ptr<Entry>> ended;  // let go of without the lock: their threads are waited for
  const std::lock_guard lock(mutex_);
  const int64_t before_ns = system_clock().monotonic_ns() - idle_ms_ * kNsPerMs;
  const auto is_idle = [&](const std::shared_ptr<Entry>& entry) {
    return entry->further && entry->used_ns < before_ns &&
           std::none_of(needed_.begin(), needed_.end(),
                        [&](const auto& one) { return one.first == entry->watch->kind(); });
  };
  for (const auto& entry : entries_) {
    if (is_idle(entry)) ended.push_back(entry);
  }
  std::erase_if(entries_, is_idle);
}

std::vector<WatchCount> JobWatches::counts() const {
  const std::lock_guard lock(mutex_);
  std::vector<WatchCount> counts;
  for (const auto& entry : entries_) {
    if (const Watch* watch = entry->watch->watch())
      counts.push_back({watch->resource(), watch->restarts(), watch->relists(), watch->cache().size()});
  }
  return counts;
}

}  // namespace tacho
