// What `tacho-katib trials` serves at /metrics: Trials under Katib's own names, and how watches and writes are doing.
// Thread-safe.
#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "kube/api/cluster_live.h"

namespace tacho {

class TrialsMetrics {
 public:
  enum Event { created, deleted, succeeded, failed, metrics_unavailable, kEvents };
  void count(Event event, const std::string& ns);
  // Which Trials are in which state now; an empty state is not counted.
  void moved(const std::string& ns, const std::string& from, const std::string& to);
  void conflict() { ++conflicts_; }
  void difference(const std::string& ns, const std::string& field);
  void checked() { ++checked_; }

  // `own`: Katib's names too.
  std::string text(bool own, bool leads, const std::vector<WatchCount>& watches) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, uint64_t> events_[kEvents];
  std::map<std::pair<std::string, std::string>, int64_t> current_;
  std::map<std::pair<std::string, std::string>, uint64_t> differences_;
  std::atomic<uint64_t> conflicts_{0}, checked_{0};
};

}  // namespace tacho
