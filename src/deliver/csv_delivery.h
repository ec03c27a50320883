// What the deliveries of CSV segments share, the service's and a bucket's: reading meta.json and state.json, mending
// what is damaged, and putting one sealed segment as an object. The derived class says in work() what is next.
// Everything is idempotent: same keys, same bytes, same URIs. Not thread-safe.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/backoff.h"
#include "base/units.h"
#include "deliver/batch_uploader.h"
#include "deliver/spooled_delivery.h"

namespace tacho {

class CsvDelivery : public SpooledDelivery {
 public:
  void finish(int64_t deadline_ns) override;
  int64_t cancel_at_ns() const override { return uploading_ ? upload_deadline_ns_ : deadline_ns_; }

 protected:
  CsvDelivery(SpoolRun run, Role role, Delivering& shared);

  // meta.json was read for the first time: an Error if the run is not ours to send.
  virtual Status opened() { return ok(); }
  // What is due; the run is described, and not finished yet.
  virtual Step work() = 0;

  Step upload(const Segment& segment);
  Status mend(const Segment& segment, const Error& damage);
  std::vector<Segment> segments();
  const Segment* next_of(const std::vector<Segment>& all) const;  // the first that is no object yet; null: all are
  bool credentials_usable() const {
    return uploader_.has_credentials() && !must_refresh_ && now_ns() < uploader_.expire_at_ns();
  }
  // Credentials are renewed ahead of time. While the old ones are good nobody waits long for the new ones, nor asks for
  // them again and again. Asks what `ask` asks.
  bool is_renewal_due() const { return now_ns() >= std::max(uploader_.refresh_at_ns(), renewal_next_ns_); }
  void renew(const std::function<void()>& ask);
  void keep_old_credentials(int64_t pause_ms) { renewal_next_ns_ = now_ns() + pause_ms * 1'000'000; }
  bool save();  // told once when it does not work, and counted

  Step left(std::string reason) override;
  bool is_loaded() const { return loaded_; }

  SpoolMeta meta_;
  SpoolState state_;
  BatchUploader uploader_;
  Backoff s3_backoff_;
  int64_t upload_deadline_ns_ = 0;
  int64_t s3_next_ns_ = 0, s3_not_before_ns_ = 0;  // the second: what a server asked for with Retry-After
  int64_t s3_blocked_until_ns_ = 0;                // fresh credentials were refused too
  int64_t renewal_next_ns_ = 0;
  int failures_after_end_ = 0, unsaved_ = 0;
  bool must_refresh_ = false, told_outage_ = false;

 private:
  Step proceed() final;
  Status load();
  Status check();
  Step undescribed(const Error& error);
  void bring_back();
  void describe_what_is_left();
  Step refused_by_s3(const S3Result& result);

  int refusals_ = 0;
  bool loaded_ = false, checked_ = false, uploading_ = false, brought_back_ = false;
};

inline constexpr int64_t kRefusedPause_ns = 300 * kNsPerSec;  // where fresh credentials, or a token, are refused
inline constexpr int64_t kOtherPause_ms = 60'000;
inline constexpr int kMaxFailuresAfterEnd = 3;

}  // namespace tacho
