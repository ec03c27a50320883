#include "net/aws/aws_sts.h"

#include "base/text.h"
#include "base/time_text.h"
#include "net/aws/aws_partition.h"
#include "net/aws/aws_profile.h"
#include "net/aws/s3_address.h"
#include "net/aws/sigv4.h"
#include "net/aws/xml.h"
#include "net/http/digest.h"
#include "net/http/retry.h"
#include "net/http/url.h"
#include "os/clock.h"
#include "os/environment.h"
#include "os/file.h"

namespace tacho {
namespace {

constexpr const char* kFormType = "application/x-www-form-urlencoded";
constexpr const char* kPublicRegion = "us-east-1";  // what sts.amazonaws.com without a region counts as

// Empty: the public partition's own address.
std::string sts_region(const AwsRole& role) {
  for (const std::string& region : {aws_region_variable(), role.region})
    if (is_region(region)) return region;
  return std::string(aws_home_region(role.arn));
}

std::string form(const char* action, const AwsRole& role) {
  std::string text = std::string("Action=")
                         .append(action)
                         .append("&Version=2011-06-15&RoleArn=")
                         .append(percent_encode(role.arn, false));
  text.append("&RoleSessionName=")
      .append(percent_encode(role.session_name.empty() ? "tacho" : role.session_name, false));
  if (!role.duration_seconds.empty())
    text.append("&DurationSeconds=").append(percent_encode(role.duration_seconds, false));
  return text;
}

// <Credentials><AccessKeyId>…</AccessKeyId><SecretAccessKey>…</SecretAccessKey><SessionToken>…</SessionToken><Expiration>…
Result<AwsCredentials> ask(HttpClient& http, HttpRequest& request, const AwsRole& role, const char* hint) {
  request.method = "POST";
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
  const bool temporary = is_temporary_status(answer->status) || answer->status == 200 ||
                         code == "IDPCommunicationError" || code == "Throttling";
  return Error{temporary ? Code::io : Code::invalid,
               "STS refused the role: status " + std::to_string(answer->status) + " " + valid_utf8(code.substr(0, 100)),
               role.arn, hint};
}

}  // namespace

std::string aws_region_variable() {
  const std::string region = environment("AWS_REGION");
  return region.empty() ? environment("AWS_DEFAULT_REGION") : region;
}

std::string sts_url(const AwsRole& role) {
  const std::string endpoint = aws_endpoint("AWS_ENDPOINT_URL_STS");
  if (!endpoint.empty()) return endpoint;
  const std::string region = sts_region(role);
  if (region.empty()) return "https://sts.amazonaws.com/";
  return "https://sts." + region + "." + std::string(aws_domain(region)) + "/";
}

// Needs no signature: the token is the proof. It travels in the body, never in the URL.
Result<AwsCredentials> assume_role_with_web_identity(HttpClient& http, const std::string& token_file,
                                                     const AwsRole& role) {
  const Result<std::string> token = read_whole_file(token_file, 64u << 10);  // read each time: it is renewed
  if (!token)
    return Error{Code::io, "the web identity token cannot be read", token_file, "check AWS_WEB_IDENTITY_TOKEN_FILE"};
  HttpRequest request;
  request.url = sts_url(role);
  if (const Status allowed = check_url(request.url); !allowed) return allowed.error();
  request.headers = {{"Content-Type", kFormType}};
  request.body = form("AssumeRoleWithWebIdentity", role) + "&WebIdentityToken=" + percent_encode(trim(*token), false);
  return ask(http, request, role, "check AWS_ROLE_ARN, AWS_WEB_IDENTITY_TOKEN_FILE and the role's trust");
}

Result<AwsCredentials> assume_role(HttpClient& http, const AwsCredentials& own, const AwsRole& role) {
  HttpRequest request;
  request.url = sts_url(role);
  if (const Status allowed = check_url(request.url); !allowed) return allowed.error();
  const Result<Url> url = parse_url(request.url);
  if (!url) return url.error();
  request.body = form("AssumeRole", role);
  if (!role.external_id.empty()) request.body += "&ExternalId=" + percent_encode(role.external_id, false);

  const std::string region = sts_region(role);
  const SigV4Scope scope{sigv4_time(system_clock().realtime_ns()), region.empty() ? kPublicRegion : region, "sts"};
  const std::string payload_hash = hex(sha256(request.body));
  Headers headers = {{"Content-Type", kFormType}, {"x-amz-content-sha256", payload_hash}, {"x-amz-date", scope.time}};
  if (!own.session_token.empty()) headers.emplace_back("x-amz-security-token", own.session_token);
  Headers to_sign = headers;
  to_sign.emplace_back("host", url->host_header());
  const std::string path = url->path.empty() ? "/" : url->path;
  headers.emplace_back("Authorization", authorization({"POST", path, url->query, to_sign, payload_hash}, scope,
                                                      own.access_key, own.secret_key));
  request.headers = std::move(headers);
  return ask(http, request, role, "check role_arn and source_profile, and that the role trusts these keys");
}

}  // namespace tacho
