// A CA and server certificates of our own, on OpenSSL: ECDSA P-256, PEM texts in and out. Pure functions but for the
// clock and random numbers; thread-safe.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tacho {

inline constexpr int64_t kDaySeconds = 86'400;
inline constexpr int64_t kCaSeconds = 3650 * kDaySeconds, kServerSeconds = 365 * kDaySeconds,
                         kRenewSeconds = 90 * kDaySeconds;

struct KeyPair {
  std::string certificate, key;  // PEM
};
// Common name katib-ca, organisation katib. `now_s` is UNIX time.
Result<KeyPair> make_ca(int64_t now_s);
// Signed by the CA for all `names` (DNS names, or IP addresses in numbers); the first DNS name is the common name.
Result<KeyPair> issue_certificate(const KeyPair& ca, const std::vector<std::string>& names, int64_t now_s);

struct CertificateFacts {
  int64_t not_before_s = 0, not_after_s = 0;
  std::vector<std::string> names;
};
Result<CertificateFacts> read_certificate(std::string_view pem);
// The certificate was signed by one of the CAs in the bundle, and belongs to the key.
bool is_trusted(std::string_view certificate, std::string_view ca_bundle, int64_t now_s);
bool belongs(std::string_view certificate, std::string_view key);

// The certificates of a PEM text, one by one and each once.
std::vector<std::string> split_bundle(std::string_view pem);

// <service>.<ns>.svc first, then the other names a Service has, then the extra ones.
std::vector<std::string> service_names(const std::string& service, const std::string& ns,
                                       const std::vector<std::string>& extra);

std::string to_base64(std::string_view text);
std::string from_base64(std::string_view text);  // empty when it is none

}  // namespace tacho
