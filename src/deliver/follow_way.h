// The runs that go one way, to one receiver or service: those of metrics together, in one request for many, all others
// one by one. It has a connection of its own, so that ways need not wait for each other. For one thread at a time.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "deliver/delivery.h"
#include "deliver/environment.h"
#include "deliver/metric_lane.h"

namespace tacho {

class FollowWay {
 public:
  // Of `common` everything counts but the client. `stops` cuts requests short; any thread may be the one that asks.
  FollowWay(const Delivering& common, std::function<bool()> stops);

  size_t size() const { return taken_.size(); }
  bool has(const std::string& folder) const;
  // It is locked and described.
  void take(SpoolRun run);
  // Does what is due; returns when to come again.
  int64_t turn();
  // A setting is wrong: nothing is taken before.
  int64_t not_before_ns() const { return not_before_ns_; }
  // Folders that were given back since the last call, because they cannot be sent now.
  std::vector<std::string> given_back() { return std::exchange(given_back_, {}); }
  void disconnect();

 private:
  struct Taken {
    std::string folder;
    std::unique_ptr<Delivery> delivery;
    int64_t next_ns = 0;
  };

  int64_t now_ns() const { return shared_.clock.monotonic_ns(); }
  static size_t points_of(const Taken& taken);
  bool step_one(Taken& taken);
  int64_t step_all();
  int64_t send_together();
  void leave();

  std::function<bool()> stops_;
  HttpClient http_;
  CloudFields cloud_;
  Delivering shared_;
  std::vector<Taken> taken_;
  std::unique_ptr<MetricLane> lane_;  // of metrics
  std::vector<std::string> given_back_;
  int64_t not_before_ns_ = 0;
};

}  // namespace tacho
