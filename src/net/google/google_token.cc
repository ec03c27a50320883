#include "net/google/google_token.h"

#include <algorithm>
#include <cstring>

#include "base/backoff.h"
#include "base/text.h"
#include "base/units.h"
#include "net/http/retry.h"
#include "os/environment.h"
#include "os/file.h"

namespace tacho {
namespace {

constexpr int64_t kRefreshBefore_ns = 240 * kNsPerSec, kRefreshPause_ns = 30 * kNsPerSec;
constexpr int64_t kFirstPauseMs = 1'000, kLongestPauseMs = 10'000;
constexpr int64_t kAheadMs = 2'000;  // for a new token while the old one is valid
constexpr size_t kFileLimit = 1u << 20;

std::string default_credentials_path() {
  const std::string name = "/application_default_credentials.json";
  if (const std::string config = environment("CLOUDSDK_CONFIG"); !config.empty()) return config + name;
  const std::string home = environment("HOME");
  return home.empty() ? "" : home + "/.config/gcloud" + name;
}

Result<std::string> read_secret(const std::string& path, const char* hint) {
  auto text = read_whole_file(path, kFileLimit);
  if (text) return text;
  return Error{Code::invalid, "the Google credentials cannot be read: " + text.error().hint, path, hint};
}

std::string form_value(std::string_view name, std::string_view value) {
  return std::string(name) + "=" + percent_encode(value, false);
}

}  // namespace

GoogleToken::GoogleToken(HttpClient& http, GoogleAuthSettings settings, Clock& clock)
    : http_(http), settings_(std::move(settings)), clock_(clock), metadata_(http, settings_.metadata_host, clock) {}

GoogleToken::~GoogleToken() { wipe(); }

void GoogleToken::wipe() {
  ::explicit_bzero(cached_.token.data(), cached_.token.size());
  cached_ = {};
}

std::string GoogleToken::scope_text(char separator) const {
  std::string text;
  for (const std::string& scope : settings_.scopes) (text += text.empty() ? "" : std::string(1, separator)) += scope;
  return text;
}

// A kind of credentials that tacho does not know: the next source has its turn, and a person hears of it.
bool GoogleToken::passed_over(const Error& error) const {
  if (error.code != Code::not_available) return false;
  if (settings_.warn) settings_.warn(error.message());
  return true;
}

Status GoogleToken::use_file(const std::string& path) {
  auto text = read_secret(path, "check the path and its permissions");
  if (!text) return text.error();
  auto credentials = parse_google_credentials(*text, path);
  ::explicit_bzero(text->data(), text->size());
  if (!credentials) return credentials.error();
  credentials_.emplace(std::move(*credentials));
  kind_ = Kind::file;
  path_ = path;
  source_ = credentials_->type == GoogleCredentials::Type::service_account
                ? "service account " + credentials_->client_email
                : "user credentials";
  source_ += " of " + path;
  return ok();
}

Status GoogleToken::detect() {
  if (!settings_.access_token_file.empty()) {
    kind_ = Kind::token_file;
    source_ = "the token in " + settings_.access_token_file;
    return ok();
  }
  // What was named and cannot be used is an error: another identity than the one asked for must not be used instead.
  for (const std::string& path : {settings_.credentials_file, environment("GOOGLE_APPLICATION_CREDENTIALS")}) {
    if (path.empty()) continue;
    const Status used = use_file(path);
    if (used || !passed_over(used.error())) return used;
  }
  if (const std::string path = default_credentials_path(); !path.empty() && file_exists(path)) {
    const Status used = use_file(path);
    if (used || !passed_over(used.error())) return used;
  }
  kind_ = Kind::metadata;
  source_ = "the machine's service account";
  return ok();
}

Result<GoogleTokenAnswer> GoogleToken::exchange(const std::string& url, const std::string& form, bool ahead) {
  if (const Status good = check_url(url); !good) return good.error();
  HttpRequest request;
  request.method = "POST";
  request.url = url;
  request.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
  request.body = form;
  request.body_limit = kFileLimit;
  if (ahead) request.connect_ms = request.response_ms = request.total_ms = kAheadMs;
  const auto answer = http_.send(request);
  ::explicit_bzero(request.body.data(), request.body.size());
  if (!answer) return answer.error();
  if (answer->status == 200) {
    if (auto token = parse_token_answer(answer->body)) return *token;
    return Error{Code::io, "the token server's answer makes no sense", parse_url(url)->place(), "it is tried again"};
  }
  const bool temporary = is_temporary_status(answer->status);
  return Error{temporary ? Code::io : Code::denied,
               "the token server refused " + source_ + " with status " + std::to_string(answer->status),
               parse_url(url)->place(),
               temporary ? "it is tried again" : "check that the key or the login is still valid, and the clock"};
}

Result<GoogleTokenAnswer> GoogleToken::from_metadata(bool ahead) {
  const std::string path = "instance/service-accounts/default/token?scopes=" + percent_encode(scope_text(','), false);
  const auto text = ahead ? metadata_.get(path, 0) : metadata_.get(path);
  if (!text && text.error().code == Code::not_available)
    return Error{Code::not_available, "there are no Google credentials", "",
                 "set GOOGLE_APPLICATION_CREDENTIALS, or give the machine a service account"};
  if (!text) return text.error();
  if (auto token = parse_token_answer(*text)) return *token;
  return Error{Code::io, "the metadata server's token makes no sense", "", "it is tried again"};
}

Result<GoogleTokenAnswer> GoogleToken::fetch(bool ahead) {
  if (kind_ == Kind::unknown)
    if (const Status found = detect(); !found) return found.error();
  if (kind_ == Kind::metadata) return from_metadata(ahead);
  if (kind_ == Kind::token_file) {
    auto text = read_secret(settings_.access_token_file, "write a token to it");
    if (!text) return text.error();
    GoogleTokenAnswer answer{std::string(trim(*text)), 0};
    ::explicit_bzero(text->data(), text->size());
    const bool usable = !answer.token.empty() && std::all_of(answer.token.begin(), answer.token.end(),
                                                             [](char c) { return c > ' ' && c < 0x7f; });
    if (!usable)
      return Error{Code::invalid, "there is no token in the access-token file", settings_.access_token_file,
                   "write one line with a token to it"};
    return answer;
  }
  const std::string url = settings_.token_uri.empty() ? credentials_->token_uri : settings_.token_uri;
  if (credentials_->type == GoogleCredentials::Type::authorized_user) {
    return exchange(url,
                    form_value("grant_type", "refresh_token") + "&" + form_value("client_id", credentials_->client_id) +
                        "&" + form_value("client_secret", credentials_->client_secret) + "&" +
                        form_value("refresh_token", credentials_->refresh_token),
                    ahead);
  }
  const auto jwt = service_account_jwt(*credentials_, scope_text(' '), url, clock_.realtime_ns() / kNsPerSec);
  if (!jwt) return Error{jwt.error().code, jwt.error().what, path_, jwt.error().hint};
  if (url.empty()) return GoogleTokenAnswer{*jwt, 3'500};  // a bearer of its own
  return exchange(
      url,
      form_value("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer") + "&" + form_value("assertion", *jwt),
      ahead);
}

Result<std::string> GoogleToken::get() {
  const int64_t now_ns = clock_.monotonic_ns();
  const bool valid = !cached_.token.empty() && now_ns < cached_.expires_ns && kind_ != Kind::token_file;
  if (valid && now_ns < next_refresh_ns_) return cached_.token;
  auto answer = fetch(valid);
  if (!answer) {
    if (!valid || clock_.monotonic_ns() >= cached_.expires_ns) return answer.error();
    next_refresh_ns_ = clock_.monotonic_ns() + kRefreshPause_ns;  // the old one serves until it ends
    return cached_.token;
  }
  wipe();
  cached_.token = std::move(answer->token);
  const int64_t life_ns = answer->expires_in_s * kNsPerSec;
  cached_.expires_ns = life_ns == 0 ? kNever : now_ns + life_ns;
  next_refresh_ns_ = life_ns == 0 ? kNever : now_ns + std::max(life_ns - kRefreshBefore_ns, life_ns / 2);
  return cached_.token;
}

void GoogleToken::refuse() { wipe(); }

void GoogleToken::forget() {
  wipe();
  credentials_.reset();
  kind_ = Kind::unknown;
}

Result<std::string> GoogleToken::project() {
  if (kind_ == Kind::unknown)
    if (const Status found = detect(); !found) return found.error();
  if (kind_ == Kind::file) return credentials_->project;
  if (kind_ != Kind::metadata) return std::string();
  auto project = metadata_.get("project/project-id");
  if (!project && project.error().code == Code::not_available) return std::string();
  return project;
}

Result<std::string> GoogleToken::project_within(int64_t patience_ms) {
  const int64_t until_ns = clock_.monotonic_ns() + patience_ms * kNsPerMs;
  for (DoublingPause pause_ms(kFirstPauseMs, kLongestPauseMs);;) {
    auto found = project();
    if (found || found.error().code != Code::io || clock_.monotonic_ns() >= until_ns) return found;
    if (pause_ms.attempts() == 0 && settings_.warn) settings_.warn(found.error().message());
    clock_.wait({}, std::min(until_ns, clock_.monotonic_ns() + pause_ms.next() * kNsPerMs));
  }
}

}  // namespace tacho
