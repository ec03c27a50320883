// Where an S3 object is (sentinel.md §4.2), and what region an answer of S3 names. Pure, thread-safe.
#pragma once
#include <string>
#include <string_view>

#include "net/aws/s3.h"

namespace tacho {

struct S3Address {
  std::string url;   // as it goes to the HTTP client
  std::string host;  // as it is signed: with a port that is not the scheme's own
  std::string path;  // as it is signed and sent
};
Result<S3Address> s3_address(const S3Settings& settings, const S3Location& location, const std::string& region);
// Where anybody may ask for a bucket's region.
std::string s3_region_probe_url(const std::string& bucket);

// Letters, digits and hyphens: a region becomes part of a host name that gets our signature.
bool is_region(std::string_view text);
// The region that an answer names after a request to the wrong place: header x-amz-bucket-region, <Region> or
// <Endpoint>.
//   <Endpoint>bucket.s3.eu-west-1.amazonaws.com</Endpoint>, also bucket.s3-eu-west-1.amazonaws.com
// Empty when it names no usable one.
std::string region_in_answer(const HttpResponse& answer);

}  // namespace tacho
