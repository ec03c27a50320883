// Vultr: one JSON document. It tells neither the plan nor the account.
#include "cloud/provider.h"
#include "cloud/values.h"

namespace tacho {

static CloudStep ask_vultr(const ProviderContext&, Found& found) {
  return {{get("/v1.json")}, [&found](const Replies& replies) {
            const Json document = object_of(replies[0]);
            Text id = text_at(document, "instance-v2-id");
            if (!id) id = text_at(document, "instanceid");
            const Json place = document.is_object() ? document.value("region", Json()) : Json();
            if (!id || !place.is_object()) return end();
            found.identified = true;
            const Text region = lower_case(text_at(place, "regioncode"));  // "EWR"; Navigator has "ewr"
            found.values = {{}, {}, region, region, {}, id};               // a region is one zone
            return end();
          }};
}

namespace {

bool is_vultr(const Dmi& dmi) { return dmi.sys_vendor == "Vultr"; }

}  // namespace

extern const Vendor kVultr;
const Vendor kVultr{"vultr", true, "TACHO_IMDS_VULTR_URL", ask_vultr, is_vultr, kLinkLocal};

}  // namespace tacho
