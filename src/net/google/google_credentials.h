// Google's credentials files and what is made from them (cromwell-bigquery.md §2.7): pure functions but for the
// signing, which is OpenSSL's. Nothing secret is in an Error. Thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tacho {

// What a credentials file holds. The destructor wipes the secrets.
struct GoogleCredentials {
  enum class Type { service_account, authorized_user } type = Type::service_account;
  std::string client_email, private_key, private_key_id;  // service_account
  std::string token_uri;                                  // empty: a service account signs its bearer itself
  std::string client_id, client_secret, refresh_token;    // authorized_user
  std::string project;                                    // project_id or quota_project_id
  GoogleCredentials() = default;
  GoogleCredentials(const GoogleCredentials&) = default;
  GoogleCredentials(GoogleCredentials&&) = default;
  GoogleCredentials& operator=(GoogleCredentials&&) = default;
  ~GoogleCredentials();
};
// {"type":"service_account","client_email":…}. not_available: a type that is not supported (external_account …), with a
// message; invalid: this is no such file, or members are missing.
Result<GoogleCredentials> parse_google_credentials(std::string_view text, const std::string& path);

// The signed JWT of a service account (RS256): iat = now − 10 s, exp an hour later. Without an audience a self-signed
// bearer with iss = sub and scope.
Result<std::string> service_account_jwt(const GoogleCredentials& credentials, std::string_view scope,
                                        std::string_view audience, int64_t now_s);

// {"access_token":"…","expires_in":3599,"token_type":"Bearer"}; a lifetime that is missing or makes no sense counts as
// five minutes.
struct GoogleTokenAnswer {
  std::string token;
  int64_t expires_in_s = 0;
};
std::optional<GoogleTokenAnswer> parse_token_answer(std::string_view text);

std::string base64url(std::string_view bytes);  // without padding

}  // namespace tacho
