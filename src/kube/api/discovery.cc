#include "kube/api/discovery.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "kube/api/object.h"
#include "os/clock.h"

namespace tacho {
namespace {

constexpr size_t kGroups = 256;  // an object may name any as its owner's
constexpr int64_t kKeepNs = 600 * kNsPerSec, kAskAgainNs = 5 * kNsPerSec;

// {"kind":"APIResourceList","resources":[{"name":"jobs","kind":"Job","namespaced":true},{"name":"jobs/status",…}]}
// Nothing for anything else: a kind is unknown only where a list says so.
std::optional<std::map<std::string, ApiResource>> read_kinds(std::string_view body) {
  std::map<std::string, ApiResource> kinds;
  const std::optional<Json> list = parse_json(body);
  if (!list || text_at(*list, {"kind"}) != "APIResourceList") return std::nullopt;
  const Json* resources = find(*list, {"resources"});
  if (resources == nullptr || !resources->is_array()) return kinds;
  for (const Json& entry : *resources) {
    const std::string name = text_at(entry, {"name"});
    const Json* namespaced = find(entry, {"namespaced"});
    if (name.empty() || name.find('/') != std::string::npos) continue;
    kinds.try_emplace(text_at(entry, {"kind"}),
                      ApiResource{name, namespaced == nullptr || !namespaced->is_boolean() || namespaced->get<bool>()});
  }
  return kinds;
}

// "v1", "kubeflow.org/v1beta1": what is part of a path must not be a path of its own.
bool is_api_version(std::string_view text) {
  const size_t slash = text.find('/');
  const auto fits = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
  };
  const std::string_view group = slash == std::string_view::npos ? "v" : text.substr(0, slash);
  const std::string_view version = slash == std::string_view::npos ? text : text.substr(slash + 1);
  return !group.empty() && group[0] != '.' && !version.empty() && version[0] != '.' &&
         std::all_of(group.begin(), group.end(), fits) && std::all_of(version.begin(), version.end(), fits);
}

Error unknown(const std::string& api_version, const std::string& kind) {
  return {Code::not_available, "the API server knows no such kind", kind + " of " + api_version, "install its CRD"};
}

}  // namespace

Result<ApiResource> Discovery::find(ApiClient& client, const std::string& api_version, const std::string& kind) {
  return ask(client, api_version, kind, ApiRequest{});
}

Result<ApiResource> Discovery::find_now(ApiClient& client, const std::string& api_version, const std::string& kind,
                                        int64_t total_ms) {
  ApiRequest request;
  request.total_ms = total_ms;
  request.wait_ms = 0;
  request.urgent = true;
  return ask(client, api_version, kind, std::move(request));
}

Result<ApiResource> Discovery::ask(ApiClient& client, const std::string& api_version, const std::string& kind,
                                   ApiRequest request) {
  if (!is_api_version(api_version)) return unknown(api_version, kind);
  const int64_t now_ns = system_clock().monotonic_ns();
  {
    const std::lock_guard lock(mutex_);
    if (const auto group = groups_.find(api_version); group != groups_.end()) {
      const auto found = group->second.kinds.find(kind);
      const int64_t age_ns = now_ns - group->second.read_ns;
      if (found != group->second.kinds.end() && age_ns < kKeepNs) return found->second;
      if (found == group->second.kinds.end() && age_ns < kAskAgainNs) return unknown(api_version, kind);
    }
  }
  request.path = (api_version.find('/') == std::string::npos ? "/api/" : "/apis/") + api_version;
  const ApiAnswer answer = client.send(request);
  if (!answer.ok() && !answer.not_found())
    return Error{answer.may_pass() ? Code::io : Code::denied, "the API server cannot be asked: " + answer.text(),
                 api_version, "it is tried again"};
  std::optional<std::map<std::string, ApiResource>> kinds;
  if (answer.not_found()) kinds.emplace();
  else kinds = read_kinds(answer.body);
  if (!kinds)
    return Error{Code::io, "the API server's answer is no list of resources", api_version, "it is tried again"};
  const std::lock_guard lock(mutex_);
  if (groups_.size() >= kGroups && !groups_.contains(api_version)) groups_.clear();
  Group& group = groups_[api_version];
  group = {std::move(*kinds), now_ns};
  const auto found = group.kinds.find(kind);
  if (found == group.kinds.end()) return unknown(api_version, kind);
  return found->second;
}

}  // namespace tacho
