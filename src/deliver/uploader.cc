#include "deliver/uploader.h"

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "base/units.h"
#include "deliver/compress.h"
#include "spool/layout.h"

namespace tacho {
namespace {

constexpr int64_t kRefreshBefore_ns = 300 * kNsPerSec;

}  // namespace

std::string object_uri(std::string_view prefix_uri, std::string_view run_id, uint32_t number) {
  while (prefix_uri.ends_with('/')) prefix_uri.remove_suffix(1);
  std::string uri(prefix_uri);
  const size_t bucket_end = prefix_uri.find('/', 5);
  const std::string_view path = bucket_end == std::string_view::npos ? std::string_view{} : prefix_uri.substr(bucket_end + 1);
  const auto parts = split(path, '/');
  if (!run_id.empty() && std::find(parts.begin(), parts.end(), run_id) == parts.end()) uri.append("/").append(run_id);
  return uri + "/" + segment_name(number, ".csv.gz");
}

bool Uploader::wants_refresh(int64_t server_now_ns) const {
  return credentials && credentials->expires_realtime_ns > 0 && credentials->expires_realtime_ns - server_now_ns < kRefreshBefore_ns;
}

bool Uploader::expired(int64_t server_now_ns) const {
  return credentials && credentials->expires_realtime_ns > 0 && credentials->expires_realtime_ns <= server_now_ns;
}

int64_t Uploader::refresh_at_ns(int64_t server_now_ns, int64_t monotonic_ns) const {
  if (!credentials || credentials->expires_realtime_ns == 0) return std::numeric_limits<int64_t>::max();
  return monotonic_ns + credentials->expires_realtime_ns - kRefreshBefore_ns - server_now_ns + kNsPerSec;
}

S3Result Uploader::put(const std::string& uri, std::string_view csv) {
  const auto location = parse_s3_uri(uri);
  if (!location) {
    S3Result result;
    result.verdict = Verdict::give_up;
    result.error_class = ErrorClass::other;
    result.message = location.error().message();
    return result;
  }
  return s3_.put(*location, gzip(csv), "application/gzip", *credentials);
}

}  // namespace tacho
