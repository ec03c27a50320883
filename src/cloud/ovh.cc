// OVHcloud Public Cloud: OpenStack's service, known from all others by OVH's own name server.
#include <algorithm>

#include "base/text.h"
#include "cloud/provider.h"
#include "cloud/values.h"

namespace tacho {
namespace {

constexpr const char* kNameServer = "213.186.33.99";

// {"links": […], "networks": […], "services": [{"type": "dns", "address": "213.186.33.99"}, …]}
bool has_name_server(const Json& network) {
  const Json services = network.is_object() ? network.value("services", Json()) : Json();
  return services.is_array() && std::any_of(services.begin(), services.end(), [](const Json& service) {
           return text_at(service, "type") == "dns" && text_at(service, "address") == kNameServer;
         });
}

bool are_letters(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

// "eu-west-par-a" → "EU-WEST-PAR"; regions of one zone have their own name there.
Text region_of(const Text& zone) {
  if (!zone) return std::nullopt;
  const std::vector<std::string_view> parts = split(*zone, '-');
  const bool named = parts.size() == 4 && parts[0].size() == 2 && parts[3].size() == 1 &&
                     std::all_of(parts.begin(), parts.end(), are_letters);
  if (!named) return zone;
  std::string region = zone->substr(0, zone->size() - 2);
  for (char& c : region)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return region;
}

CloudStep ask_values(Found& found) {
  return {
      {get("/openstack/latest/meta_data.json"), get("/latest/meta-data/instance-type")},
      [&found](const Replies& replies) {
        const Json document = object_of(replies[0]);
        Text zone = text_at(document, "availability_zone");
        if (zone == "nova") zone.reset();  // OpenStack's word for "none"
        found.values = {
            {}, text_at(document, "project_id"), region_of(zone), zone, text_of(replies[1]), text_at(document, "uuid")};
        return end();
      }};
}

}  // namespace

static CloudStep ask_ovh(const ProviderContext&, Found& found) {
  return {{get("/openstack/latest/network_data.json")}, [&found](const Replies& replies) {
            found.identified = has_name_server(object_of(replies[0]));
            return found.identified ? ask_values(found) : end();
          }};
}

namespace {

// Any OpenStack: the service itself tells whether it is OVH's.
bool is_ovh(const Dmi& dmi) {
  return dmi.product_name == "OpenStack Nova" || dmi.product_name == "OpenStack Compute" ||
         dmi.sys_vendor == "OpenStack Foundation";
}

}  // namespace

extern const Vendor kOvh;
const Vendor kOvh{"ovh", true, "TACHO_IMDS_OVH_URL", ask_ovh, is_ovh, kLinkLocal};

}  // namespace tacho
