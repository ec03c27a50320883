#include "kube/webhook/registry.h"

#include <openssl/evp.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/units.h"
#include "kube/api/object.h"
#include "kube/webhook/certificates.h"
#include "os/clock.h"

namespace tacho {
namespace {

constexpr size_t kAnswerLimit = 8u << 20;
constexpr const char* kManifests =
    "application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json, "
    "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json";
#if defined(__aarch64__)
constexpr const char* kArchitecture = "arm64";
#else
constexpr const char* kArchitecture = "amd64";
#endif

Error refuse(const std::string& what, const ImageReference& image) {
  return {Code::io, what, image.registry + "/" + image.repository,
          "set command in the trial template; then nobody has to ask"};
}

std::string sha256_of(std::string_view text) {
  unsigned char sum[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (EVP_Digest(text.data(), text.size(), sum, &size, EVP_sha256(), nullptr) != 1) return "";
  std::string out = "sha256:";
  for (unsigned int i = 0; i < size; i++) {
    out += "0123456789abcdef"[sum[i] >> 4];
    out += "0123456789abcdef"[sum[i] & 15];
  }
  return out;
}

std::vector<std::string> list_at(const Json& from, const char* key) {
  std::vector<std::string> out;
  const Json* list = find(from, {"config", key});
  if (list == nullptr || !list->is_array()) return out;
  for (const Json& word : *list) {
    if (word.is_string()) out.push_back(word.get<std::string>());
  }
  return out;
}

// The digest for Linux on this machine's architecture in an index; the first for Linux when that is not in it.
std::string choose_platform(const Json& index) {
  std::string linux_one;
  const Json* list = find(index, {"manifests"});
  if (list == nullptr || !list->is_array()) return "";
  for (const Json& one : *list) {
    if (text_at(one, {"platform", "os"}) != "linux") continue;
    const std::string digest = text_at(one, {"digest"});
    if (text_at(one, {"platform", "architecture"}) == kArchitecture) return digest;
    if (linux_one.empty()) linux_one = digest;
  }
  return linux_one;
}

}  // namespace

std::map<std::string, RegistryLogin> parse_docker_config(std::string_view json) {
  std::map<std::string, RegistryLogin> out;
  const std::optional<Json> parsed = parse_json(json);
  const Json* auths = parsed ? find(*parsed, {"auths"}) : nullptr;
  if (auths == nullptr || !auths->is_object()) return out;
  for (const auto& [host, entry] : auths->items()) {
    RegistryLogin login{text_at(entry, {"username"}), text_at(entry, {"password"})};
    const std::string both = from_base64(text_at(entry, {"auth"}));
    if (const size_t colon = both.find(':'); login.user.empty() && colon != std::string::npos)
      login = {both.substr(0, colon), both.substr(colon + 1)};
    if (login.user.empty()) continue;
    // "https://index.docker.io/v1/" is how older tools name Docker Hub.
    std::string name = host;
    for (const char* scheme : {"https://", "http://"}) {
      if (name.starts_with(scheme)) name = name.substr(std::string_view(scheme).size());
    }
    name = name.substr(0, name.find('/'));
    out[name == "index.docker.io" || name == "registry-1.docker.io" ? "docker.io" : name] = std::move(login);
  }
  return out;
}

const RegistryLogin* find_login(const std::map<std::string, RegistryLogin>& logins, const ImageReference& image) {
  const auto found = logins.find(image.auth_name);
  return found == logins.end() ? nullptr : &found->second;
}

Challenge parse_challenge(std::string_view header) {
  Challenge out;
  header = trim(header);
  const size_t blank = header.find(' ');
  out.scheme = lower(header.substr(0, blank));
  if (blank == std::string_view::npos) return out;
  std::string_view rest = header.substr(blank + 1);
  while (true) {
    rest = rest.substr(std::min(rest.find_first_not_of(" ,\t"), rest.size()));
    const size_t equals = rest.find('=');
    if (rest.empty() || equals == std::string_view::npos) return out;
    const std::string key = lower(trim(rest.substr(0, equals)));
    rest = rest.substr(equals + 1);
    std::string value;
    if (!rest.empty() && rest.front() == '"') {
      size_t at = 1;
      for (; at < rest.size() && rest[at] != '"'; at++) {
        if (rest[at] == '\\' && at + 1 < rest.size()) at++;
        value += rest[at];
      }
      rest = rest.substr(std::min(at + 1, rest.size()));
    } else {
      const size_t end = std::min(rest.find(','), rest.size());
      value = trim(rest.substr(0, end));
      rest = rest.substr(end);
    }
    out.values[key] = value;
  }
}

Registry::Registry(std::vector<std::string> plain, std::function<bool()> cancelled) : plain_(std::move(plain)) {
  http_.on_cancel(std::move(cancelled));
}

Result<HttpResponse> Registry::send(const std::string& url, const std::string& accept,
                                    const std::string& authorization) {
  if (Status good = check_url(url); !good) return good.error();
  HttpRequest request;
  request.url = url;
  request.body_limit = kAnswerLimit;
  const int64_t left_ms = (deadline_ns_ - system_clock().monotonic_ns()) / kNsPerMs;
  if (left_ms <= 0) {
    silent_ = true;
    return Error{Code::io, "the registry did not answer in time", "", "it is asked again later"};
  }
  request.connect_ms = std::min<int64_t>(left_ms, 5'000);
  request.total_ms = std::min<int64_t>(left_ms, 20'000);
  if (!accept.empty()) request.headers.emplace_back("Accept", accept);
  if (!authorization.empty()) request.headers.emplace_back("Authorization", authorization);
  Result<HttpResponse> answer = http_.send(request);
  if (!answer && answer.error().code == Code::io) silent_ = true;
  return answer;
}

Status Registry::log_in(const Challenge& challenge, const ImageReference& image) {
  const std::string basic = login_ == nullptr ? "" : "Basic " + to_base64(login_->user + ":" + login_->password);
  if (challenge.scheme == "basic") {
    if (basic.empty() || authorization_ == basic) return refuse("the registry wants a login", image);
    authorization_ = basic;
    return ok();
  }
  const auto realm = challenge.values.find("realm");
  if (challenge.scheme != "bearer" || realm == challenge.values.end())
    return refuse("the registry wants a kind of login that is not known", image);
  // A login in plain text is for registries that are spoken to in plain text anyway.
  if (!realm->second.starts_with("https://") && std::find(plain_.begin(), plain_.end(), image.registry) == plain_.end())
    return refuse("the registry wants the login sent without TLS", image);
  const auto service = challenge.values.find("service");
  std::string url = realm->second + (realm->second.find('?') == std::string::npos ? "?" : "&") +
                    "scope=" + percent_encode("repository:" + image.repository + ":pull", false);
  if (service != challenge.values.end()) url += "&service=" + percent_encode(service->second, false);
  Result<HttpResponse> answer = send(url, "application/json", basic);
  if (!answer) return answer.error();
  const std::optional<Json> parsed = answer->status == 200 ? parse_json(answer->body) : std::nullopt;
  std::string token = parsed ? text_at(*parsed, {"token"}) : "";
  if (parsed && token.empty()) token = text_at(*parsed, {"access_token"});
  if (token.empty()) return refuse("the registry gave no token (status " + std::to_string(answer->status) + ")", image);
  authorization_ = "Bearer " + token;
  return ok();
}

Result<std::string> Registry::get(const ImageReference& image, const std::string& path, const std::string& accept,
                                  const std::string& digest) {
  const bool plain = std::find(plain_.begin(), plain_.end(), image.registry) != plain_.end();
  std::string url = (plain ? "http://" : "https://") + image.registry + "/v2/" + image.repository + path;
  for (int attempt = 0; attempt < 3; attempt++) {
    Result<HttpResponse> answer = send(url, accept, authorization_);
    if (!answer) return answer.error();
    if (answer->status == 401 && attempt < 2) {
      if (Status done = log_in(parse_challenge(answer->header("www-authenticate")), image); !done) return done.error();
      continue;
    }
    // Blobs may lie elsewhere; our login is not for that place.
    for (int hop = 0;
         hop < 3 && (answer->status == 307 || answer->status == 302 || answer->status == 301 || answer->status == 308);
         hop++) {
      std::string next(answer->header("location"));
      if (next.starts_with("/")) next = (plain ? "http://" : "https://") + image.registry + next;
      if (!plain && !next.starts_with("https://")) return refuse("the registry led to a place without TLS", image);
      answer = send(next, accept, "");
      if (!answer) return answer.error();
    }
    if (answer->status != 200) return refuse("the registry answered " + std::to_string(answer->status), image);
    if (!digest.empty() && digest.starts_with("sha256:") && sha256_of(answer->body) != digest)
      return refuse("the registry sent something else than was asked for", image);
    return std::move(answer->body);
  }
  return refuse("the registry refused the login", image);
}

Result<ImageCommand> Registry::read(const ImageReference& image, const RegistryLogin* login) {
  login_ = login;
  authorization_.clear();
  silent_ = false;
  deadline_ns_ = system_clock().monotonic_ns() + kLimitMs * kNsPerMs;
  std::string version = image.version(), digest = image.digest;
  for (int step = 0; step < 2; step++) {
    Result<std::string> text = get(image, "/manifests/" + version, kManifests, digest);
    if (!text) return text.error();
    const std::optional<Json> manifest = parse_json(*text);
    if (!manifest || !manifest->is_object()) return refuse("the registry's manifest is no JSON", image);
    if (find(*manifest, {"manifests"}) != nullptr && step == 0) {
      version = digest = choose_platform(*manifest);
      if (digest.empty()) return refuse("the image is not for Linux", image);
      continue;
    }
    const std::string config = text_at(*manifest, {"config", "digest"});
    if (config.empty() || config.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789:") != std::string::npos)
      return refuse("the registry's manifest names no configuration", image);
    Result<std::string> blob = get(image, "/blobs/" + config, "", config);
    if (!blob) return blob.error();
    const std::optional<Json> parsed = parse_json(*blob);
    if (!parsed || !parsed->is_object()) return refuse("the image's configuration is no JSON", image);
    return ImageCommand{list_at(*parsed, "Entrypoint"), list_at(*parsed, "Cmd")};
  }
  return refuse("the registry's index leads nowhere", image);
}

}  // namespace tacho
