// Batches as objects: the key of a segment, its gzip bytes, and one attempt to put it (sentinel.md §4). A repeated
// attempt, even by another process, writes the same bytes under the same key. Not thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "net/aws/s3.h"
#include "net/http/http.h"
#include "spool/reader.h"

namespace tacho {

// s3://bucket/{prefix}/[{run_id}/]000003.csv.gz; run_id only where the prefix does not have it as a component already.
std::string object_uri(std::string_view prefix_uri, std::string_view run_id, uint32_t number);

// A segment as it is uploaded; an Error when it is damaged, empty when there was no memory for it.
Result<std::string> packed(const SpoolRun& run, const Segment& segment);

class BatchUploader {
 public:
  explicit BatchUploader(HttpClient& http) : s3_(http, S3Settings::from_environment()) {}

  // The credentials' life is counted from now on, by the server's clock. Renewed: they replace others that had less
  // than five minutes left, so that a service which hands out shorter ones is not asked again and again.
  void take(std::optional<AwsCredentials> credentials, int64_t server_now_ns, int64_t monotonic_ns, bool renewed);
  bool has_credentials() const { return credentials_.has_value(); }
  // When less than five minutes are left, so that a batch needs fresh credentials. Never, if they do not expire.
  int64_t refresh_at_ns() const { return refresh_at_ns_; }
  // The same where no batch is due.
  int64_t renew_idle_at_ns() const { return renew_idle_at_ns_; }
  int64_t expire_at_ns() const { return expire_at_ns_; }
  // The Date of an answer of the service: signatures are made by its clock.
  void note_server_date(std::string_view date) { s3_.note_server_date(date); }
  int64_t server_now_ns() { return s3_.server_time_ns(); }

  S3Result put(const std::string& uri, std::string gzipped);

 private:
  S3Client s3_;
  std::optional<AwsCredentials> credentials_;
  int64_t refresh_at_ns_ = 0, renew_idle_at_ns_ = 0, expire_at_ns_ = 0;  // on CLOCK_MONOTONIC
};

}  // namespace tacho
