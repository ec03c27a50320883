#include "engine/looking.h"

#include "discover/cgroups.h"
#include "discover/host.h"
#include "engine/outcome.h"
#include "os/process.h"

namespace tacho {

Result<std::unique_ptr<Looking>> Looking::begin(const Settings& settings, Job& job) {
  std::unique_ptr<Looking> looking(new Looking);
  Looking& self = *looking;
  const pid_t pid = settings.attach_pid;
  if (pid > 0)
    if (const Status status = job.attach(pid); !status) return status.error();
  self.run_.mode = pid > 0 ? kModeAttach : kModeWatch;
  self.run_.pid = pid;
  self.context_.roots = Roots::from_environment();
  self.context_.interval_ns = settings.interval_ns;
  self.context_.cgroup = find_cgroups(self.context_.roots, pid);
  self.context_.limits =
      find_limits(self.context_.roots, self.context_.cgroup, pid, machine_memory_bytes(self.context_.roots));
  self.run_.limits = self.context_.limits;
  if (pid > 0) {
    self.tree_ = std::make_unique<ProcessTree>(self.context_);
    self.context_.tree = self.tree_.get();
    self.context_.job_pids = self.tree_.get();
    self.context_.net_pid = pid;
  }
  auto sampler = Sampler::create(self.context_, {}, system_clock());
  if (!sampler) return sampler.error();
  self.sampler_ = std::move(*sampler);
  if (self.tree_ && !self.tree_->follow(pid, false))
    return Error{Code::gone, "there is no process", std::to_string(pid), "it has just ended"};
  self.run_.host = discover_host(self.context_.roots);
  self.sampler_->baseline();
  self.feed_ = std::make_unique<LiveFeed>(self.context_, *self.sampler_, true);
  return looking;
}

void Looking::sample() {
  sampler_->sample(row_, false);
  feed_->take(run_, row_, system_clock().monotonic_ns());
}

}  // namespace tacho
