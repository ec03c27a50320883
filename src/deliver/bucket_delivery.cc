#include "deliver/bucket_delivery.h"

#include <limits>
#include <utility>

#include "base/chance.h"
#include "base/text.h"
#include "base/units.h"
#include "deliver/finish_body.h"
#include "deliver/statistics.h"
#include "spool/contract.h"

namespace tacho {
namespace {

constexpr int64_t kRenewAgain_ms = 30'000;
constexpr int kMaxRefusalsAtEnd = 2;  // by a bucket, each of credentials that were fetched anew

std::string_view without_slashes(std::string_view uri) {
  while (uri.ends_with('/')) uri.remove_suffix(1);
  return uri;
}

}  // namespace

bool is_our_s3(const SpoolMeta& meta) {
  return !meta.s3_endpoint ||
         without_slashes(*meta.s3_endpoint) == without_slashes(S3Settings::from_environment().endpoint);
}

std::string bucket_is_elsewhere(const SpoolMeta& meta) {
  if (is_our_s3(meta)) return {};
  return "a bucket at " + (meta.s3_endpoint->empty() ? "Amazon" : valid_utf8(*meta.s3_endpoint)) +
         " and is left alone (TACHO_S3_ENDPOINT says where buckets are)";
}

// All of the time is for the bucket: there is no other way.
void BucketDelivery::finish(int64_t deadline_ns) {
  CsvDelivery::finish(deadline_ns);
  upload_deadline_ns_ = deadline_ns;
}

bool BucketDelivery::sends_too(const SpoolMeta& leftover) const {
  return !meta_.bucket_uri.empty() && leftover.kind == kBucketKind && is_our_s3(leftover) &&
         without_slashes(leftover.bucket_uri) == without_slashes(meta_.bucket_uri);
}

Step BucketDelivery::work() {
  const std::vector<Segment> all = segments();
  const Segment* next = next_of(all);
  if (next == nullptr) return ended_ ? finished(all) : wait_until(std::numeric_limits<int64_t>::max());
  if (now_ns() < s3_next_ns_) return wait_until(s3_next_ns_);
  state_.prefix = meta_.bucket_uri;
  state_.run_id = meta_.run;
  if (!credentials_usable() || is_renewal_due())
    if (const auto step = find_credentials()) return *step;
  return deliver(*next);
}

Step BucketDelivery::finished(const std::vector<Segment>& all) {
  state_.finished = true;
  if (!save()) return left(reason_);
  record_delivery(meta_, state_, Processing{}, count_rows(all));
  return removed();
}

std::optional<Step> BucketDelivery::find_credentials() {
  Result<AwsCredentials> found = Error{};
  renew([&] { found = shared_.bucket_credentials(meta_); });
  if (found) {
    uploader_.take(std::move(*found), uploader_.server_now_ns(), now_ns(), true);
    must_refresh_ = false;
    return std::nullopt;
  }
  // Old ones that are still good do until there are others.
  if (credentials_usable()) return keep_old_credentials(kRenewAgain_ms), std::nullopt;
  reason_ = found.error().message();
  shared_.notices.warn("credentials",
                       "no credentials for " + meta_.bucket_uri + ": " + reason_ + "; the rows are kept");
  // The set-up is wrong, and nobody corrects it while this one waits.
  if (ended_ && found.error().code == Code::invalid) return left(reason_);
  s3_next_ns_ = now_ns() + s3_backoff_.next_ms(chance()) * kNsPerMs;
  return wait_until(s3_next_ns_);
}

Step BucketDelivery::deliver(const Segment& segment) {
  const Step step = upload(segment);
  if (ended_ && unsaved_ >= kMaxFailuresAfterEnd) return left(reason_);
  if (s3_blocked_until_ns_ == 0) return step;
  // There is no other way than the bucket: what is refused is asked again, more and more rarely.
  s3_blocked_until_ns_ = 0;
  s3_next_ns_ = now_ns() + s3_backoff_.next_ms_at_least(ended_ ? 1'000 : kOtherPause_ms, chance()) * kNsPerMs;
  const bool settings_are_wrong = !must_refresh_;  // there was no answer to judge
  return ended_ && (settings_are_wrong || ++refusals_at_end_ >= kMaxRefusalsAtEnd) ? left(reason_)
                                                                                   : wait_until(s3_next_ns_);
}

}  // namespace tacho
