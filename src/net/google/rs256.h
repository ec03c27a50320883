// Checks a signature of RSASSA-PKCS1-v1_5 with SHA-256 (RS256 of RFC 7518) by OpenSSL. Thread-safe.
#pragma once
#include <string_view>

namespace tacho {

// modulus and exponent as big-endian bytes. False for a key below 2048 bits too.
bool verify_rs256(std::string_view text, std::string_view signature, std::string_view modulus,
                  std::string_view exponent);

}  // namespace tacho
