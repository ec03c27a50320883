// Microsoft Azure: one JSON document for everything.

#include "cloud/provider.h"
#include "cloud/values.h"

namespace tacho {

static CloudStep ask_azure(const ProviderContext&, Found& found) {
  return {{get("/metadata/instance?api-version=2021-02-01", {{"Metadata", "true"}})}, [&found](const Replies& replies) {
            const Json document = object_of(replies[0]);
            const Json compute = document.is_object() ? document.value("compute", Json()) : Json();
            const Text id = text_at(compute, "vmId"), type = text_at(compute, "vmSize");
            if (!id && !type) return end();
            found.identified = true;
            // "West Europe" of old API versions is "westeurope".
            Text region = lower_case(text_at(compute, "location"));
            if (region) std::erase(*region, ' ');
            found.values = {{}, text_at(compute, "subscriptionId"), region, text_at(compute, "zone"), type, id};
            return end();
          }};
}

namespace {

constexpr std::string_view kAzureTag = "7783-7084-3265-9085-8269-3286-77";  // the maker alone is any Hyper-V

bool is_azure(const Dmi& dmi) { return dmi.chassis_asset_tag == kAzureTag; }

}  // namespace

extern const Vendor kAzure;
const Vendor kAzure{"azure", true, "TACHO_IMDS_AZURE_URL", ask_azure, is_azure, kLinkLocal};

}  // namespace tacho
