// Who may call the service: whoever has the shared token, or an identity token of Google (OpenID Connect, RS256) for our
// audience. Keys are fetched when needed and kept as long as their server says. Thread-safe.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/http.h"
#include "os/clock.h"

namespace tacho {

struct CallerSettings {
  std::string token;                   // empty: none is accepted
  std::string audience;                // empty: no identity token is accepted
  std::string issuer = "https://accounts.google.com";
  std::string jwks_url = "https://www.googleapis.com/oauth2/v3/certs";
  std::vector<std::string> emails;     // empty: any
  bool open() const { return token.empty() && audience.empty(); }
};

struct JwtKey {
  std::string modulus, exponent;       // big-endian bytes
};
// {"keys":[{"kty":"RSA","kid":"…","n":"…","e":"AQAB"}]}: RSA keys by kid.
std::map<std::string, JwtKey> parse_jwks(std::string_view json);

struct JwtParts {
  std::string algorithm, key_id;
  std::string issuer, email;
  bool email_verified = false;
  std::vector<std::string> audiences;
  int64_t expires_s = 0, issued_s = 0, not_before_s = 0;
  std::string signed_text, signature;
};
// HEADER.CLAIMS.SIGNATURE
Result<JwtParts> parse_jwt(std::string_view token);
// All but the signature. Empty: good; else why not.
std::string refuse_claims(const JwtParts& jwt, const CallerSettings& settings, int64_t now_s);

class CallerCheck {
 public:
  explicit CallerCheck(CallerSettings settings) : settings_(std::move(settings)) {}
  // 0: may call. 401: no or a wrong token. 403: right token of somebody else. 503: the keys cannot be fetched now.
  int check(std::string_view authorization, std::string& why);

 private:
  int check_identity(std::string_view token, std::string& why);
  // The key, fetched anew when it is not known; false when they cannot be had.
  bool key(const std::string& key_id, JwtKey& found);
  bool fetch_keys(int64_t now_ns);

  CallerSettings settings_;
  std::mutex mutex_;
  HttpClient http_;
  std::map<std::string, JwtKey> keys_;
  int64_t keys_until_ns_ = 0, not_before_ns_ = 0;
};

}  // namespace tacho
