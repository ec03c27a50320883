// What deliveries take from their surroundings: the cloud for the start body, credentials for a bucket. Not
// thread-safe.
#pragma once
#include <functional>
#include <optional>

#include "cloud/cloud.h"
#include "deliver/delivery.h"

namespace tacho {

// The cloud_* fields and the host's id in it, for a start body. Asked once, off the job's path, and again only for a
// run with other options; the registration waits two seconds at most, and not at all once the run is over.
class CloudFields {
 public:
  // in_a_hurry is asked now and then while waiting.
  void add(Json& start, const SpoolMeta& meta, const std::function<bool()>& in_a_hurry);

 private:
  Cloud find(const SpoolMeta& meta, const std::function<bool()>& in_a_hurry);

  std::optional<CloudDiscovery> discovery_;
  CloudOptions asked_;  // by discovery_
};

// Fills in the functions of `shared`; `cloud` must live as long as they are used.
void complete(Delivering& shared, CloudFields& cloud, std::function<bool()> in_a_hurry);

}  // namespace tacho
