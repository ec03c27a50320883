// AWS Signature Version 4, step by step as its specification has it, each step a pure function; thread-safe.
//
// By OpenSSL and not by libcurl's CURLOPT_AWS_SIGV4: in 7.88 that one is wrong for an upload without a hash header made
// by hand (it hashes nothing of the body itself when the body is not a POST field), does not canonicalise a query,
// reads the local clock only (a machine that is an hour off could never upload), and cannot leave a header such as
// Content-MD5 out of the signature. With all of that done by hand there would be nothing left for it to do.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http/http.h"

namespace tacho {

struct SigV4Request {
  std::string_view method;
  std::string_view path;          // percent-encoded as it goes over the wire
  std::string_view query;         // as it goes over the wire, without the question mark
  Headers headers;                // those to be signed
  std::string_view payload_hash;  // lower-case hex of the body's SHA-256
};

struct SigV4Scope {
  std::string time;  // 20130524T000000Z
  std::string region, service;
  std::string text() const;  // 20130524/us-east-1/s3/aws4_request
};

std::string sigv4_time(int64_t realtime_ns);
std::string signed_headers(const Headers& headers);   // host;x-amz-date
std::string canonical_query(std::string_view query);  // sorted, encoded once
std::string canonical_request(const SigV4Request& request);
std::string string_to_sign(const SigV4Scope& scope, std::string_view canonical);
std::string sigv4_signature(std::string_view secret_key, const SigV4Scope& scope, std::string_view to_sign);
// The value of the Authorization header.
std::string authorization(const SigV4Request& request, const SigV4Scope& scope, std::string_view access_key,
                          std::string_view secret_key);

}  // namespace tacho
