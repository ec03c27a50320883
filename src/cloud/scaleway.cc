// Scaleway: http://169.254.42.42, one JSON document. Not in Navigator's table: sent with TACHO_CLOUD_EXTRA=1 only.
#include "cloud/provider.h"
#include "cloud/values.h"

namespace tacho {

static CloudStep ask_scaleway(const ProviderContext&, Found& found) {
  return {{get("/conf?format=json")}, [&found](const Replies& replies) {
            const Json document = object_of(replies[0]);
            const Text type = text_at(document, "commercial_type"), organization = text_at(document, "organization");
            Text zone = text_at(document, "zone");
            // {"commercial_type": "DEV1-S", "location": {"zone_id": "fr-par-1", "node_id": "14", …}, …}
            if (!zone && document.is_object()) zone = text_at(document.value("location", Json()), "zone_id");
            // Two of its words, of which no other service has one.
            if ((type ? 1 : 0) + (zone ? 1 : 0) + (organization ? 1 : 0) < 2) return end();
            found.identified = true;
            found.values = {{}, organization, without_last(zone, '-'), zone, type, text_at(document, "id")};
            return end();
          }};
}

namespace {

bool is_scaleway(const Dmi& dmi) { return dmi.sys_vendor == "Scaleway"; }

}  // namespace

extern const Vendor kScaleway;
const Vendor kScaleway{"scaleway",
                       false,
                       "TACHO_IMDS_SCALEWAY_URL",
                       ask_scaleway,
                       is_scaleway,
                       "http://169.254.42.42",
                       "http://[fd00:42::42]"};

}  // namespace tacho
