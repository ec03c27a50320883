#include "kube/api/live_writer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/backoff.h"
#include "base/units.h"
#include "kube/api/object.h"
#include "os/clock.h"

namespace tacho {
namespace {

int64_t left_ms(int64_t deadline_ns) { return (deadline_ns - system_clock().monotonic_ns()) / kNsPerMs; }

}  // namespace

// One attempt. `again_ms` stays negative when another would not fare better; else it is how long to wait at least.
Lookup LiveWriter::ask_once(const ObjectKey& key, int64_t deadline_ns, int64_t attempt_ms, int64_t& again_ms) {
  const auto time_ms = [&] { return std::clamp<int64_t>(left_ms(deadline_ns), 1, attempt_ms); };
  const Result<ApiResource> resource = discovery_->find_now(client_, key.api_version, key.kind, time_ms());
  if (!resource) {
    const Code code = resource.error().code;
    again_ms = code == Code::io ? 0 : -1;
    if (code == Code::not_available) return {Lookup::State::absent, nullptr, resource.error().message()};
    return {Lookup::State::failed, nullptr, resource.error().what};
  }
  ApiRequest request;
  request.path = api_path(key.api_version, resource->name, resource->namespaced ? key.ns : "", key.name);
  request.total_ms = time_ms();
  request.wait_ms = 0;
  request.urgent = true;  // a pod waits for it
  ApiAnswer answer = client_.send(request);
  if (answer.ok() && read_object(answer.body, key.kind, key.name))
    return {Lookup::State::found, std::make_shared<const std::string>(std::move(answer.body)), ""};
  if (answer.ok()) return again_ms = 0, Lookup{Lookup::State::failed, nullptr, kAnotherObject};
  if (answer.not_found()) return {Lookup::State::absent, nullptr, answer.text()};
  if (answer.may_pass() && !answer.stopped) again_ms = answer.retry_after_ms;
  return {Lookup::State::failed, nullptr, answer.text()};
}

Lookup LiveWriter::get(const ObjectKey& key, int64_t deadline_ns, int64_t attempt_ms) {
  Lookup lookup{Lookup::State::failed, nullptr, "there was no time left to ask the API server"};
  for (DoublingPause pause_ms(50, kNever); left_ms(deadline_ns) > 0;) {
    int64_t again_ms = -1;
    lookup = ask_once(key, deadline_ns, attempt_ms, again_ms);
    if (again_ms < 0) break;
    const int64_t wait_ms = std::min(std::max(pause_ms.next(), again_ms), left_ms(deadline_ns));
    if (wait_ms > 0 && !client_.sleep_ms(wait_ms)) break;
  }
  return lookup;
}

Written LiveWriter::write(const char* method, const ObjectKey& key, std::string_view body, const char* content_type) {
  const Result<ApiResource> resource = discovery_->find(client_, key.api_version, key.kind);
  if (!resource) return {Written::State::failed, "", resource.error().message()};
  ApiRequest request;
  request.method = method;
  request.path = api_path(key.api_version, resource->name, resource->namespaced ? key.ns : "",
                          request.method == "POST" ? "" : key.name);
  request.body = std::string(body);
  request.content_type = content_type;
  ApiAnswer answer = client_.send(request);
  if (answer.ok()) return {Written::State::done, std::move(answer.body), ""};
  const auto state = answer.conflict()    ? Written::State::conflict
                     : answer.not_found() ? Written::State::absent
                                          : Written::State::failed;
  return {state, "", answer.text()};
}

Lookup LiveWriter::read(const ObjectKey& key) {
  return get(key, system_clock().monotonic_ns() + 10 * kNsPerSec, 5'000);
}
Written LiveWriter::create(const ObjectKey& key, std::string_view json) {
  return write("POST", key, json, "application/json");
}
Written LiveWriter::replace(const ObjectKey& key, std::string_view json) {
  return write("PUT", key, json, "application/json");
}
Written LiveWriter::patch(const ObjectKey& key, std::string_view json_patch) {
  return write("PATCH", key, json_patch, "application/json-patch+json");
}

}  // namespace tacho
