// Oracle Cloud: one JSON document; its ids begin with ocid1. Not in Navigator's table: sent with TACHO_CLOUD_EXTRA=1
// only.

#include "cloud/provider.h"
#include "cloud/values.h"

namespace tacho {

static CloudStep ask_oracle(const ProviderContext&, Found& found) {
  return {{get("/opc/v2/instance/", {{"Authorization", "Bearer Oracle"}})}, [&found](const Replies& replies) {
            const Json document = object_of(replies[0]);
            const auto is_ocid = [&](const char* key) {
              return text_at(document, key).value_or("").starts_with("ocid1.");
            };
            if (!is_ocid("id") && !is_ocid("tenantId") && !is_ocid("compartmentId")) return end();
            found.identified = true;
            found.values = {{},
                            text_at(document, "tenantId"),
                            text_at(document, "canonicalRegionName"),
                            text_at(document, "availabilityDomain"),
                            text_at(document, "shape"),
                            text_at(document, "id")};
            return end();
          }};
}

namespace {

bool is_oracle(const Dmi& dmi) { return dmi.chassis_asset_tag == "OracleCloud.com"; }

}  // namespace

extern const Vendor kOracle;
const Vendor kOracle{"oracle", false, "TACHO_IMDS_ORACLE_URL", ask_oracle, is_oracle, kLinkLocal};

}  // namespace tacho
