#include "net/http/digest.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace tacho {
namespace {

std::string digest(const EVP_MD* kind, std::string_view text) {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), out, &size, kind, nullptr) != 1) return {};
  return {reinterpret_cast<const char*>(out), size};
}

}  // namespace

std::string hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::string sha256(std::string_view text) { return digest(EVP_sha256(), text); }
std::string sha1(std::string_view text) { return digest(EVP_sha1(), text); }
std::string md5(std::string_view text) { return digest(EVP_md5(), text); }

std::string hmac_sha256(std::string_view key, std::string_view text) {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()),
       text.size(), out, &size);
  return {reinterpret_cast<const char*>(out), size};
}

}  // namespace tacho
