#include "net/aws_metadata.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "net/environment.h"
#include "net/iso_date.h"
#include "os/file.h"

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

// The body of a 200, trimmed; nothing when there is none; an Error when there may be one next time.
Result<std::string> fetch(HttpClient& http, const HttpRequest& request) {
  const Result<HttpResponse> answer = http.send(request);
  if (!answer) return std::string();
  if (answer->status == 429 || answer->status >= 500)
    return Error{Code::io, "the instance's metadata service answered " + std::to_string(answer->status), "", "it is tried again"};
  return answer->status == 200 ? std::string(trim(answer->body)) : std::string();
}

std::string instance_base() {
  for (const char* name : {"TACHO_IMDS_AWS_URL", "TACHO_IMDS_URL", "AWS_EC2_METADATA_SERVICE_ENDPOINT"}) {
    std::string base = environment(name);
    while (base.ends_with('/')) base.pop_back();
    if (!base.empty()) return base;
  }
  return lower(environment("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE")) == "ipv6" ? "http://[fd00:ec2::254]" : "http://169.254.169.254";
}

}  // namespace

Result<AwsCredentials> parse_aws_credentials_json(std::string_view text) {
  const Error bad{Code::io, "the credentials that were handed out cannot be read", "", "it is tried again"};
  const nlohmann::json object = nlohmann::json::parse(text, nullptr, false);
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
    return Error{Code::invalid, "this is not a path", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "it begins with a slash"};
  }
  const std::string full = environment("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (full.empty()) return std::string();
  const Result<Url> url = parse_url(full);
  if (!url) return url.error();
  if (url->scheme == "https" || is_loopback(*url)) return full;
  for (const std::string_view host : kContainerHosts) {
    if (url->host == host) return full;
  }
  return Error{Code::invalid, "plain http is refused here, because a secret would travel in the clear", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "use https"};
}

Result<AwsCredentials> container_credentials(HttpClient& http) {
  const Result<std::string> url = container_credentials_url();
  if (!url) return url.error();
  if (url->empty()) return Error{Code::not_available, "no container credentials", "", ""};
  HttpRequest request = local_request("GET", *url);
  std::string token = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (const std::string path = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); !path.empty()) {
    const Result<std::string> text = read_whole_file(path, 64u << 10);  // read each time: it is renewed
    if (!text) return Error{Code::io, "the token file cannot be read", path, "check AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"};
    token = trim(*text);
  }
  if (!token.empty()) request.headers.emplace_back("Authorization", token);
  const Result<HttpResponse> answer = http.send(request);
  if (!answer) return answer.error();
  if (answer->status != 200) {
    return Error{Code::io, "the container's credentials were refused with status " + std::to_string(answer->status), "", "check the task's role"};
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
  const Result<std::string> session = fetch(http, token_request);
  const std::string token = session.value_or("");
  const auto ask = [&](const std::string& path) {
    HttpRequest request = local_request("GET", base + path);
    if (!token.empty()) request.headers = {{"X-aws-ec2-metadata-token", token}};
    return fetch(http, request);
  };
  const Result<std::string> roles = ask(kRolePath);
  if (!roles) return roles.error();
  const std::string role(trim(std::string_view(*roles).substr(0, roles->find('\n'))));
  if (role.empty() && !session) return session.error();
  // Other clouds answer on this address too, some of them with a web page.
  if (role.empty() || role.find_first_of("<> {}") != std::string::npos) return none;
  const Result<std::string> given = ask(kRolePath + percent_encode(role, false));
  if (!given) return given.error();
  return parse_aws_credentials_json(*given);
}

}  // namespace tacho
