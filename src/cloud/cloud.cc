#include "cloud/cloud.h"

#include <algorithm>
#include <array>

#include "base/units.h"
#include "cloud/cache.h"
#include "cloud/plan.h"
#include "cloud/prober.h"
#include "cloud/values.h"
#include "discover/host_id.h"
#include "os/clock.h"
#include "os/environment.h"
#include "os/metadata_off.h"

namespace tacho {
namespace {

struct Explicit {
  const char* variable;
  const char* field;
  Text Cloud::*member;
};
constexpr std::array<Explicit, 5> kExplicit{
    {{"TACHO_CLOUD_VENDOR_ID", "cloud_vendor_id", &Cloud::vendor_id},
     {"TACHO_CLOUD_ACCOUNT_ID", "cloud_account_id", &Cloud::account_id},
     {"TACHO_CLOUD_REGION_ID", "cloud_region_id", &Cloud::region_id},
     {"TACHO_CLOUD_ZONE_ID", "cloud_zone_id", &Cloud::zone_id},
     {"TACHO_CLOUD_INSTANCE_TYPE", "cloud_instance_type", &Cloud::instance_type}}};

// Said by the user: set but empty hides the field.
void apply_explicit(Cloud& cloud) {
  for (const Explicit& entry : kExplicit)
    if (const auto value = environment_raw(entry.variable)) cloud.*entry.member = clean(*value);
}

bool has(const std::vector<std::string>& list, std::string_view field) {
  return std::find(list.begin(), list.end(), field) != list.end();
}

// Is there a field whose value would be used?
bool anything_to_find(const CloudOptions& options) {
  const bool for_host_id = !has(options.hidden, "host_id") && !options.host_id_settled && !host_id_is_hashed() &&
                           !environment_raw("TACHO_HOST_ID_VALUE");
  return std::any_of(kExplicit.begin(), kExplicit.end(), [&](const Explicit& entry) {
    if (environment_raw(entry.variable) || has(options.said, entry.field)) return false;
    return for_host_id || !has(options.hidden, entry.field);
  });
}

}  // namespace

struct CloudDiscovery::State {
  Cloud found;
  std::unique_ptr<Prober> prober;  // null: nothing to ask
  std::optional<CloudCache> cache;
};

CloudDiscovery::CloudDiscovery(const Roots& roots, const CloudOptions& options) : state_(std::make_unique<State>()) {
  if (options.no_cloud || metadata_is_off() || !anything_to_find(options)) return;
  Plan plan = plan_probes(Dmi::read(roots));
  if (plan.candidates.empty()) return;
  if (plan.cacheable) {
    state_->cache.emplace(roots, plan.key(), options.hidden);
    if (auto cached = state_->cache->load()) {
      state_->found = std::move(*cached);
      return;
    }
  }
  state_->prober = std::make_unique<Prober>(std::move(plan.candidates), system_clock().monotonic_ns());
}

CloudDiscovery::~CloudDiscovery() = default;
CloudDiscovery::CloudDiscovery(CloudDiscovery&&) noexcept = default;

bool CloudDiscovery::done() const { return state_->prober == nullptr; }

bool CloudDiscovery::work(int64_t until_ns) {
  if (done()) return true;
  if (!state_->prober->work(until_ns)) return false;
  state_->found = state_->prober->winner();
  // An answer that was cut short may be whole next time.
  if (state_->cache && state_->found.vendor_id && state_->prober->is_complete()) state_->cache->store(state_->found);
  state_->prober.reset();
  return true;
}

Cloud CloudDiscovery::result() const {
  Cloud cloud = state_->found;
  apply_explicit(cloud);
  return cloud;
}

bool is_cloud_value(std::string_view text) { return clean(text).has_value(); }

Cloud discover_cloud(const Roots& roots, const CloudOptions& options) {
  CloudDiscovery discovery(roots, options);
  while (!discovery.work(system_clock().monotonic_ns() + kNsPerSec)) {}
  return discovery.result();
}

}  // namespace tacho
