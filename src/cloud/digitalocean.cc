// DigitalOcean: one JSON document, at the path of UpCloud's. Not in Navigator's table: sent with TACHO_CLOUD_EXTRA=1
// only.
#include "cloud/provider.h"
#include "cloud/values.h"

namespace tacho {

static CloudStep ask_digitalocean(const ProviderContext&, Found& found) {
  return {{get("/metadata/v1.json")}, [&found](const Replies& replies) {
            const Json document = object_of(replies[0]);
            const Text id = text_at(document, "droplet_id");
            if (!id || text_at(document, "cloud_name") == "upcloud") return end();
            found.identified = true;
            found.values = {{}, {}, text_at(document, "region"), {}, {}, id};
            return end();
          }};
}

namespace {

bool is_digitalocean(const Dmi& dmi) { return dmi.sys_vendor == "DigitalOcean"; }

}  // namespace

extern const Vendor kDigitalocean;
const Vendor kDigitalocean{"digitalocean",   false,           "TACHO_IMDS_DIGITALOCEAN_URL",
                           ask_digitalocean, is_digitalocean, kLinkLocal};

}  // namespace tacho
