// The delivery of a spooled run as metrics, by remote write or OTLP/HTTP. Beside a run, and for tacho deliver, it sends
// by itself; the follower has many of them go together (deliver/follow.cc). Not thread-safe.
#pragma once
#include <optional>
#include <string>

#include "deliver/metric_lane.h"
#include "deliver/metric_run.h"
#include "deliver/spooled_delivery.h"

namespace tacho {

class MetricDelivery final : public SpooledDelivery {
 public:
  MetricDelivery(SpoolRun run, Role role, Delivering& shared);

  void finish(int64_t deadline_ns) override;
  bool is_registered() const override { return true; }
  bool sends_too(const SpoolMeta& leftover) const override;
  std::optional<DeliveryProgress> progress() override { return metrics_.progress(ended_); }

  bool join() override { return lane_.reset(), true; }
  void leave() override { static_cast<void>(metrics_.settle()); }
  MetricRun* ready() override { return metrics_.has_points() ? &metrics_ : nullptr; }

 private:
  Step proceed() override;
  Step left(std::string reason) override;

  MetricRun metrics_;
  std::optional<MetricLane> lane_;
};

}  // namespace tacho
