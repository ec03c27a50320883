// The jobs of Trials, of whatever kind: one watch per kind. The kinds named at the start are watched for good. Another
// watch begins when a Trial of a kind that the server knows is worked on, at most kFurther of them, and ends when no
// Trial has needed it for a while. Where there is no watch, jobs are fetched one by one: no Trial can use up threads,
// or keep the others waiting. Only objects that a Trial owns are kept. Thread-safe.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "kube/api/cluster_live.h"
#include "kube/api/resource_watch.h"

namespace tacho {

class JobWatches {
 public:
  static constexpr size_t kFurther = 16;

  // `changed` is told the key of the Trial whose job appeared, changed or went.
  JobWatches(std::shared_ptr<ApiServer> server, std::shared_ptr<Discovery> discovery, int stop_fd, std::string ns,
             int64_t watch_timeout_s, int64_t idle_ms, std::function<void(const std::string& trial_key)> changed);
  ~JobWatches();  // stop_fd must be readable by then
  void add(const KindName& kind);
  // The watches that were added are filled, or cannot be; those that Trials brought along do not count.
  bool settled() const;
  // The job of that kind and key; nothing when the cache does not know. An empty text: there is no such job. Begins a
  // watch.
  std::optional<std::shared_ptr<const std::string>> get(const KindName& kind, const std::string& key);
  // Whether a change of a job of this kind will be reported.
  bool watched(const KindName& kind) const;
  // A Trial of this kind that has not ended yet came (+1) or went (−1).
  void need(const KindName& kind, int change);
  // Ends watches that nobody has needed for idle_ms. To be called now and then.
  void sweep();
  std::vector<WatchCount> counts() const;

 private:
  struct Entry {
    StopSignal stop;  // of a further watch alone
    bool further = false;
    int64_t used_ns = 0;
    std::unique_ptr<ResourceWatch> watch;  // its thread uses what is above
    ~Entry() { stop.raise(); }
  };
  // An entry taken out of the list lives on as long as somebody holds it.
  std::shared_ptr<Entry> find(const KindName& kind) const;
  std::shared_ptr<Entry> begin(const KindName& kind, bool further);  // the lock is held

  std::shared_ptr<ApiServer> server_;
  std::shared_ptr<Discovery> discovery_;
  int stop_fd_;
  std::string ns_;
  int64_t watch_timeout_s_, idle_ms_;
  std::function<void(const std::string&)> changed_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Entry>> entries_;
  std::vector<std::pair<KindName, int>> needed_;
};

}  // namespace tacho
