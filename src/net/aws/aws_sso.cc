#include "net/aws/aws_sso.h"

#include <nlohmann/json.hpp>

#include "base/json_bounds.h"
#include "base/units.h"
#include "net/aws/aws_sso_token.h"
#include "net/aws/s3_address.h"
#include "net/http/json_text.h"
#include "net/http/retry.h"

namespace tacho {
namespace {

Error incomplete(const std::string& missing, const std::string& name) {
  return {Code::invalid, "this AWS profile signs in by SSO, but " + missing + " is missing or wrong", name,
          "run aws configure sso --profile " + name};
}

}  // namespace

bool is_sso_profile(const AwsProfile& profile) {
  return profile.contains("sso_session") || profile.contains("sso_start_url") || profile.contains("sso_account_id") ||
         profile.contains("sso_role_name");
}

Result<AwsCredentials> parse_role_credentials(std::string_view text) {
  const Error bad{Code::io, "the credentials that were handed out cannot be read", "", "it is tried again"};
  const nlohmann::json object = parse_bounded<nlohmann::json>(text);
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
  const auto token = sso_token(http, {session, start_url, region, name});
  if (!token) return token.error();

  HttpRequest request;
  request.url = sso_service_url("AWS_ENDPOINT_URL_SSO", "portal.sso", region) +
                "/federation/credentials?role_name=" + percent_encode(role, false) +
                "&account_id=" + percent_encode(account, false);
  if (const Status allowed = check_url(request.url); !allowed) return allowed.error();
  request.headers = {{"x-amz-sso_bearer_token", token->text}, {"Accept", "application/json"}};
  request.body_limit = 256u << 10;
  const Result<HttpResponse> answer = http.send(request);
  if (!answer) return answer.error();
  if (answer->status == 200) return parse_role_credentials(answer->body);
  if (answer->status == 401) return not_signed_in("the SSO token of this AWS profile is not accepted any more", name);
  const bool temporary = is_temporary_status(answer->status);
  return Error{
      temporary ? Code::io : Code::invalid,
      "SSO refused the role " + role + " of the account " + account + ": status " + std::to_string(answer->status),
      name, "check sso_role_name and sso_account_id"};
}

}  // namespace tacho
