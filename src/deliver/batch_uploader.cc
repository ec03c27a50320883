#include "deliver/batch_uploader.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "deliver/compress.h"
#include "spool/layout.h"

namespace tacho {
namespace {

constexpr int64_t kRefreshBefore_ns = 300 * kNsPerSec;
constexpr int64_t kBetweenRenewals_ns = 60 * kNsPerSec;

}  // namespace

std::string object_uri(std::string_view prefix_uri, std::string_view run_id, uint32_t number) {
  while (prefix_uri.ends_with('/')) prefix_uri.remove_suffix(1);
  std::string uri = std::string("s3://").append(
      prefix_uri.substr(std::min<size_t>(5, prefix_uri.size())));  // however the scheme was written
  const size_t bucket_end = prefix_uri.find('/', 5);
  const std::string_view path =
      bucket_end == std::string_view::npos ? std::string_view{} : prefix_uri.substr(bucket_end + 1);
  const auto parts = split(path, '/');
  if (!run_id.empty() && std::find(parts.begin(), parts.end(), run_id) == parts.end()) uri.append("/").append(run_id);
  return uri + "/" + segment_name(number, ".csv.gz");
}

Result<std::string> packed(const SpoolRun& run, const Segment& segment) {
  if (segment.seal.bytes <= static_cast<int64_t>(kLargestInOnePiece)) {
    const auto text = run.read(segment);
    return text ? Result<std::string>(gzip(*text)) : text;
  }
  GzipPieces pieces;
  if (const Status status = run.read_pieces(segment, [&](std::string_view piece) { pieces.put(piece); }); !status)
    return status.error();
  return pieces.finish();
}

void BatchUploader::take(std::optional<AwsCredentials> credentials, int64_t server_now_ns, int64_t monotonic_ns,
                         bool renewed) {
  credentials_ = std::move(credentials);
  refresh_at_ns_ = renew_idle_at_ns_ = expire_at_ns_ = std::numeric_limits<int64_t>::max();
  if (!credentials_ || credentials_->expires_realtime_ns == 0) return;
  const int64_t told_ns = credentials_->expires_realtime_ns - server_now_ns;
  // Dead on arrival makes no sense, least of all when they are fresh: S3 will tell.
  const int64_t life_ns = told_ns > 0 ? told_ns : kAssumedLife_ns;
  const int64_t at_least_ns = renewed ? std::min(life_ns / 2, kBetweenRenewals_ns) : 0;
  expire_at_ns_ = monotonic_ns + life_ns;
  refresh_at_ns_ = monotonic_ns + std::max((renewed ? life_ns : told_ns) - kRefreshBefore_ns, at_least_ns);
  renew_idle_at_ns_ = std::max(refresh_at_ns_, monotonic_ns + life_ns / 2);
}

S3Result BatchUploader::put(const std::string& uri, std::string gzipped) {
  const auto location = parse_s3_uri(uri);
  if (!location) {
    S3Result result;
    result.verdict = S3Verdict::give_up;
    result.error_class = ErrorClass::other;
    result.message = location.error().message();
    return result;
  }
  if (gzipped.empty()) {  // an empty object would count as delivered
    S3Result result;
    result.message = "there is no memory to compress a batch";
    return result;
  }
  return s3_.put(*location, std::move(gzipped), "application/gzip", *credentials_);
}

}  // namespace tacho
