#include "kube/discovery.h"

#include <nlohmann/json.hpp>

#include "base/units.h"
#include "kube/object.h"
#include "os/clock.h"

namespace tacho {
namespace {

constexpr int64_t kKeepNs = 600 * kNsPerSec, kAskAgainNs = 5 * kNsPerSec;

// {"kind":"APIResourceList","resources":[{"name":"jobs","kind":"Job","namespaced":true},{"name":"jobs/status",…}]}
std::map<std::string, ApiResource> read_kinds(std::string_view body) {
  std::map<std::string, ApiResource> kinds;
  const std::optional<Json> list = parse_json(body);
  const Json* resources = list ? find(*list, {"resources"}) : nullptr;
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

Error unknown(const std::string& api_version, const std::string& kind) {
  return {Code::not_available, "the API server knows no such kind", kind + " of " + api_version, "install its CRD"};
}

}  // namespace

Result<ApiResource> Discovery::find(ApiClient& client, const std::string& api_version, const std::string& kind,
                                    int64_t total_ms) {
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
  ApiRequest request;
  request.path = (api_version.find('/') == std::string::npos ? "/api/" : "/apis/") + api_version;
  request.total_ms = request.wait_ms = total_ms;
  const ApiAnswer answer = client.send(request);
  if (!answer.ok() && !answer.not_found())
    return Error{Code::io, "the kinds of an API group cannot be read: " + answer.text(), api_version,
                 "it is tried again"};
  const std::lock_guard lock(mutex_);
  Group& group = groups_[api_version];
  group = {read_kinds(answer.body), now_ns};
  const auto found = group.kinds.find(kind);
  if (found == group.kinds.end()) return unknown(api_version, kind);
  return found->second;
}

}  // namespace tacho
