// Digests by OpenSSL, for signatures, checksums and names made of a text. Pure, thread-safe.
#pragma once
#include <string>
#include <string_view>

namespace tacho {

std::string hex(std::string_view bytes);    // lower case
std::string sha256(std::string_view text);  // 32 bytes
std::string hmac_sha256(std::string_view key, std::string_view text);
std::string sha1(std::string_view text);  // 20 bytes; for names of files only
std::string md5(std::string_view text);   // empty where the machine's policy (FIPS) forbids it

}  // namespace tacho
