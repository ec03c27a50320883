// The runs of the spool that become free, in one pair of hands: those of metrics go to each receiver together, in one
// request for many; all others one by one. A receiver that is away holds nobody else up. What is in hands is bounded,
// and so is what is read again at each look. Not thread-safe.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "deliver/delivery.h"
#include "deliver/metric_lane.h"

namespace tacho {

class FollowedSpool {
 public:
  FollowedSpool(Delivering& shared, std::function<bool()> stops) : shared_(shared), stops_(std::move(stops)) {}

  // Takes runs that are free, oldest first.
  void look();
  // Does what is due; returns when to come again.
  int64_t step();

 private:
  struct Taken {
    std::string folder;
    std::unique_ptr<Delivery> delivery;
    int64_t next_ns = 0;
  };
  // All that goes one way: to one receiver, or whatever else has to be sent.
  struct Way {
    std::vector<Taken> taken;
    std::unique_ptr<MetricLane> lane;  // of metrics
    int64_t not_before_ns = 0;         // a setting was wrong
  };
  // What is known of a folder, so that its description is read once.
  struct Known {
    std::string way;
    int64_t not_before_ns = 0;
  };

  int64_t now_ns() const { return shared_.clock.monotonic_ns(); }
  bool has_room(const Way& way) const;
  bool identify(const std::string& folder, Known& known);
  void take(const std::string& folder, Known& known);
  static size_t points_of(const Taken& taken);
  bool step_one(Taken& taken);
  int64_t step_all(Way& way);
  int64_t send_together(Way& way);
  void leave(Way& way);

  Delivering& shared_;
  std::function<bool()> stops_;
  std::map<std::string, Way> ways_;
  std::map<std::string, Known> known_;
  size_t in_hands_ = 0;
};

}  // namespace tacho
