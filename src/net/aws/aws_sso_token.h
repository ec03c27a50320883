// The token that `aws sso login` leaves in ~/.aws/sso/cache, in a file called after the SHA-1 of the session's name, or
// of the start URL in the older form. A session's token is renewed for as long as the sign-in lasts (CreateToken, at
// AWS_ENDPOINT_URL_SSO_OIDC or the service of sso_region) and written back, as the AWS tools do: a token lives for an
// hour, a run for longer. Nobody is signed in here. Not thread-safe.
#pragma once
#include <string>
#include <string_view>

#include "net/http/http.h"

namespace tacho {

// {"startUrl": "…", "region": "…", "accessToken": "…", "expiresAt": "2026-11-15T09:30:00Z"}; older ones end in UTC.
// One that can be renewed also has refreshToken, clientId, clientSecret and registrationExpiresAt.
struct SsoToken {
  std::string text;
  int64_t expires_realtime_ns = 0;
  std::string refresh_token, client_id, client_secret;  // all or none
};
Result<SsoToken> parse_sso_token(std::string_view text, int64_t now_ns);
// The cached text with what CreateToken answered: {"accessToken": "…", "expiresIn": 3600, "refreshToken": "…"}; empty
// when that is no token.
std::string renewed_sso_token(std::string_view cached, std::string_view answer, int64_t now_ns);

struct SsoSignIn {
  std::string session, start_url;  // of a session; the older form has no name for it
  std::string region, profile;
};
// Code::io: try again later; Code::invalid: sign in again.
Result<SsoToken> sso_token(HttpClient& http, const SsoSignIn& sign_in);

// What to tell a person who is not signed in (any more).
Error not_signed_in(const std::string& what, const std::string& profile);
// https://NAME.eu-west-1.amazonaws.com, or what the variable says, without a slash at its end.
std::string sso_service_url(const char* variable, const std::string& name, const std::string& region);

}  // namespace tacho
