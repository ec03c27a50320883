// The webhook behind HTTP: a POST with an AdmissionReview in, a review with the answer out. Never throws; thread-safe.
// Bodies are never logged: they may hold secrets. Large reviews, which cost memory and time, are worked on two at a
// time; a few more wait for their turn, and the rest are let through with a warning at once, so that small ones never
// wait for them.
#pragma once
#include <cstdint>
#include <mutex>
#include <set>
#include <string>

#include "http/server.h"
#include "kube/webhook/mutation.h"
#include "kube/webhook/webhook_events.h"
#include "kube/webhook/webhook_metrics.h"
#include "os/thread.h"

namespace tacho {

class Webhook {
 public:
  // `events` may be nullptr.
  Webhook(Mutation& mutation, WebhookMetrics& metrics, WebhookEvents* events, int64_t deadline_ms)
      : mutation_(mutation), metrics_(metrics), events_(events), deadline_ms_(deadline_ms) {}
  // /mutate-pod and /mutate-job.
  ServedResponse handle(const ServedRequest& request);

 private:
  class LargeTurn;
  int64_t deadline_ns(const ServedRequest& request) const;
  ServedResponse let_through(WebhookMetrics::Hook hook, const ServedRequest& request);
  void tell(const Review& review, const ReviewAnswer& answer);
  void log_once(const EventSubject& about, std::string_view text);

  Mutation& mutation_;
  WebhookMetrics& metrics_;
  WebhookEvents* const events_;
  const int64_t deadline_ms_;
  std::mutex mutex_;
  std::set<std::string> logged_;
  WaitLock large_;
  int large_running_ = 0, large_waiting_ = 0;  // under large_
};

// `timeout=5s` in the query, as the API server appends it; 0 when there is none.
int64_t query_timeout_ms(std::string_view query);

}  // namespace tacho
