// The controller of Trials: watches over Trials and their jobs that run on every replica, and workers that run on the
// one that leads. Thread-safe.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "kube/api/work_queue.h"
#include "kube/trials/reconciler.h"

namespace tacho {

struct ControllerOptions {
  TrialsSettings settings;
  std::string ns;               // only Trials of this namespace; empty: of all
  std::vector<KindName> kinds;  // of jobs, watched from the start
  int workers = 4;
  int64_t resync_s = 36'000;
  int64_t watch_timeout_s = 300;
  int64_t idle_watch_ms = 60'000;  // of a kind that no Trial needs any more
};

class TrialsController {
 public:
  TrialsController(std::shared_ptr<ApiServer> server, ControllerOptions options, DbClient& db, TrialsMetrics& metrics,
                   std::function<bool()> may_write);
  ~TrialsController();

  void start_watches();
  // Filled once; the workers begin only then.
  bool synced() const;
  void start_workers();
  // Cuts everything short: no write begins after this. Waits this long at most for those under way; returns whether
  // they have ended.
  bool halt(int64_t limit_ms);
  // The same, and waits for the threads.
  void stop();
  std::vector<WatchCount> watch_counts() const;

 private:
  struct TrialFact {
    std::string state;
    bool dying = false;
    std::optional<KindName> kind{};  // of its job, while it has not ended
  };
  void trial_changed(const std::string& key, const CachedObject& now);
  void trial_gone(const std::string& key);
  void set_up_context();
  void work();
  void resync();
  void look_after_watches();
  std::vector<std::string> namesakes(const std::string& name, const std::string& ns);

  std::shared_ptr<ApiServer> server_;
  const ControllerOptions options_;
  TrialsMetrics& metrics_;
  std::function<bool()> may_write_;
  StopSignal stop_;
  std::shared_ptr<Discovery> discovery_ = std::make_shared<Discovery>();
  WorkQueue queue_;
  TrialsContext context_;
  std::mutex mutex_;
  std::unordered_map<std::string, TrialFact> facts_;
  std::map<std::string, std::set<std::string>> namespaces_of_;  // of Trials by name
  std::unordered_set<std::string> told_;
  std::unordered_map<std::string, int64_t> waiting_since_ns_;
  std::unique_ptr<JobWatches> jobs_;
  std::unique_ptr<ResourceWatch> trials_;  // its thread uses what is above
  std::atomic<int> working_{0};
  std::mutex threads_mutex_;  // the leader starts them, the main thread ends them
  std::vector<std::thread> threads_;
};

}  // namespace tacho
