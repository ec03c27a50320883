#include "deliver/metric_delivery.h"

#include <utility>

#include "base/units.h"
#include "spool/contract.h"

namespace tacho {
namespace {

constexpr int64_t kLongestMetricPause_ns = 5 * kNsPerSec;
constexpr int64_t kLookForRows_ns = kNsPerSec;

}  // namespace

MetricDelivery::MetricDelivery(SpoolRun run, Role role, Delivering& shared)
    : SpooledDelivery(std::move(run), role, shared, kSealedEnding, kLongestMetricPause_ns),
      metrics_(run_, shared, role == Role::beside || role == Role::named),
      lane_(shared) {}

void MetricDelivery::finish(int64_t deadline_ns) {
  SpooledDelivery::finish(deadline_ns);
  if (lane_) lane_->hurry();
}

bool MetricDelivery::sends_too(const SpoolMeta& leftover) const {
  const MetricMeta& own = metrics_.meta();
  return metrics_.is_open() && (leftover.kind == kOtlpKind) == own.otlp && leftover.api_url == own.url &&
         (leftover.kind == kOtlpKind || leftover.kind == kPrometheusKind);
}

Step MetricDelivery::proceed() {
  if (is_late()) return left_late();
  if (!metrics_.is_open())
    if (const Status status = metrics_.open(ended_); !status) {
      reason_ = status.error().message();
      if (ended_) return left(reason_);
      if (status.error().code == Code::invalid) shared_.notices.warn("metrics", reason_);
      return wait_until(now_ns() + (status.error().code == Code::invalid ? kOpenAgain_ns : kLookForRows_ns));
    }
  bound_memory([this](uint32_t number) { return metrics_.has_read(number); });
  std::string stuck;
  if (!metrics_.load(ended_, stuck)) {
    if (!stuck.empty()) {
      reason_ = stuck;
      // What cannot be read will not be readable later; what cannot be kept may be, when there is room.
      if (ended_ && metrics_.reason().empty()) return give_up(reason_);
      return wait_until(now_ns() + kLookForRows_ns);
    }
    return ended_ ? removed() : wait_until(kNever);
  }
  if (!lane_) return wait_until(kNever);
  if (now_ns() < lane_->next_ns()) return wait_until(lane_->next_ns());
  lane_->send({&metrics_});
  reason_ = metrics_.reason();
  if (lane_->is_blocked() && ended_) return left(reason_);
  return is_late() ? left_late() : wait_until(lane_->next_ns());
}

Step MetricDelivery::left(std::string reason) {
  static_cast<void>(metrics_.settle());
  if (lane_) lane_->leave();
  return SpooledDelivery::left(std::move(reason));
}

}  // namespace tacho
