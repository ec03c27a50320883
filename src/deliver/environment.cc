#include "deliver/environment.h"

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "cloud/describe.h"
#include "cloud/host_identity.h"
#include "net/aws/aws_credentials.h"
#include "os/clock.h"
#include "os/identity.h"

namespace tacho {
namespace {

constexpr int64_t kPatience_ns = 2 * kNsPerSec;
constexpr int64_t kSlice_ns = 50 * kNsPerMs;

bool is_cloud_field(std::string_view name) { return name.starts_with("cloud_"); }

// A spool on a disk that several machines share: what is asked here says nothing of where it ran.
bool is_of_another_machine(const Json& start) {
  const std::string name = text_of(start, "host_hostname");
  return !name.empty() && name != valid_utf8(host_name());
}

}  // namespace

// Each run has its own word about the cloud: several are delivered by one process, and later than they ran.
Cloud CloudFields::find(const SpoolMeta& meta, const std::function<bool()>& in_a_hurry) {
  CloudOptions options{meta.no_cloud || is_of_another_machine(meta.start), meta.hidden, {}, meta.host_id_settled};
  for (const auto& [name, value] : meta.start.items())
    if (is_cloud_field(name)) options.said.push_back(name);
  const Roots roots = Roots::from_environment();
  if (options.no_cloud) return CloudDiscovery(roots, options).result();  // what is known of others stays
  if (!discovery_ || asked_ != options) {
    asked_ = options;
    discovery_.emplace(roots, options);
    const int64_t until_ns = system_clock().monotonic_ns() + kPatience_ns;
    while (!discovery_->done() && !in_a_hurry() && system_clock().monotonic_ns() < until_ns)
      discovery_->work(std::min(until_ns, system_clock().monotonic_ns() + kSlice_ns));
  }
  return discovery_->result();
}

void CloudFields::add(Json& start, const SpoolMeta& meta, const std::function<bool()>& in_a_hurry) {
  const Roots roots = Roots::from_environment();
  const Cloud cloud = find(meta, in_a_hurry);
  Host host;
  if (start.contains("host_id")) host.host_id = text_of(start, "host_id");
  if (!meta.host_id_settled) settle_host_id(host, cloud, roots);
  start.erase("host_id");
  for (const DescribedField& field : describe_machine(host, cloud, meta.hidden))
    if (!start.contains(field.name))
      std::visit([&](const auto& value) { start[std::string(field.name)] = value; }, field.value);
  // Said by the user, but nothing that tacho discover would print: it hides the field all the same.
  for (const auto& [name, value] : meta.start.items())
    if (is_cloud_field(name) && !is_cloud_value(text_of(meta.start, name.c_str()))) start.erase(name);
}

void complete(Delivering& shared, CloudFields& cloud, std::function<bool()> in_a_hurry) {
  shared.add_cloud = [&cloud, in_a_hurry = std::move(in_a_hurry)](Json& start, const SpoolMeta& meta) {
    cloud.add(start, meta, in_a_hurry);
  };
  shared.bucket_credentials = [&http = shared.http](const SpoolMeta& meta) {
    return find_aws_credentials(http, !meta.no_cloud);
  };
}

}  // namespace tacho
