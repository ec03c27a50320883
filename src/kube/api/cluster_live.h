// The cluster behind the webhook: watch caches over the API server, and a live Get on a miss. Thread-safe.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kube/api/cluster.h"

namespace tacho {

struct ClusterOptions {
  std::string kubeconfig;                   // empty: in the cluster
  std::string core_namespace = "kubeflow";  // where katib-config and tacho-config are
  // Webhook configurations by name, mutating and validating; on_configuration is called when one of them appears or
  // changes, on a thread of the watch. Whether they can be read counts for nothing in synced().
  std::vector<std::string> configurations;
  std::function<void()> on_configuration;
  int64_t watch_timeout_s = 300;
};

// Restarts and relists of a watch, for /metrics.
struct WatchCount {
  std::string resource;
  uint64_t restarts = 0, relists = 0, objects = 0;
};

class LiveCluster : public Cluster, public ClusterWriter {
 public:
  // An Error when there is no way to the API server at all; a server that does not answer yet is tried again in the
  // background.
  static Result<std::unique_ptr<LiveCluster>> open(ClusterOptions options);
  virtual void start() = 0;  // after on_trial
  // Further kinds of owners, "Workflow.v1alpha1.argoproj.io", as katib-config names them: cached from now on, so that
  // nobody has to ask for them while a pod waits. Whether they can be read counts for nothing in synced().
  virtual void watch_owners(const std::vector<std::string>& trial_resources) = 0;
  // For one thread; its requests are cut short when stop_fd becomes readable.
  virtual std::unique_ptr<ClusterWriter> writer(int stop_fd) = 0;
  virtual std::vector<WatchCount> watch_counts() const = 0;
  virtual std::map<std::string, uint64_t> cache_misses() const = 0;  // by kind
  virtual void stop() = 0;                                           // cuts short whatever waits for the API server
};

}  // namespace tacho
