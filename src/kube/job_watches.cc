#include "kube/job_watches.h"

#include <nlohmann/json.hpp>

namespace tacho {

JobWatches::JobWatches(std::shared_ptr<ApiServer> server, std::shared_ptr<Discovery> discovery, int stop_fd,
                       std::string ns, int64_t watch_timeout_s, std::function<void(const std::string&)> changed)
    : server_(std::move(server)),
      discovery_(std::move(discovery)),
      stop_fd_(stop_fd),
      ns_(std::move(ns)),
      watch_timeout_s_(watch_timeout_s),
      changed_(std::move(changed)) {}

ResourceWatch& JobWatches::watch_of(const KindName& kind) {
  const std::lock_guard lock(mutex_);
  for (const auto& watch : watches_) {
    if (watch->kind() == kind) return *watch;
  }
  WatchOptions options;
  options.timeout_s = watch_timeout_s_;
  options.packed = true;
  options.wanted = [](const Json& object) { return trial_owner(object).has_value(); };
  // A job has its Trial's name.
  options.on_put = [this](const std::string& key, const CachedObject&) { changed_(key); };
  options.on_delete = [this](const std::string& key, const CachedObject&) { changed_(key); };
  watches_.push_back(std::make_unique<ResourceWatch>(server_, discovery_, stop_fd_, kind, ns_, std::move(options)));
  watches_.back()->start();
  return *watches_.back();
}

void JobWatches::add(const KindName& kind) { watch_of(kind); }

bool JobWatches::settled() const {
  const std::lock_guard lock(mutex_);
  for (const auto& watch : watches_) {
    if (!watch->settled()) return false;
  }
  return true;
}

std::optional<std::shared_ptr<const std::string>> JobWatches::get(const KindName& kind, const std::string& key) {
  const ResourceWatch& watch = watch_of(kind);
  if (!watch.settled() || watch.watch() == nullptr) return std::nullopt;
  return watch.get(key).json;
}

std::vector<WatchCount> JobWatches::counts() const {
  const std::lock_guard lock(mutex_);
  std::vector<WatchCount> counts;
  for (const auto& entry : watches_) {
    if (const Watch* watch = entry->watch())
      counts.push_back({watch->resource(), watch->restarts(), watch->relists(), watch->cache().size()});
  }
  return counts;
}

}  // namespace tacho
