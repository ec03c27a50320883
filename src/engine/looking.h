// Looks at a process and its descendants, or at the machine, without recording anything. Not thread-safe.
#pragma once
#include <memory>

#include "engine/live_feed.h"
#include "engine/settings.h"
#include "job/job.h"
#include "probe/tree/process_tree.h"

namespace tacho {

class Looking {
 public:
  // Settings: the interval, and attach_pid (0: the machine). The job watches for that process's end.
  static Result<std::unique_ptr<Looking>> begin(const Settings& settings, Job& job);
  void sample();
  const Schema& schema() const { return sampler_->schema(); }
  const Row& row() const { return row_; }
  LiveState& state() { return feed_->state(); }

 private:
  Looking() = default;
  Run run_;
  ProbeContext context_;
  std::unique_ptr<ProcessTree> tree_;
  std::unique_ptr<Sampler> sampler_;
  std::unique_ptr<LiveFeed> feed_;
  Row row_;
};

}  // namespace tacho
