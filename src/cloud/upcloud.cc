// UpCloud: one JSON document, at the path of DigitalOcean's. It tells neither the plan nor the account.
#include "cloud/provider.h"
#include "cloud/values.h"

namespace tacho {

static CloudStep ask_upcloud(const ProviderContext&, Found& found) {
  return {{get("/metadata/v1.json")}, [&found](const Replies& replies) {
            const Json document = object_of(replies[0]);
            if (text_at(document, "cloud_name") != "upcloud") return end();
            found.identified = true;
            const Text region = text_at(document, "region");
            found.values = {{}, {}, region, region, {}, text_at(document, "instance_id")};  // a region is one zone
            return end();
          }};
}

namespace {

bool is_upcloud(const Dmi& dmi) { return dmi.sys_vendor == "UpCloud"; }

}  // namespace

extern const Vendor kUpcloud;
const Vendor kUpcloud{"upcloud", true, "TACHO_IMDS_UPCLOUD_URL", ask_upcloud, is_upcloud, kLinkLocal};

}  // namespace tacho
