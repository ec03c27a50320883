// Alibaba Cloud: http://100.100.100.200, with a session token where the instance wants one. The address lies in the
// space of carrier-grade NAT, where anybody may answer.
#include <algorithm>

#include "cloud/provider.h"
#include "cloud/values.h"

namespace tacho {
namespace {

// ^[a-z]{2}-[a-z0-9-]+$
bool is_region(const Text& text) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return text && text->size() > 3 && is_letter((*text)[0]) && is_letter((*text)[1]) && (*text)[2] == '-' &&
         std::all_of(text->begin() + 3, text->end(),
                     [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '-'; });
}

CloudStep ask_rest(Found& found, const Headers& token) {
  return {{get("/latest/meta-data/zone-id", token), get("/latest/meta-data/owner-account-id", token),
           get("/latest/meta-data/instance-id", token)},
          [&found](const Replies& replies) {
            found.values.zone_id = text_of(replies[0]);
            found.values.account_id = text_of(replies[1]);
            found.values.instance_id = text_of(replies[2]);
            return end();
          }};
}

CloudStep ask_type(Found& found, const Headers& token, bool dmi_match) {
  return {{get("/latest/meta-data/instance/instance-type", token)}, [&found, token, dmi_match](const Replies& replies) {
            const Text type = text_of(replies[0]);
            if (!dmi_match && !(type && type->starts_with("ecs."))) return end();
            found.identified = true;
            found.values.instance_type = type;
            return ask_rest(found, token);
          }};
}

CloudStep ask_region(Found& found, const Headers& token, bool dmi_match) {
  return {{get("/latest/meta-data/region-id", token)}, [&found, token, dmi_match](const Replies& replies) {
            const Text region = text_of(replies[0]);
            if (!is_region(region)) return end();
            found.identified = dmi_match;
            found.values.region_id = region;
            return ask_type(found, token, dmi_match);
          }};
}

}  // namespace

static CloudStep ask_alicloud(const ProviderContext& context, Found& found) {
  return {{put("/latest/api/token", {{"X-aliyun-ecs-metadata-token-ttl-seconds", "21600"}})},
          [&found, dmi_match = context.dmi_match](const Replies& replies) {
            const HttpFailure failure = replies[0].failure;
            if (failure == HttpFailure::unreachable || failure == HttpFailure::connect_timeout) return end();
            Headers token;
            if (const Text text = token_of(replies[0])) token = {{"X-aliyun-ecs-metadata-token", *text}};
            return ask_region(found, token, dmi_match);
          }};
}

namespace {

bool is_alicloud(const Dmi& dmi) {
  return dmi.sys_vendor == "Alibaba Cloud" || dmi.product_name == "Alibaba Cloud ECS";
}

}  // namespace

extern const Vendor kAlicloud;
const Vendor kAlicloud{"alicloud",   true,        "TACHO_IMDS_ALICLOUD_URL",
                       ask_alicloud, is_alicloud, "http://100.100.100.200"};

}  // namespace tacho
