// Who may call the service: whoever has the shared token, or an identity token of Google (OpenID Connect, RS256) for
// our audience and of one of our accounts; the audience alone is not enough, since Google gives anybody a token for any
// audience. Thread-safe.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cromwell/key_store.h"

namespace tacho {

struct CallerSettings {
  std::string token;     // empty: none is accepted
  std::string audience;  // empty: no identity token is accepted
  std::string issuer = "https://accounts.google.com";
  std::string jwks_url = "https://www.googleapis.com/oauth2/v3/certs";
  std::vector<std::string> emails;  // whose identity tokens are accepted
  bool open() const { return token.empty() && audience.empty(); }
};

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
  // Keys come from settings.jwks_url, or by `fetch`.
  explicit CallerCheck(CallerSettings settings, KeyStore::Fetch fetch = {});
  // 0: may call. 401: no or a wrong token. 403: right token of somebody else. 503: the keys cannot be fetched now.
  int check(std::string_view authorization, std::string& why);

 private:
  int check_identity(std::string_view token, std::string& why);

  const CallerSettings settings_;
  std::unique_ptr<KeyStore> keys_;  // none where no identity token is accepted
};

}  // namespace tacho
