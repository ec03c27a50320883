// Hetzner Cloud: YAML-like text. It tells neither the server type nor the account.
#include "base/text.h"
#include "cloud/provider.h"
#include "cloud/values.h"

namespace tacho {
namespace {

// `availability-zone: hel1-dc2`; what is indented belongs to network-config and the like.
Text value_of(std::string_view body, std::string_view key) {
  for (const std::string_view line : split(body, '\n')) {
    if (!line.starts_with(key) || !line.substr(key.size()).starts_with(':')) continue;
    return clean(unquoted(trim(line.substr(key.size() + 1))));
  }
  return std::nullopt;
}

}  // namespace

static CloudStep ask_hcloud(const ProviderContext&, Found& found) {
  return {{get("/hetzner/v1/metadata")}, [&found](const Replies& replies) {
            if (!replies[0].ok() || is_html(replies[0])) return end();
            const std::string& body = replies[0].response.body;
            const Text id = value_of(body, "instance-id"), region = value_of(body, "region"),
                       zone = value_of(body, "availability-zone");
            if (!id || (!region && !zone)) return end();
            found.identified = true;
            found.values = {{}, {}, region, zone, {}, id};
            return end();
          }};
}

namespace {

bool is_hcloud(const Dmi& dmi) { return dmi.sys_vendor == "Hetzner"; }

}  // namespace

extern const Vendor kHcloud;
const Vendor kHcloud{"hcloud", true, "TACHO_IMDS_HCLOUD_URL", ask_hcloud, is_hcloud, kLinkLocal};

}  // namespace tacho
