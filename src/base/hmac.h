// SHA-256, and HMAC-SHA256 (RFC 2104) for names that must not tell what they are made of, where no TLS library is
// linked: the sampling process has none. On libmd. Pure, thread-safe.
#pragma once
#include <string>
#include <string_view>

namespace tacho {

// SHA-256 itself: 32 bytes.
std::string sha256_bytes(std::string_view text);

// 64 hex digits in lower case.
std::string hmac_sha256_hex(std::string_view key, std::string_view text);

}  // namespace tacho
