// The delivery of one spooled run to the service as a state machine: register, upload what is sealed, refresh
// credentials, close; the rows of a short run go with the closing call. A failed step is repeated by its class
// (docs/formats/sentinel.md §5, §6). Not thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/backoff.h"
#include "deliver/csv_delivery.h"
#include "deliver/sentinel.h"

namespace tacho {

class ServiceDelivery final : public CsvDelivery {
 public:
  ServiceDelivery(SpoolRun run, Role role, Delivering& shared);

  void finish(int64_t deadline_ns) override;
  bool is_registered() const override { return !state_.run_id.empty(); }
  bool sends_too(const SpoolMeta& leftover) const override;

 private:
  Status opened() override;
  Step work() override;
  Step register_run();
  Step refresh();
  Step not_renewed(const CallResult& result);
  Step close();
  Step finish_with(Json body, CsvSource* csv, int64_t rows);
  Step finished(const Processing& processing, int64_t rows);
  Step idle();
  Step failed(const CallResult& result, const char* what);
  Step gone();
  bool s3_is_possible() const;
  bool prefers_inline(const std::vector<Segment>& all) const;
  void tell_of_fields(const CallResult& result);
  void take_prefix(const Registration& registration);

  std::optional<Sentinel> api_;
  Backoff api_backoff_, renewal_backoff_;
  std::string heartbeat_path_;
  int64_t born_ns_, heartbeat_next_ns_ = 0;
  int64_t api_next_ns_ = 0, api_not_before_ns_ = 0;  // the second: what the service asked for with Retry-After
  int others_ = 0, registrations_ = 0;
  bool inline_refused_ = false;
  bool had_objects_ = false;  // under the name of a run that the service forgot
};

// Why a run is not for our settings; empty when it is.
std::string service_is_elsewhere(const SpoolMeta& meta);

}  // namespace tacho
