// Google Cloud: http://metadata.google.internal; every question and every answer carries Metadata-Flavor: Google.
#include "base/text.h"
#include "cloud/provider.h"
#include "cloud/values.h"

namespace tacho {
namespace {

Question ask(const char* path) {
  return get(std::string("/computeMetadata/v1/") + path, {{"Metadata-Flavor", "Google"}});
}

// "projects/123456789012/zones/europe-west4-a" → "europe-west4-a"; anything else is nothing.
Text resource(const HttpReply& reply, std::string_view kind) {
  const Text path = text_of(reply);
  if (!path) return std::nullopt;
  const std::vector<std::string_view> parts = split(*path, '/');
  if (parts.size() != 4 || parts[0] != "projects" || parts[2] != kind) return std::nullopt;
  return clean(parts[3]);
}

bool says_google(const HttpReply& reply) {
  for (const auto& [name, value] : reply.response.headers)
    if (name == "metadata-flavor" && value == "Google") return true;
  return false;
}

void read_zone(Found& found, const HttpReply& reply) {
  found.values.zone_id = resource(reply, "zones");
  found.values.region_id = without_last(found.values.zone_id, '-');
}

void read_ids(Found& found, const HttpReply& project, const HttpReply& instance) {
  found.values.account_id = text_of(project);
  found.values.instance_id = text_of(instance);
}

CloudStep ask_virtual_machine(Found& found) {
  return {{ask("instance/zone"), ask("project/project-id"), ask("instance/id")}, [&found](const Replies& replies) {
            read_zone(found, replies[0]);
            read_ids(found, replies[1], replies[2]);
            return end();
          }};
}

// Cloud Run and its like have no machine type.
CloudStep ask_without_machine(Found& found) {
  return {{ask("instance/zone"), ask("instance/region")}, [&found](const Replies& replies) {
            const Text zone = resource(replies[0], "zones"), region = resource(replies[1], "regions");
            if (!(zone && says_google(replies[0])) && !(region && says_google(replies[1]))) return end();
            found.identified = true;
            read_zone(found, replies[0]);
            if (region) found.values.region_id = region;
            return CloudStep{{ask("project/project-id"), ask("instance/id")}, [&found](const Replies& ids) {
                               read_ids(found, ids[0], ids[1]);
                               return end();
                             }};
          }};
}

}  // namespace

static CloudStep ask_gcp(const ProviderContext&, Found& found) {
  return {{ask("instance/machine-type")}, [&found](const Replies& replies) {
            const HttpReply& reply = replies[0];
            const Text type = resource(reply, "machineTypes");
            if (type && says_google(reply)) {
              found.identified = true;
              found.values.instance_type = type;
              return ask_virtual_machine(found);
            }
            return reply.failure == HttpFailure::none ? ask_without_machine(found) : end();
          }};
}

namespace {

bool is_gcp(const Dmi& dmi) { return dmi.product_name == "Google Compute Engine" || dmi.sys_vendor == "Google"; }

}  // namespace

extern const Vendor kGcp;
const Vendor kGcp{"gcp",
                  true,
                  "TACHO_IMDS_GCP_URL",
                  ask_gcp,
                  is_gcp,
                  "http://metadata.google.internal",
                  kLinkLocal,
                  "metadata.google.internal"};

}  // namespace tacho
