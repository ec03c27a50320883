#include "net/aws/aws_metadata.h"

#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/json_bounds.h"
#include "base/text.h"
#include "base/time_text.h"
#include "net/http/aws_metadata_place.h"
#include "net/http/retry.h"
#include "os/file.h"
#include "os/metadata_off.h"

namespace tacho {
namespace {

constexpr const char* kContainerBase = "http://169.254.170.2";
constexpr std::array<std::string_view, 3> kContainerHosts = {"169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"};
constexpr const char* kRolePath = "/latest/meta-data/iam/security-credentials/";

std::string text_of(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

HttpRequest local_request(const char* method, const std::string& url) {
  HttpRequest request;
  request.method = method;
  request.url = url;
  request.use_proxy = false;
  request.connect_ms = 1'000;
  request.response_ms = 2'000;
  request.total_ms = 4'000;
  request.body_limit = 64u << 10;
  return request;
}

struct Heard {
  int status = 0;        // 0: no answer
  std::string body;      // trimmed
  bool reached = false;  // somebody took the request
  std::optional<Error> cancelled;
};

Heard ask(HttpClient& http, const HttpRequest& request) {
  const Result<HttpResponse> answer = http.send(request);
  if (answer) return {answer->status, std::string(trim(answer->body)), true, {}};
  const bool cancelled = answer.error().code == Code::gone;
  return {0, "", http.sent(), cancelled ? std::optional(answer.error()) : std::nullopt};
}

Error not_now(const Heard& heard) {
  if (heard.cancelled) return *heard.cancelled;
  return {Code::io,
          heard.status == 0 ? "the instance's metadata service does not answer"
                            : "the instance's metadata service answered " + std::to_string(heard.status),
          "", "it is tried again"};
}

// Where the firmware says that this is Amazon's machine, a service that does not answer is only late.
bool is_amazon_machine() {
  const std::string sys = Roots::from_environment().sys;
  const auto line = [&](const char* name) { return lower(read_first_line(sys + name)); };
  return line("/class/dmi/id/sys_vendor") == "amazon ec2" ||
         line("/class/dmi/id/bios_version").find("amazon") != std::string::npos ||
         line("/hypervisor/uuid").starts_with("ec2");
}

std::string instance_base() {
  for (const char* name : {"TACHO_IMDS_AWS_URL", "TACHO_IMDS_URL", kAwsMetadataVariable}) {
    std::string base = environment(name);
    while (base.ends_with('/')) base.pop_back();
    if (!base.empty()) return base;
  }
  return std::string(aws_metadata_by_ipv6() ? kAwsMetadataIpv6 : kAwsMetadata);
}

}  // namespace

Result<AwsCredentials> parse_aws_credentials_json(std::string_view text) {
  const Error bad{Code::io, "the credentials that were handed out cannot be read", "", "it is tried again"};
  const nlohmann::json object = parse_bounded<nlohmann::json>(text);
  if (!object.is_object()) return bad;
  const std::string code = text_of(object, "Code");
  // {"Code":"AssumeRoleUnauthorizedAccess","Message":"EC2 cannot assume the role …"}
  if (!code.empty() && code != "Success") {
    return Error{Code::io, "no credentials were handed out: " + valid_utf8(code.substr(0, 100)), "",
                 "check the role of the machine or task; it is tried again"};
  }
  AwsCredentials credentials;
  credentials.access_key = text_of(object, "AccessKeyId");
  credentials.secret_key = text_of(object, "SecretAccessKey");
  credentials.session_token = text_of(object, "Token");
  credentials.expires_realtime_ns = parse_iso_date_ns(text_of(object, "Expiration")).value_or(0);
  if (credentials.access_key.empty() || credentials.secret_key.empty()) return bad;
  return credentials;
}

Result<std::string> container_credentials_url() {
  const std::string relative = environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  if (!relative.empty()) {
    if (relative.front() == '/') return kContainerBase + relative;
    return Error{Code::invalid, "this is not a path", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
                 "it begins with a slash"};
  }
  const std::string full = environment("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (full.empty()) return std::string();
  const Result<Url> url = parse_url(full);
  if (!url) return url.error();
  if (url->scheme == "https" || is_loopback(*url)) return full;
  for (const std::string_view host : kContainerHosts) {
    if (url->host == host) return full;
  }
  return Error{Code::invalid, "plain http is refused here, because a secret would travel in the clear",
               "AWS_CONTAINER_CREDENTIALS_FULL_URI", "use https"};
}

Result<AwsCredentials> container_credentials(HttpClient& http) {
  const Result<std::string> url = container_credentials_url();
  if (!url) return url.error();
  if (url->empty()) return Error{Code::not_available, "no container credentials", "", ""};
  HttpRequest request = local_request("GET", *url);
  std::string token = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (const std::string path = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); !path.empty()) {
    const Result<std::string> text = read_whole_file(path, 64u << 10);  // read each time: it is renewed
    if (!text)
      return Error{Code::io, "the token file cannot be read", path, "check AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"};
    token = trim(*text);
  }
  if (!token.empty()) request.headers.emplace_back("Authorization", token);
  const Result<HttpResponse> answer = http.send(request);
  if (!answer) return answer.error();
  if (is_temporary_status(answer->status))
    return Error{Code::io, "the container's credentials service answered " + std::to_string(answer->status), "",
                 "it is tried again"};
  if (answer->status != 200) {
    return Error{Code::io, "the container's credentials were refused with status " + std::to_string(answer->status), "",
                 "check the task's role"};
  }
  return parse_aws_credentials_json(answer->body);
}

Result<AwsCredentials> instance_credentials(HttpClient& http) {
  const Error none{Code::not_available, "no instance role", "", ""};
  if (environment_on("AWS_EC2_METADATA_DISABLED") || metadata_is_off()) return none;
  const std::string base = instance_base();
  HttpRequest token_request = local_request("PUT", base + "/latest/api/token");
  token_request.headers = {{"X-aws-ec2-metadata-token-ttl-seconds", "21600"}};
  token_request.response_ms = 1'000;  // in a container the answer may be swallowed (hop limit 1): then v1 is asked
  const Heard session = ask(http, token_request);
  const bool has_session = session.status == 200 && !session.body.empty();
  const auto get = [&](const std::string& path) {
    HttpRequest request = local_request("GET", base + path);
    if (has_session) request.headers = {{"X-aws-ec2-metadata-token", session.body}};
    return ask(http, request);
  };
  const Heard roles = get(kRolePath);
  const bool session_failed = session.status == 0 ? session.reached : is_temporary_status(session.status);
  if (roles.cancelled || (roles.status != 0 && is_temporary_status(roles.status))) return not_now(roles);
  // Nobody at all is a machine elsewhere; somebody who breaks off is a service in trouble.
  if (roles.status == 0) return roles.reached || session.status != 0 || is_amazon_machine() ? not_now(roles) : none;
  // Wants a session, and that was not to be had; or does not take the one that it gave.
  if (roles.status == 401 && (session_failed || has_session)) return not_now(session_failed ? session : roles);
  const std::string role(trim(std::string_view(roles.body).substr(0, roles.body.find('\n'))));
  if (roles.status != 200 || role.empty()) return session_failed ? Result<AwsCredentials>(not_now(session)) : none;
  // Other clouds answer on this address too, some of them with a web page.
  if (role.find_first_of("<> {}") != std::string::npos) return none;
  // A role that was there a moment ago is not gone because this question fails.
  const Heard given = get(kRolePath + percent_encode(role, false));
  if (given.status != 200) return not_now(given);
  return parse_aws_credentials_json(given.body);
}

}  // namespace tacho
