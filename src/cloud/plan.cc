#include "cloud/plan.h"

#include <algorithm>
#include <optional>

#include "base/log.h"
#include "base/text.h"
#include "cloud/table.h"
#include "net/http/aws_metadata_place.h"
#include "os/environment.h"

namespace tacho {
namespace {

// A base that somebody set. GCE_METADATA_HOST has no scheme.
std::string as_base(std::string url) {
  if (!url.empty() && url.find("://") == std::string::npos) url = "http://" + url;
  while (url.ends_with('/')) url.pop_back();
  return url;
}

// The address that replaces the vendor's own; tacho's variables are stronger than those of other programs. Empty: one
// was set that cannot be used. Whoever set it does not want the vendor's own either.
std::optional<std::string> override_of(const Vendor& vendor) {
  std::vector<const char*> names{vendor.url_variable, "TACHO_IMDS_URL"};
  if (vendor.id == "aws") names.push_back(kAwsMetadataVariable);
  if (vendor.id == "gcp") names.push_back("GCE_METADATA_HOST");
  for (const char* const name : names) {
    std::string url = as_base(environment(name));
    if (url.empty()) continue;
    if (lower(url).starts_with("http://")) return url;
    log::warn(std::string(name) + " cannot be used: metadata services speak plain http; write http://HOST[:PORT]");
    return "";
  }
  return std::nullopt;
}

std::vector<Base> own_bases(const Vendor& vendor) {
  std::vector<Base> bases{{std::string(vendor.base), ""}};
  if (!vendor.second_base.empty()) bases.push_back({std::string(vendor.second_base), std::string(vendor.second_host)});
  if (vendor.id == "aws" && aws_metadata_by_ipv6()) bases.erase(bases.begin());
  return bases;
}

std::string ecs_task_url() {
  const std::string url = as_base(environment("ECS_CONTAINER_METADATA_URI_V4"));
  return lower(url).starts_with("http://") ? url + "/task" : std::string();
}

// The word or list of TACHO_CLOUD_PROBE.
class Choice {
 public:
  Choice() : text_(lower(environment("TACHO_CLOUD_PROBE"))) {
    if (is_auto() || is_off() || is_all()) return;
    for (const std::string_view word : split(text_, ',')) {
      const std::string_view id = trim(word);
      if (id.empty()) continue;
      if (find_vendor(id) != nullptr) list_.emplace_back(id);
      else
        log::warn("TACHO_CLOUD_PROBE: there is no provider " + std::string(id) +
                  "; use auto, all, off or a list of vendor ids");
    }
  }
  bool is_auto() const { return text_.empty() || text_ == "auto"; }
  bool is_off() const { return text_ == "off"; }
  bool is_all() const { return text_ == "all"; }
  bool names(std::string_view id) const { return std::find(list_.begin(), list_.end(), id) != list_.end(); }

 private:
  std::string text_;
  std::vector<std::string> list_;
};

}  // namespace

std::string Plan::key() const {
  std::string key;
  for (const Candidate& candidate : candidates) {
    if (!key.empty()) key += ',';
    key += candidate.vendor->id;
  }
  return key;
}

Plan plan_probes(const Dmi& dmi) {
  Plan plan;
  const Choice choice;
  if (choice.is_off()) return plan;
  const bool extra = environment_on("TACHO_CLOUD_EXTRA");
  const std::vector<std::string_view> matches = vendors_of(dmi);
  plan.cacheable = choice.is_auto();
  for (const Vendor& vendor : all_vendors()) {
    if (!vendor.sent && !extra) continue;
    Candidate candidate{&vendor, own_bases(vendor), {}};
    candidate.context.dmi_match = std::find(matches.begin(), matches.end(), vendor.id) != matches.end();
    const auto other = override_of(vendor);
    if (other == "") continue;
    if (other) candidate.bases = {{*other, ""}};
    bool wanted = choice.is_all() || choice.names(vendor.id);
    if (choice.is_auto()) wanted = other || (matches.empty() ? !is_own_machine(dmi) : candidate.context.dmi_match);
    if (vendor.id == "aws") {
      // A task's own service is no instance's: firmware and AWS_EC2_METADATA_DISABLED say nothing about it.
      if (choice.is_auto() || wanted) candidate.context.ecs_task_url = ecs_task_url();
      candidate.context.ask_imds = wanted && lower(environment("AWS_EC2_METADATA_DISABLED")) != "true";
      wanted = candidate.context.ask_imds || !candidate.context.ecs_task_url.empty();
    }
    if (!wanted) continue;
    if (other || !candidate.context.ecs_task_url.empty()) plan.cacheable = false;
    plan.candidates.push_back(std::move(candidate));
  }
  return plan;
}

}  // namespace tacho
