#include "deliver/environment.h"

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "base/units.h"
#include "discover/cloud/host_identity.h"
#include "discover/describe.h"
#include "net/aws_credentials.h"
#include "os/clock.h"

namespace tacho {
namespace {

constexpr int64_t kPatience_ns = 2 * kNsPerSec;
constexpr int64_t kSlice_ns = 50 * kNsPerMs;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return std::string(trim(value != nullptr ? value : ""));
}

}  // namespace

std::string service_url() {
  std::string url = variable("SENTINEL_API_URL");
  if (url.empty()) url = "https://api.sentinel.sparecores.net";
  if (url.back() == '/') url.pop_back();
  return url;
}

void CloudFields::add(Json& start, const SpoolMeta& meta, const std::function<bool()>& in_a_hurry) {
  const Roots roots = Roots::from_environment();
  if (!discovery_) {
    CloudOptions options;
    options.no_cloud = meta.no_cloud;
    options.hidden = meta.hidden;
    discovery_.emplace(roots, options);
    const int64_t until_ns = system_clock().monotonic_ns() + kPatience_ns;
    while (!discovery_->done() && !in_a_hurry() && system_clock().monotonic_ns() < until_ns)
      discovery_->work(std::min(until_ns, system_clock().monotonic_ns() + kSlice_ns));
  }
  const Cloud cloud = discovery_->result();
  Host host;
  if (start.contains("host_id")) host.host_id = text_of(start, "host_id");
  if (!meta.host_id_settled) settle_host_id(host, cloud, roots);
  start.erase("host_id");
  for (const DescribedField& field : describe_machine(host, cloud, meta.hidden))
    std::visit([&](const auto& value) { start[std::string(field.name)] = value; }, field.value);
}

void complete(Delivering& shared, CloudFields& cloud, std::function<bool()> in_a_hurry) {
  shared.add_cloud = [&cloud, in_a_hurry = std::move(in_a_hurry)](Json& start, const SpoolMeta& meta) { cloud.add(start, meta, in_a_hurry); };
  shared.bucket_credentials = [&http = shared.http](const SpoolMeta& meta) { return find_aws_credentials(http, !meta.no_cloud); };
}

}  // namespace tacho
