// Linode (Akamai): a token, then one JSON document. Not in Navigator's table: sent with TACHO_CLOUD_EXTRA=1 only.
#include "cloud/provider.h"
#include "cloud/values.h"

namespace tacho {
namespace {

// {"id": 12345678, "label": "…", "region": "us-ord", "type": "g6-nanode-1", "host_uuid": "…", …}
CloudStep read_instance(Found& found, const HttpReply& reply) {
  const Json document = object_of(reply);
  const Text id = text_at(document, "id"), type = text_at(document, "type"), region = text_at(document, "region");
  if (!id || (!type && !region)) return end();
  found.identified = true;
  found.values = {{}, {}, region, {}, type, id};
  return end();
}

}  // namespace

static CloudStep ask_linode(const ProviderContext&, Found& found) {
  return {{put("/v1/token", {{"Metadata-Token-Expiry-Seconds", "3600"}})}, [&found](const Replies& replies) {
            const Text token = token_of(replies[0]);
            if (!token) return end();
            return CloudStep{{get("/v1/instance", {{"Metadata-Token", *token}, {"Accept", "application/json"}})},
                             [&found](const Replies& answers) { return read_instance(found, answers[0]); }};
          }};
}

namespace {

bool is_linode(const Dmi& dmi) { return dmi.sys_vendor == "Linode" || dmi.sys_vendor == "Akamai"; }

}  // namespace

extern const Vendor kLinode;
const Vendor kLinode{"linode", false, "TACHO_IMDS_LINODE_URL", ask_linode, is_linode, kLinkLocal};

}  // namespace tacho
