#include "base/hmac.h"

#include <sha2.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace tacho {
namespace {

using Block = std::array<uint8_t, SHA256_BLOCK_LENGTH>;
using Digest = std::array<uint8_t, SHA256_DIGEST_LENGTH>;

const uint8_t* bytes(std::string_view text) { return reinterpret_cast<const uint8_t*>(text.data()); }

// SHA-256 of two pieces, one behind the other.
Digest digest(const uint8_t* first, size_t first_size, const uint8_t* second, size_t second_size) {
  SHA2_CTX context;
  Digest result{};
  ::SHA256Init(&context);
  ::SHA256Update(&context, first, first_size);
  ::SHA256Update(&context, second, second_size);
  ::SHA256Final(result.data(), &context);
  return result;
}

}  // namespace

std::string sha256_bytes(std::string_view text) {
  const Digest result = digest(bytes(text), text.size(), nullptr, 0);
  return {result.begin(), result.end()};
}

std::string hmac_sha256_hex(std::string_view key, std::string_view text) {
  Block inner{};
  if (key.size() > inner.size()) {
    const Digest shorter = digest(bytes(key), key.size(), nullptr, 0);
    std::copy(shorter.begin(), shorter.end(), inner.begin());
  } else {
    std::copy(key.begin(), key.end(), inner.begin());
  }
  Block outer = inner;
  for (uint8_t& byte : inner) byte ^= 0x36;
  for (uint8_t& byte : outer) byte ^= 0x5c;
  const Digest middle = digest(inner.data(), inner.size(), bytes(text), text.size());
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const uint8_t byte : digest(outer.data(), outer.size(), middle.data(), middle.size())) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

}  // namespace tacho
