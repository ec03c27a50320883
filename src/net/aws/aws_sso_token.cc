#include "net/aws/aws_sso_token.h"

#include <nlohmann/json.hpp>

#include "base/json_bounds.h"
#include "base/time_text.h"
#include "base/units.h"
#include "net/aws/aws_partition.h"
#include "net/http/digest.h"
#include "net/http/json_text.h"
#include "net/http/retry.h"
#include "os/clock.h"
#include "os/environment.h"
#include "os/file.h"

namespace tacho {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kTokenFileLimit = 256u << 10;
constexpr int64_t kRenewBefore_ns = 300 * kNsPerSec;
constexpr int64_t kLongestLife_s = 366 * 86400;

int64_t time_of(const Json& object, const char* key) {
  std::string text = json_text(object, key);
  if (text.ends_with("UTC")) text.replace(text.size() - 3, 3, "Z");
  return parse_iso_date_ns(text).value_or(0);
}

// It becomes a header line.
bool fits_a_header(std::string_view text) { return text.find_first_of(std::string_view("\r\n\0 ", 4)) == text.npos; }

// Writes the new token back and returns it.
Result<SsoToken> renew(HttpClient& http, const SsoToken& old, const std::string& cached, const std::string& path,
                       const SsoSignIn& sign_in) {
  HttpRequest request;
  request.method = "POST";
  request.url = sso_service_url("AWS_ENDPOINT_URL_SSO_OIDC", "oidc", sign_in.region) + "/token";
  if (const Status allowed = check_url(request.url); !allowed) return allowed.error();
  request.headers = {{"Content-Type", "application/json"}, {"Accept", "application/json"}};
  request.body = Json{{"clientId", old.client_id},
                      {"clientSecret", old.client_secret},
                      {"grantType", "refresh_token"},
                      {"refreshToken", old.refresh_token}}
                     .dump(-1, ' ', false, Json::error_handler_t::replace);
  request.body_limit = kTokenFileLimit;
  const Result<HttpResponse> answer = http.send(request);
  if (!answer) return answer.error();
  if (is_temporary_status(answer->status))
    return Error{Code::io, "the SSO token cannot be renewed: status " + std::to_string(answer->status), sign_in.profile,
                 "it is tried again"};
  const int64_t now_ns = system_clock().realtime_ns();
  const std::string renewed = answer->status == 200 ? renewed_sso_token(cached, answer->body, now_ns) : "";
  // A page of somebody in between is no word about the sign-in.
  if (renewed.empty() && answer->status / 100 == 2)
    return Error{Code::io, "the SSO token cannot be renewed: the answer makes no sense", sign_in.profile,
                 "it is tried again"};
  if (renewed.empty()) return not_signed_in("the SSO sign-in of this AWS profile has ended", sign_in.profile);
  // A home that is read-only keeps the old one; this process has the new one.
  static_cast<void>(write_file_atomically(path, renewed, false, 0600));
  return parse_sso_token(renewed, now_ns);
}

}  // namespace

Error not_signed_in(const std::string& what, const std::string& profile) {
  return {Code::invalid, what, profile, "run aws sso login --profile " + profile};
}

std::string sso_service_url(const char* variable, const std::string& name, const std::string& region) {
  std::string endpoint = environment(variable);
  while (endpoint.ends_with('/')) endpoint.pop_back();
  if (!endpoint.empty()) return endpoint;
  return "https://" + name + "." + region + "." + std::string(aws_domain(region));
}

Result<SsoToken> parse_sso_token(std::string_view text, int64_t now_ns) {
  const Json object = parse_bounded<Json>(text);
  SsoToken token;
  token.text = json_text(object, "accessToken");
  token.expires_realtime_ns = time_of(object, "expiresAt");
  if (token.text.empty() || !fits_a_header(token.text) || token.expires_realtime_ns == 0)
    return Error{Code::invalid, "this is no SSO token", "", "sign in again"};
  const std::string refresh = json_text(object, "refreshToken"), id = json_text(object, "clientId"),
                    secret = json_text(object, "clientSecret");
  const bool can_be_renewed = !refresh.empty() && !id.empty() && !secret.empty();
  if (can_be_renewed && time_of(object, "registrationExpiresAt") > now_ns)
    token.refresh_token = refresh, token.client_id = id, token.client_secret = secret;
  return token;
}

std::string renewed_sso_token(std::string_view cached, std::string_view answer, int64_t now_ns) {
  Json object = parse_bounded<Json>(cached);
  const Json given = parse_bounded<Json>(answer);
  const std::string token = json_text(given, "accessToken"), refresh = json_text(given, "refreshToken");
  if (!object.is_object() || token.empty() || !fits_a_header(token)) return {};
  const auto life = given.find("expiresIn");
  if (life == given.end() || !life->is_number_integer()) return {};
  const int64_t life_s = life->get<int64_t>();
  if (life_s <= 0 || life_s > kLongestLife_s) return {};
  object["accessToken"] = token;
  object["expiresAt"] = format_seconds(now_ns + life_s * kNsPerSec);
  if (!refresh.empty()) object["refreshToken"] = refresh;
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<SsoToken> sso_token(HttpClient& http, const SsoSignIn& sign_in) {
  const std::string& key = sign_in.session.empty() ? sign_in.start_url : sign_in.session;
  const std::string path = environment("HOME") + "/.aws/sso/cache/" + hex(sha1(key)) + ".json";
  const auto text = read_whole_file(path, kTokenFileLimit);
  if (!text) return not_signed_in("nobody is signed in for this AWS profile", sign_in.profile);
  const int64_t now_ns = system_clock().realtime_ns();
  auto token = parse_sso_token(*text, now_ns);
  if (!token) return not_signed_in("the SSO token of this AWS profile cannot be read", sign_in.profile);
  const int64_t left_ns = token->expires_realtime_ns - now_ns;
  if (left_ns > kRenewBefore_ns) return token;
  const bool can_be_renewed = !sign_in.session.empty() && !token->refresh_token.empty();
  if (can_be_renewed) {
    auto renewed = renew(http, *token, *text, path, sign_in);
    if (renewed || left_ns <= 0) return renewed;
  }
  if (left_ns <= 0) return not_signed_in("the SSO token of this AWS profile has expired", sign_in.profile);
  return token;
}

}  // namespace tacho
