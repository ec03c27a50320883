// Keyed hashes on OpenSSL. Pure; thread-safe.
#pragma once
#include <string>
#include <string_view>

namespace tacho {

// HMAC-SHA256 in lower-case hex, 64 digits; empty when the library refuses.
std::string hmac_sha256_hex(std::string_view key, std::string_view text);

}  // namespace tacho
