#include "probe/gpu/gpu_sampler.h"

#include <mutex>

#include "os/clock.h"

namespace tacho {

bool GpuSampler::start() {
  // The thread owns the sampler too: it may outlive the probe inside a driver call.
  return start_detached_thread("tacho-gpu", [self = shared_from_this()] { self->run(); });
}

void GpuSampler::stop() {
  const std::lock_guard lock(wait_lock_);
  stopping_ = true;
  wait_lock_.notify_all();
}

void GpuSampler::request(std::vector<pid_t>& pids, bool job, bool detail) {
  const std::lock_guard lock(wait_lock_);
  next_.pids.swap(pids);
  next_.job = job;
  next_.detail = detail;
  worth_waiting_ = idle_;
  ++asked_;
  wait_lock_.notify_all();
}

bool GpuSampler::take(int64_t deadline_ns, GpuSnapshot& out) {
  const std::lock_guard lock(wait_lock_);
  while (worth_waiting_ && answered_ < asked_)
    if (!wait_lock_.wait_until(deadline_ns)) break;
  worth_waiting_ = false;
  if (answered_ == taken_) return false;
  taken_ = answered_;
  out = published_;
  return true;
}

void GpuSampler::run() {
  GpuRequest request;
  GpuSnapshot snapshot;
  // The first round comes unasked: it starts the driver while the job is being started.
  for (uint64_t number = 0;;) {
    round(request, snapshot);
    if (number != 0) {
      const std::lock_guard lock(wait_lock_);
      std::swap(published_, snapshot);
      answered_ = number;
      wait_lock_.notify_all();
    }
    if (request.detail)
      for (const auto& backend : backends_) backend->refresh_detail();
    const std::lock_guard lock(wait_lock_);
    idle_ = true;
    while (!stopping_ && asked_ == number) wait_lock_.wait();
    idle_ = false;
    if (stopping_) return;
    number = asked_;
    request.job = next_.job;
    request.detail = next_.detail;
    request.pids.assign(next_.pids.begin(), next_.pids.end());
  }
}

void GpuSampler::round(const GpuRequest& request, GpuSnapshot& snapshot) {
  snapshot.devices.clear();
  snapshot.holders.clear();
  snapshot.state = GpuState::none;
  snapshot.pids = PidMapping::same;
  snapshot.job = request.job;
  snapshot.method = "none";
  bool changed = latest_ == nullptr || seen_.size() != backends_.size();
  seen_.resize(backends_.size());
  for (size_t i = 0; i < backends_.size(); ++i) {
    const GpuState state = backends_[i]->sample(request, snapshot.devices);
    if (state == GpuState::ready || (state == GpuState::failed && snapshot.state != GpuState::ready)) {
      if (snapshot.state != GpuState::ready) snapshot.method = backends_[i]->method();
      snapshot.state = state;
    }
    const auto holders = backends_[i]->holders();
    snapshot.holders.insert(snapshot.holders.end(), holders.begin(), holders.end());
    if (backends_[i]->pid_mapping() == PidMapping::unknown) snapshot.pids = PidMapping::unknown;
    auto identities = backends_[i]->identities();
    changed = changed || identities != seen_[i];
    seen_[i] = std::move(identities);
  }
  if (changed) {
    auto all = std::make_shared<std::vector<GpuIdentity>>();
    for (const auto& part : seen_)
      if (part != nullptr) all->insert(all->end(), part->begin(), part->end());
    latest_ = std::move(all);
  }
  snapshot.identities = latest_;
  snapshot.stamp_ns = system_clock().monotonic_ns();
}

}  // namespace tacho
