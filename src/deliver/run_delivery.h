// The delivery of one spooled run as a state machine: register, upload what is sealed, refresh credentials, close. step()
// does what is due, at most one call over the network, and says when it wants to be called again; what failed is repeated
// by its class (sentinel.md §5, §6). Everything is idempotent: same keys, same bytes, same URIs. Not thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "deliver/delivery.h"
#include "deliver/sentinel.h"
#include "deliver/uploader.h"
#include "net/http/retry.h"

namespace tacho {

class RunDelivery final : public Delivery {
 public:
  RunDelivery(SpoolRun run, Role role, Delivering& shared);

  Step step() override;
  void owner_ended(int64_t deadline_ns) override;
  bool is_registered() const override { return !state_.run_id.empty() || !meta_.bucket_uri.empty(); }
  bool is_ended() const override { return ended_; }
  std::string api_url() const override { return meta_.api_url; }
  std::string bucket_uri() const override { return meta_.bucket_uri; }
  const std::string& reason() const override { return reason_; }
  int64_t cancel_at_ns() const override { return uploading_ ? upload_deadline_ns_ : deadline_ns_; }

 private:
  Status load();
  Status recover();
  Step register_run();
  Step refresh();
  Status mend(const Segment& segment, const Error& damage);
  void bring_back();
  Step upload(const Segment& segment);
  Step upload_to_bucket();
  Step refused_by_s3(const S3Result& result);
  Step close();
  Step finish_with(Json body, CsvSource* csv, int64_t rows);
  Step finished(const Processing& processing, int64_t rows);
  Step idle();
  Step failed(const CallResult& result, const char* what);
  Step gone();
  Step left(std::string reason);
  Step give_up(const std::string& why);  // left, for a reason that nobody was told yet
  void describe_what_is_left();
  Step wait_until(int64_t wake_ns) const;
  std::vector<Segment> segments();
  bool s3_is_possible() const;
  bool prefers_inline(const std::vector<Segment>& all) const;
  void tell_of_fields(const CallResult& result);
  void take_prefix(const Registration& registration);
  bool save();  // told once when it does not work, and counted
  double chance() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  int64_t now_ns() const { return shared_.clock.monotonic_ns(); }

  SpoolRun run_;
  Role role_;
  Delivering& shared_;
  SpoolMeta meta_;
  SpoolState state_;
  std::optional<Sentinel> api_;
  Uploader uploader_;
  std::minstd_rand random_;
  Backoff api_backoff_, s3_backoff_;
  std::string reason_, heartbeat_path_;
  int64_t born_ns_, api_next_ns_ = 0, s3_next_ns_ = 0, s3_blocked_until_ns_ = 0, heartbeat_next_ns_ = 0;
  int64_t api_not_before_ns_ = 0, s3_not_before_ns_ = 0;  // what a server asked for with Retry-After
  int64_t deadline_ns_ = 0, upload_deadline_ns_ = 0;
  int others_ = 0, refusals_ = 0, failures_after_end_ = 0, registrations_ = 0, unsaved_ = 0;
  bool loaded_ = false, ended_ = false, recovered_ = false, must_refresh_ = false, inline_refused_ = false, uploading_ = false, told_outage_ = false;
  bool brought_back_ = false;
  bool had_objects_ = false;  // under the name of a run that the service forgot
};

}  // namespace tacho
