// A run that goes straight to a bucket (-o s3://…): each sealed segment becomes an object, and the last one completes
// the run. There is no registration. Not thread-safe.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "deliver/csv_delivery.h"

namespace tacho {

class BucketDelivery final : public CsvDelivery {
 public:
  BucketDelivery(SpoolRun run, Role role, Delivering& shared) : CsvDelivery(std::move(run), role, shared) {}

  void finish(int64_t deadline_ns) override;
  bool is_registered() const override { return is_loaded(); }
  bool sends_too(const SpoolMeta& leftover) const override;

 private:
  Step work() override;
  std::optional<Step> find_credentials();  // nothing: there are some
  Step deliver(const Segment& segment);
  Step finished(const std::vector<Segment>& all);

  int refusals_at_end_ = 0;
};

// Whether the run's bucket is at the endpoint of our settings. Runs of an older tacho do not say.
bool is_our_s3(const SpoolMeta& meta);
// Why a run is not for our settings; empty when it is.
std::string bucket_is_elsewhere(const SpoolMeta& meta);

}  // namespace tacho
