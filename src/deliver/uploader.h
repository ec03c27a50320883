// Batches as objects: the key of a segment, its gzip bytes, and one attempt to put it (sentinel.md §4). A repeated attempt,
// also by another process, writes the same bytes under the same key. Not thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "net/http.h"
#include "net/s3.h"

namespace tacho {

// s3://bucket/{prefix}/[{run_id}/]000003.csv.gz; run_id only where the prefix does not have it as a component already.
std::string object_uri(std::string_view prefix_uri, std::string_view run_id, uint32_t number);

class Uploader {
 public:
  explicit Uploader(HttpClient& http) : s3_(http, S3Settings::from_environment()) {}

  std::optional<AwsCredentials> credentials;
  // Less than five minutes are left, by the server's clock.
  bool wants_refresh(int64_t server_now_ns) const;
  bool expired(int64_t server_now_ns) const;
  int64_t refresh_at_ns(int64_t server_now_ns, int64_t monotonic_ns) const;  // on CLOCK_MONOTONIC

  S3Result put(const std::string& uri, std::string_view csv);

 private:
  S3Client s3_;
};

}  // namespace tacho
