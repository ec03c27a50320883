// Bearer tokens for Google's services (cromwell-bigquery.md §2.7). Sources in order: access-token file, credentials file,
// GOOGLE_APPLICATION_CREDENTIALS, gcloud's application default credentials, metadata server. A token is fetched anew 4 minutes before
// it ends; while that fails the old one serves as long as it is valid. Nothing secret is in an Error or a log. Not thread-safe.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/gce_metadata.h"
#include "net/http.h"
#include "os/clock.h"

namespace tacho {

inline constexpr std::string_view kScopeBigQuery = "https://www.googleapis.com/auth/bigquery";
inline constexpr std::string_view kScopeStorageRead = "https://www.googleapis.com/auth/devstorage.read_only";
inline constexpr std::string_view kScopeUserEmail = "https://www.googleapis.com/auth/userinfo.email";
inline constexpr std::string_view kScopeUserProfile = "https://www.googleapis.com/auth/userinfo.profile";

struct GoogleAuthSettings {
  std::string access_token_file, credentials_file;  // from flags; a named file that cannot be used is an error
  std::string token_uri;                            // --token-uri: instead of the file's
  std::string metadata_host;                        // --metadata-host
  std::vector<std::string> scopes{std::string(kScopeBigQuery)};
};

// What a credentials file holds. Secrets are wiped when it goes.
struct GoogleCredentials {
  enum class Type { service_account, authorized_user } type = Type::service_account;
  std::string client_email, private_key, private_key_id, token_uri;  // service_account
  std::string client_id, client_secret, refresh_token;               // authorized_user
  std::string project;                                               // project_id or quota_project_id
  ~GoogleCredentials();
};
// {"type":"service_account","client_email":…}. not_available: a type that is not supported (external_account …), with a message;
// invalid: no such file's content, or members are missing.
Result<GoogleCredentials> parse_google_credentials(std::string_view text, const std::string& path);

// The signed JWT of a service account (RS256): iat = now − 10 s, exp an hour later. `audience` empty: a self-signed bearer with
// iss = sub and scope.
Result<std::string> service_account_jwt(const GoogleCredentials& credentials, std::string_view scope, std::string_view audience, int64_t now_s);

// {"access_token":"…","expires_in":3599,"token_type":"Bearer"}
struct GoogleTokenAnswer {
  std::string token;
  int64_t expires_in_s = 0;
};
std::optional<GoogleTokenAnswer> parse_token_answer(std::string_view text);

class GoogleToken {
 public:
  GoogleToken(HttpClient& http, GoogleAuthSettings settings, Clock& clock = system_clock());
  ~GoogleToken();

  // A token that is good now. not_available: there are no credentials at all (an emulator is then asked without); invalid or denied:
  // they are wrong, the message says what to do; io: try again later.
  Result<std::string> get();
  // After a 401: the next get() fetches a new one.
  void refuse();
  // After a second 401: the next get() also looks for the source again.
  void forget();
  // The project that the credentials belong to; empty when unknown. Asks the metadata server only when that is the source.
  std::string project();
  // "service account x@y" …, for a message; empty before the first get().
  const std::string& source() const { return source_; }
  GceMetadata& metadata() { return metadata_; }

 private:
  enum class Kind { unknown, token_file, file, metadata };
  struct Cached {
    std::string token;
    int64_t expires_ns = 0;  // on CLOCK_MONOTONIC
  };
  Status detect();
  Status use_file(const std::string& path, bool named);
  Result<GoogleTokenAnswer> fetch();
  Result<GoogleTokenAnswer> exchange(const std::string& url, const std::string& form);
  Result<GoogleTokenAnswer> from_metadata();
  std::string scope_text(char separator) const;

  HttpClient& http_;
  GoogleAuthSettings settings_;
  Clock& clock_;
  GceMetadata metadata_;
  Kind kind_ = Kind::unknown;
  std::optional<GoogleCredentials> credentials_;
  std::string source_, path_;
  Cached cached_;
  int64_t next_refresh_ns_ = 0;
};

}  // namespace tacho
