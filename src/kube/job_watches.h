// The jobs of Trials, of whatever kind: a watch a kind, begun when the first Trial of that kind is met. Only objects
// that a Trial owns are kept. Thread-safe.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "kube/cluster_live.h"
#include "kube/resource_watch.h"

namespace tacho {

class JobWatches {
 public:
  // `changed` is told the key of the Trial whose job appeared, changed or went.
  JobWatches(std::shared_ptr<ApiServer> server, std::shared_ptr<Discovery> discovery, int stop_fd, std::string ns,
             int64_t watch_timeout_s, std::function<void(const std::string& trial_key)> changed);
  void add(const KindName& kind);
  bool settled() const;
  // The job of that kind and key; nothing when the cache cannot tell. An empty text: there is none.
  std::optional<std::shared_ptr<const std::string>> get(const KindName& kind, const std::string& key);
  std::vector<WatchCount> counts() const;

 private:
  ResourceWatch& watch_of(const KindName& kind);

  std::shared_ptr<ApiServer> server_;
  std::shared_ptr<Discovery> discovery_;
  int stop_fd_;
  std::string ns_;
  int64_t watch_timeout_s_;
  std::function<void(const std::string&)> changed_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<ResourceWatch>> watches_;
};

}  // namespace tacho
