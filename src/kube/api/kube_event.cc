#include "kube/api/kube_event.h"

#include <nlohmann/json.hpp>

#include "base/time_text.h"
#include "kube/api/object.h"
#include "os/clock.h"

namespace tacho {
namespace {

constexpr size_t kMessageLimit = 1024;  // bytes; the API server refuses more

}  // namespace

std::string event_json(const EventSubject& about, bool warning, std::string_view reason, std::string_view message) {
  const std::string now = format_seconds(system_clock().realtime_ns());
  const Json event = {{"apiVersion", "v1"},
                      {"kind", "Event"},
                      {"metadata", {{"generateName", about.name + "."}, {"namespace", about.ns}}},
                      {"involvedObject",
                       {{"apiVersion", about.api_version},
                        {"kind", about.kind},
                        {"namespace", about.ns},
                        {"name", about.name},
                        {"uid", about.uid}}},
                      {"type", warning ? "Warning" : "Normal"},
                      {"reason", reason},
                      {"message", std::string(message.substr(0, kMessageLimit))},
                      {"source", {{"component", "tacho-katib"}}},
                      {"firstTimestamp", now},
                      {"lastTimestamp", now},
                      {"count", 1}};
  return dump_json(event);
}

}  // namespace tacho
