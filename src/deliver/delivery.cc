#include "deliver/delivery.h"

#include "deliver/bq_delivery.h"
#include "deliver/run_delivery.h"

namespace tacho {

std::unique_ptr<Delivery> make_delivery(SpoolRun run, Role role, Delivering& shared) {
  const auto meta = run.meta();
  if (meta && is_bq_meta(*meta)) return std::make_unique<BqDelivery>(std::move(run), role, shared);
  return std::make_unique<RunDelivery>(std::move(run), role, shared);
}

void remove_delivered(SpoolRun& run, Reporter& reporter) {
  if (const std::string kept = run.remove(); !kept.empty())
    reporter.must("the folder of a run that is done stays, because of something in it that tacho did not make: " + kept);
}

}  // namespace tacho
