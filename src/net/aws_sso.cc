#include "net/aws_sso.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/units.h"
#include "net/environment.h"
#include "net/iso_date.h"
#include "net/json_text.h"
#include "net/s3_address.h"
#include "net/sigv4.h"
#include "os/clock.h"
#include "os/file.h"

namespace tacho {
namespace {

constexpr size_t kTokenFileLimit = 256u << 10;

std::string portal_url(const std::string& region) {
  std::string endpoint = environment("AWS_ENDPOINT_URL_SSO");
  while (endpoint.ends_with('/')) endpoint.pop_back();
  if (!endpoint.empty()) return endpoint;
  return "https://portal.sso." + region + (region.starts_with("cn-") ? ".amazonaws.com.cn" : ".amazonaws.com");
}

Error not_signed_in(const std::string& what, const std::string& name) {
  return {Code::invalid, what, name, "run aws sso login --profile " + name};
}

Error incomplete(const std::string& missing, const std::string& name) {
  return {Code::invalid, "this AWS profile signs in by SSO, but " + missing + " is missing or wrong", name,
          "run aws configure sso --profile " + name};
}

// The file is called after the SHA-1 of the session's name, or of the start URL in the older form.
Result<SsoToken> cached_token(const std::string& key, const std::string& name) {
  const std::string path = environment("HOME") + "/.aws/sso/cache/" + hex(sha1(key)) + ".json";
  const auto text = read_whole_file(path, kTokenFileLimit);
  if (!text) return not_signed_in("nobody is signed in for this AWS profile", name);
  auto token = parse_sso_token(*text);
  if (!token) return not_signed_in("the SSO token of this AWS profile cannot be read", name);
  if (token->expires_realtime_ns <= system_clock().realtime_ns())
    return not_signed_in("the SSO token of this AWS profile has expired", name);
  return token;
}

}  // namespace

bool is_sso_profile(const AwsProfile& profile) {
  return profile.contains("sso_session") || profile.contains("sso_start_url") || profile.contains("sso_account_id") ||
         profile.contains("sso_role_name");
}

Result<SsoToken> parse_sso_token(std::string_view text) {
  const nlohmann::json object = nlohmann::json::parse(text, nullptr, false);
  SsoToken token{json_text(object, "accessToken"), 0};
  std::string expires = json_text(object, "expiresAt");
  if (expires.ends_with("UTC")) expires.replace(expires.size() - 3, 3, "Z");
  token.expires_realtime_ns = parse_iso_date_ns(expires).value_or(0);
  // It becomes a header line.
  const bool fits = token.text.find_first_of(std::string_view("\r\n\0 ", 4)) == std::string::npos;
  if (token.text.empty() || !fits || token.expires_realtime_ns == 0)
    return Error{Code::invalid, "this is no SSO token", "", "sign in again"};
  return token;
}

Result<AwsCredentials> parse_role_credentials(std::string_view text) {
  const Error bad{Code::io, "the credentials that were handed out cannot be read", "", "it is tried again"};
  const nlohmann::json object = nlohmann::json::parse(text, nullptr, false);
  if (!object.is_object() || !object.contains("roleCredentials")) return bad;
  const nlohmann::json& role = object["roleCredentials"];
  AwsCredentials credentials;
  credentials.access_key = json_text(role, "accessKeyId");
  credentials.secret_key = json_text(role, "secretAccessKey");
  credentials.session_token = json_text(role, "sessionToken");
  if (credentials.access_key.empty() || credentials.secret_key.empty()) return bad;
  constexpr int64_t kLatest_ms = INT64_MAX / kNsPerMs;
  const auto expiration = role.find("expiration");
  if (expiration != role.end() && expiration->is_number_integer() && expiration->get<int64_t>() > 0 &&
      expiration->get<int64_t>() < kLatest_ms)
    credentials.expires_realtime_ns = expiration->get<int64_t>() * kNsPerMs;
  return credentials;
}

Result<AwsCredentials> sso_credentials(HttpClient& http, const AwsProfile& profile, const std::string& name) {
  const std::string session = aws_setting(profile, "sso_session");
  const AwsProfile place = session.empty() ? profile : read_aws_config_section("sso-session " + session);
  const std::string region = aws_setting(place, "sso_region"), start_url = aws_setting(place, "sso_start_url");
  const std::string account = aws_setting(profile, "sso_account_id"), role = aws_setting(profile, "sso_role_name");
  if (place.empty()) return incomplete("the section [sso-session " + session + "]", name);
  if (start_url.empty()) return incomplete("sso_start_url", name);
  if (!is_region(region)) return incomplete("sso_region", name);
  if (account.empty()) return incomplete("sso_account_id", name);
  if (role.empty()) return incomplete("sso_role_name", name);
  const auto token = cached_token(session.empty() ? start_url : session, name);
  if (!token) return token.error();

  HttpRequest request;
  request.url = portal_url(region) + "/federation/credentials?role_name=" + percent_encode(role, false) +
                "&account_id=" + percent_encode(account, false);
  if (const Status allowed = check_url(request.url); !allowed) return allowed.error();
  request.headers = {{"x-amz-sso_bearer_token", token->text}, {"Accept", "application/json"}};
  request.body_limit = 256u << 10;
  const Result<HttpResponse> answer = http.send(request);
  if (!answer) return answer.error();
  if (answer->status == 200) return parse_role_credentials(answer->body);
  if (answer->status == 401) return not_signed_in("the SSO token of this AWS profile is not accepted any more", name);
  const bool temporary = answer->status == 429 || answer->status >= 500;
  return Error{
      temporary ? Code::io : Code::invalid,
      "SSO refused the role " + role + " of the account " + account + ": status " + std::to_string(answer->status),
      name, "check sso_role_name and sso_account_id"};
}

}  // namespace tacho
