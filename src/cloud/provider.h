// What a provider is: a chain of steps. A step says what to ask, and makes the next step from the replies. No step does
// I/O, so a provider is tested with made-up replies. To add one: a file NAME.cc with its first step that ends with its
// Vendor, and one line in table.cc.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cloud/cloud.h"
#include "cloud/dmi.h"
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

inline constexpr std::string_view kLinkLocal = "http://169.254.169.254";

struct Vendor {
  std::string_view id;
  bool sent;                 // in Navigator's vendor table; the others are sent with TACHO_CLOUD_EXTRA=1 only
  const char* url_variable;  // replaces the bases
  FirstStep first;
  bool (*firmware)(const Dmi&);  // says that this machine is of this cloud
  // Where its service is. The second one is tried when the first cannot be reached.
  std::string_view base;
  std::string_view second_base = {};
  std::string_view second_host = {};  // Host header there
};

}  // namespace tacho
