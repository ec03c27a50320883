// Bearer tokens for Google's services (cromwell-bigquery.md §2.7). Sources in order: access-token file, credentials
// file, GOOGLE_APPLICATION_CREDENTIALS, gcloud's application default credentials, metadata server. A new token is
// fetched 4 minutes before the old one expires; while that fails, the old one is used as long as it is valid. Nothing
// secret is in an Error or a log. Not thread-safe.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/google/gce_metadata.h"
#include "net/google/google_credentials.h"
#include "net/http/http.h"
#include "os/clock.h"

namespace tacho {

inline constexpr int64_t kProjectPatienceMs = 60'000;  // of a command

inline constexpr std::string_view kScopeBigQuery = "https://www.googleapis.com/auth/bigquery";
inline constexpr std::string_view kScopeStorageRead = "https://www.googleapis.com/auth/devstorage.read_only";
inline constexpr std::string_view kScopeUserEmail = "https://www.googleapis.com/auth/userinfo.email";
inline constexpr std::string_view kScopeUserProfile = "https://www.googleapis.com/auth/userinfo.profile";

struct GoogleAuthSettings {
  std::string access_token_file, credentials_file;  // from flags; a named file that cannot be used is an error
  std::string token_uri;                            // --token-uri: instead of the file's
  std::string metadata_host;                        // --metadata-host
  std::vector<std::string> scopes{std::string(kScopeBigQuery)};
  std::function<void(const std::string& text)> warn;  // a source that was passed over, for a person; may be empty
};

class GoogleToken {
 public:
  GoogleToken(HttpClient& http, GoogleAuthSettings settings, Clock& clock = system_clock());
  ~GoogleToken();

  // A token that is good now. not_available: there are no credentials at all (an emulator is then asked without a
  // token); invalid or denied: they are wrong, the message says what to do; io: try again later.
  Result<std::string> get();
  // After a 401: the next get() fetches a new one.
  void refuse();
  // After a second 401: the next get() also looks for the source again.
  void forget();
  // The project that the credentials belong to; empty when unknown, an Error when it may become known later. Asks the
  // metadata server only if that is the source.
  Result<std::string> project();
  // The same for a program that may wait: asked again for so long while it may become known later.
  Result<std::string> project_within(int64_t patience_ms);
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
  Status use_file(const std::string& path);
  bool passed_over(const Error& error) const;
  // `ahead`: the old one still serves, so nothing waits long for a server that does not answer.
  Result<GoogleTokenAnswer> fetch(bool ahead);
  Result<GoogleTokenAnswer> exchange(const std::string& url, const std::string& form, bool ahead);
  Result<GoogleTokenAnswer> from_metadata(bool ahead);
  std::string scope_text(char separator) const;
  void wipe();

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
