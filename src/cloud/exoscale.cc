// Exoscale: plain values at EC2-like paths, the way CloudStack serves them: availability-zone and service-offering
// stand at the top, where Amazon and OpenStack have none. Not in Navigator's table: sent with TACHO_CLOUD_EXTRA=1 only.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "cloud/provider.h"
#include "cloud/values.h"

namespace tacho {
namespace {

// "ch-gva-2": other CloudStack clouds call their zones otherwise.
bool is_zone(const Text& zone) {
  constexpr std::array<std::string_view, 5> kCountries = {"ch", "de", "at", "bg", "hr"};
  if (!zone) return false;
  const std::vector<std::string_view> parts = split(*zone, '-');
  return parts.size() == 3 && std::find(kCountries.begin(), kCountries.end(), parts[0]) != kCountries.end() &&
         parse_int<int>(parts[2]).has_value();
}

}  // namespace

static CloudStep ask_exoscale(const ProviderContext& context, Found& found) {
  return {{get("/latest/meta-data/availability-zone"), get("/latest/meta-data/service-offering")},
          [&found, dmi_match = context.dmi_match](const Replies& replies) {
            const Text zone = text_of(replies[0]), type = text_of(replies[1]);
            if (!is_zone(zone) || (!type && !dmi_match)) return end();
            found.identified = true;
            found.values = {{}, {}, zone, zone, type, {}};  // a region is one zone
            return CloudStep{{get("/latest/meta-data/instance-id")}, [&found](const Replies& ids) {
                               found.values.instance_id = text_of(ids[0]);
                               return end();
                             }};
          }};
}

namespace {

bool is_exoscale(const Dmi& dmi) { return dmi.sys_vendor == "Exoscale"; }

}  // namespace

extern const Vendor kExoscale;
const Vendor kExoscale{"exoscale", false, "TACHO_IMDS_EXOSCALE_URL", ask_exoscale, is_exoscale, kLinkLocal};

}  // namespace tacho
