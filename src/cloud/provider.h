// What a provider is: a chain of steps. A step says what to ask, and makes the next step from the replies. No step does
// I/O, so a provider is tested with made-up replies. To add one: a file NAME.cc with its first step, its declaration
// below, one line in table.cc and, where the firmware names the cloud, one in dmi.cc.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "cloud/cloud.h"
#include "net/http/http_multi.h"

namespace tacho {

struct Question {
  std::string method = "GET";
  std::string path;  // behind the base, or a whole URL
  Headers headers;
};

using Replies = std::vector<HttpReply>;  // in the order of the questions

struct CloudStep {
  std::vector<Question> questions;  // asked at once; none: the end
  std::function<CloudStep(const Replies&)> then;
};

// What is known so far. Values count only once the provider is identified.
struct Found {
  bool identified = false;
  Cloud values;  // but for vendor_id
};

struct ProviderContext {
  bool dmi_match = false;    // the firmware says that it is this cloud
  bool ask_imds = true;      // aws: the instance's service may be asked
  std::string ecs_task_url;  // aws: ECS_CONTAINER_METADATA_URI_V4, empty without
};

// `found` lives as long as the steps do.
using FirstStep = CloudStep (*)(const ProviderContext& context, Found& found);

CloudStep ask_aws(const ProviderContext& context, Found& found);
CloudStep ask_gcp(const ProviderContext& context, Found& found);
CloudStep ask_azure(const ProviderContext& context, Found& found);
CloudStep ask_hcloud(const ProviderContext& context, Found& found);
CloudStep ask_upcloud(const ProviderContext& context, Found& found);
CloudStep ask_vultr(const ProviderContext& context, Found& found);
CloudStep ask_alicloud(const ProviderContext& context, Found& found);
CloudStep ask_ovh(const ProviderContext& context, Found& found);
CloudStep ask_digitalocean(const ProviderContext& context, Found& found);
CloudStep ask_oracle(const ProviderContext& context, Found& found);
CloudStep ask_linode(const ProviderContext& context, Found& found);
CloudStep ask_scaleway(const ProviderContext& context, Found& found);
CloudStep ask_exoscale(const ProviderContext& context, Found& found);

}  // namespace tacho
