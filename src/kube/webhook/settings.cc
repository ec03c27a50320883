#include "kube/webhook/settings.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "kube/api/object.h"
#include "os/clock.h"

namespace tacho {
namespace {

std::map<std::string, std::string> data_of(const std::string& text) {
  std::map<std::string, std::string> out;
  const std::optional<Json> parsed = parse_json(text);
  const Json* data = parsed ? find(*parsed, {"data"}) : nullptr;
  if (data == nullptr || !data->is_object()) return out;
  for (const auto& [key, value] : data->items()) {
    if (value.is_string()) out[key] = value.get<std::string>();
  }
  return out;
}

Result<KatibConfig> read_katib(const std::string& text, std::vector<std::string>* faults) {
  const auto data = data_of(text);
  const auto found = data.find("katib-config.yaml");
  if (found == data.end())
    return Error{Code::invalid, "the ConfigMap has no key katib-config.yaml", "katib-config", "add it"};
  return parse_katib_config(found->second, faults);
}

}  // namespace

const CollectorConfig* WebhookSettings::collector(const CollectorKind& kind) const {
  const auto found = katib.collectors.find(kind.name);
  if (found != katib.collectors.end()) return &found->second;
  return other ? &*other : nullptr;
}

SettingsSource::SettingsSource(Cluster& cluster, std::string core_namespace, std::string image, int64_t look_ns)
    : cluster_(cluster), namespace_(std::move(core_namespace)), look_ns_(look_ns) {
  auto made = std::make_shared<WebhookSettings>();
  if (!image.empty()) {
    made->other.emplace();
    made->other->image = std::move(image);
    made->other->requests = {{"cpu", "50m"}, {"memory", "10Mi"}, {"ephemeral-storage", "500Mi"}};
    made->other->limits = {{"cpu", "500m"}, {"memory", "100Mi"}, {"ephemeral-storage", "5Gi"}};
  }
  settings_ = made;
}

std::shared_ptr<const WebhookSettings> SettingsSource::current(int64_t deadline_ns) {
  const int64_t now_ns = system_clock().monotonic_ns();
  bool known = false;
  {
    const std::lock_guard lock(mutex_);
    known = katib_text_ != nullptr;
    if (known && now_ns < next_look_ns_) return settings_;
  }
  // The first answer is waited for, also by those who come when the server has only just been reached: without an image
  // nothing can be injected.
  std::unique_lock turn(refreshing_, std::defer_lock);
  if (known) turn.try_lock();
  else turn.try_lock_for(std::chrono::nanoseconds(std::max<int64_t>(0, deadline_ns - now_ns)));
  if (turn.owns_lock()) refresh(deadline_ns);
  const std::lock_guard lock(mutex_);
  return settings_;
}

void SettingsSource::refresh(int64_t deadline_ns) {
  const auto look = [&](const char* name) { return cluster_.get({"v1", "ConfigMap", namespace_, name}, deadline_ns); };
  const Lookup katib_now = look("katib-config"), own_now = look("tacho-config");
  const auto text = [](const Lookup& found) { return found.state == Lookup::State::found ? found.json : nullptr; };
  const auto katib = text(katib_now), own = text(own_now);
  const std::lock_guard lock(mutex_);
  next_look_ns_ = system_clock().monotonic_ns() + look_ns_;
  const bool katib_new = katib && katib != katib_text_, own_new = own && own != tacho_text_;
  // A look-up that failed says nothing; only a cluster that says there is none takes the settings back. Without
  // katib-config there would be no images: its last good version stays.
  const bool own_gone = own_now.state == Lookup::State::absent && tacho_text_ != nullptr;
  if (!katib_new && !own_new && !own_gone) return;
  auto made = std::make_shared<WebhookSettings>(*settings_);
  if (katib_new) {
    katib_text_ = katib;
    // Without a good version before it, what is right in this one is better than nothing.
    std::vector<std::string> faults;
    if (Result<KatibConfig> read = read_katib(*katib, has_katib_ ? nullptr : &faults)) {
      made->katib = std::move(*read);
      has_katib_ = faults.empty();
      for (const std::string& fault : faults) log::warn("a collector of katib-config cannot be used: " + fault);
    } else {
      log::warn("katib-config is not usable, the last good version stays in force: " + read.error().message());
    }
  }
  if (own_gone) {
    tacho_text_ = nullptr;
    made->tacho = TachoConfig{};
    log::info("tacho-config was removed: the defaults are in force again");
  }
  if (own_new) {
    tacho_text_ = own;
    if (Result<TachoConfig> read = parse_tacho_config(data_of(*own))) made->tacho = std::move(*read);
    else log::warn("tacho-config is not usable, the last good version stays in force: " + read.error().message());
  }
  settings_ = made;
}

}  // namespace tacho
