#include "kube/webhook/webhook_events.h"

#include <mutex>

#include "base/log.h"

namespace tacho {
namespace {

constexpr size_t kWaiting = 256, kTold = 10'000;

}  // namespace

WebhookEvents::WebhookEvents(ClusterWriter& cluster) : cluster_(cluster), thread_([this] { run(); }) {}

void WebhookEvents::tell(const EventSubject& about, const char* reason, const std::string& message) {
  if (about.name.empty() || about.ns.empty()) return;
  const std::lock_guard lock(wait_lock_);
  if (stopping_ || waiting_.size() >= kWaiting) return;
  if (told_.size() >= kTold) told_.clear();
  if (!told_.insert(about.ns + '/' + about.kind + '/' + about.name + '/' + about.uid + ' ' + message).second) return;
  waiting_.push_back({about, reason, message});
  wait_lock_.notify_all();
}

void WebhookEvents::run() {
  std::unique_lock lock(wait_lock_);
  for (;;) {
    while (waiting_.empty() && !stopping_) wait_lock_.wait();
    if (stopping_) return;
    const Wanted wanted = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    const Written written = cluster_.create({"v1", "Event", wanted.about.ns, ""},
                                            event_json(wanted.about, true, wanted.reason, wanted.message));
    lock.lock();
    if (written.state != Written::State::done && !stopping_) log::warn("Events cannot be written: " + written.why);
  }
}

void WebhookEvents::stop() {
  {
    const std::lock_guard lock(wait_lock_);
    stopping_ = true;
    wait_lock_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

}  // namespace tacho
