// An Event of the core API, which a person sees with `kubectl get events` and `kubectl describe`. Pure; thread-safe.
#pragma once
#include <string>
#include <string_view>

namespace tacho {

// What it is about. The uid matters: `kubectl describe` asks by it.
struct EventSubject {
  std::string api_version, kind, ns, name, uid;
};
std::string event_json(const EventSubject& about, bool warning, std::string_view reason, std::string_view message);

}  // namespace tacho
