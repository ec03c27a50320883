#include "net/aws_credentials.h"

#include "base/text.h"
#include "net/aws_metadata.h"
#include "net/aws_profile.h"
#include "net/environment.h"
#include "net/iso_date.h"
#include "net/s3_address.h"
#include "net/xml.h"
#include "os/clock.h"
#include "os/file.h"

namespace tacho {
namespace {

std::string setting(const AwsProfile& profile, const char* key) {
  const auto found = profile.find(key);
  return found == profile.end() ? "" : found->second;
}

Error nothing_here() { return {Code::not_available, "no AWS credentials here", "", ""}; }

Result<AwsCredentials> from_environment() {
  AwsCredentials credentials;
  credentials.access_key = environment("AWS_ACCESS_KEY_ID");
  credentials.secret_key = environment("AWS_SECRET_ACCESS_KEY");
  credentials.session_token = environment("AWS_SESSION_TOKEN");
  if (credentials.access_key.empty() && credentials.secret_key.empty()) return nothing_here();
  if (credentials.access_key.empty() || credentials.secret_key.empty()) {
    return Error{Code::invalid, "only one half of the AWS key is set", credentials.access_key.empty() ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
                 "set both variables or none"};
  }
  return credentials;
}

std::string sts_url() {
  const std::string endpoint = environment("AWS_ENDPOINT_URL_STS");
  if (!endpoint.empty()) return endpoint;
  std::string region = environment("AWS_REGION");
  if (region.empty()) region = environment("AWS_DEFAULT_REGION");
  if (!is_region(region)) return "https://sts.amazonaws.com/";
  return "https://sts." + region + (region.starts_with("cn-") ? ".amazonaws.com.cn/" : ".amazonaws.com/");
}

// AssumeRoleWithWebIdentity needs no signature: the token is the proof. It travels in the body, never in the URL.
Result<AwsCredentials> from_web_identity(HttpClient& http, const std::string& token_file, const std::string& role, const std::string& session) {
  const Result<std::string> token = read_whole_file(token_file, 64u << 10);  // read each time: it is renewed
  if (!token) return Error{Code::io, "the web identity token cannot be read", token_file, "check AWS_WEB_IDENTITY_TOKEN_FILE"};
  const std::string url = sts_url();
  if (const Status allowed = check_url(url); !allowed) return allowed.error();
  HttpRequest request;
  request.method = "POST";
  request.url = url;
  request.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
  request.body = "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=" + percent_encode(role, false) +
                 "&RoleSessionName=" + percent_encode(session.empty() ? "tacho" : session, false) +
                 "&WebIdentityToken=" + percent_encode(trim(*token), false);
  request.body_limit = 256u << 10;
  const Result<HttpResponse> answer = http.send(request);
  if (!answer) return answer.error();
  AwsCredentials credentials;
  credentials.access_key = xml_text(answer->body, "AccessKeyId");
  credentials.secret_key = xml_text(answer->body, "SecretAccessKey");
  credentials.session_token = xml_text(answer->body, "SessionToken");
  credentials.expires_realtime_ns = parse_iso_date_ns(xml_text(answer->body, "Expiration")).value_or(0);
  if (answer->status == 200 && !credentials.access_key.empty() && !credentials.secret_key.empty()) return credentials;
  const std::string code = xml_text(answer->body, "Code");
  const bool temporary = answer->status == 429 || answer->status >= 500 || answer->status == 200 || code == "IDPCommunicationError" || code == "Throttling";
  return Error{temporary ? Code::io : Code::invalid, "STS refused the web identity: status " + std::to_string(answer->status) + " " + valid_utf8(code.substr(0, 100)),
               role, "check AWS_ROLE_ARN, AWS_WEB_IDENTITY_TOKEN_FILE and the role's trust"};
}

Result<AwsCredentials> from_web_identity_variables(HttpClient& http) {
  const std::string token_file = environment("AWS_WEB_IDENTITY_TOKEN_FILE"), role = environment("AWS_ROLE_ARN");
  if (token_file.empty() || role.empty()) return nothing_here();
  return from_web_identity(http, token_file, role, environment("AWS_ROLE_SESSION_NAME"));
}

Result<AwsCredentials> from_profile(HttpClient& http) {
  const Result<AwsProfile> profile = read_aws_profile();
  if (!profile) return profile.error();
  AwsCredentials credentials;
  credentials.access_key = setting(*profile, "aws_access_key_id");
  credentials.secret_key = setting(*profile, "aws_secret_access_key");
  credentials.session_token = setting(*profile, "aws_session_token");
  if (!credentials.access_key.empty() && !credentials.secret_key.empty()) return credentials;
  const std::string token_file = setting(*profile, "web_identity_token_file"), role = setting(*profile, "role_arn");
  if (!token_file.empty() && !role.empty()) return from_web_identity(http, token_file, role, setting(*profile, "role_session_name"));
  // Asked for by name and not usable: say so, rather than go on as somebody else.
  if (!environment("AWS_PROFILE").empty()) {
    return Error{Code::invalid, "this AWS profile has no key and no web identity", environment("AWS_PROFILE"),
                 "credential_process, sso and source_profile are not supported: export the credentials as variables"};
  }
  return nothing_here();
}

}  // namespace

Result<AwsCredentials> find_aws_credentials(HttpClient& http) {
  using Source = Result<AwsCredentials> (*)(HttpClient&);
  constexpr Source kSources[] = {[](HttpClient&) { return from_environment(); }, from_web_identity_variables, from_profile, container_credentials,
                                 instance_credentials};
  for (const Source source : kSources) {
    Result<AwsCredentials> found = source(http);
    if (found) {
      found->received_monotonic_ns = system_clock().monotonic_ns();
      return found;
    }
    if (found.error().code != Code::not_available) return found;
  }
  return Error{Code::invalid, "no AWS credentials were found", "", "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give the machine a role"};
}

}  // namespace tacho
