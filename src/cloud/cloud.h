// Which cloud this machine is in: cloud_* and the instance id, from metadata services (cloud-metadata.md §3 and §4),
// from the environment, or from the cache of this boot. All services are asked at once in one poll loop, each with a
// short deadline; 3 seconds at the most for everything. Not thread-safe.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "os/file.h"

namespace tacho {

// Unknown is absent. The values are the providers' own names, which Spare Cores Navigator calls api_reference.
struct Cloud {
  std::optional<std::string> vendor_id, account_id, region_id, zone_id, instance_type;
  std::optional<std::string> instance_id;  // not sent by itself: the best host_id
  friend bool operator==(const Cloud&, const Cloud&) = default;
};

struct CloudOptions {
  bool no_cloud = false;  // --no-cloud; TACHO_NO_CLOUD and TACHO_CLOUD_PROBE=off are looked at here
  // Wire names; what is hidden is not cached. While host_id is not hidden it is asked for, even if all cloud fields are
  // hidden: an instance's number is the best id that a machine has, and must not depend on what else is shown.
  std::vector<std::string> hidden;
  std::vector<std::string> said;  // wire names of what the user named for the run: nothing to find
  bool host_id_settled = false;   // by the user: the instance's number is not wanted
  friend bool operator==(const CloudOptions&, const CloudOptions&) = default;
};

// Discovery beside other work: call work() now and then until done().
class CloudDiscovery {
 public:
  CloudDiscovery(const Roots& roots, const CloudOptions& options);
  ~CloudDiscovery();
  CloudDiscovery(CloudDiscovery&&) noexcept;
  CloudDiscovery& operator=(CloudDiscovery&&) = delete;

  // Sends, receives and waits until it is done or until_ns of CLOCK_MONOTONIC has come. Returns done().
  bool work(int64_t until_ns);
  bool done() const;
  // Explicit values before done(), all that was found afterwards. Hidden fields are still in it: describe_machine()
  // drops them.
  Cloud result() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The same in one call.
Cloud discover_cloud(const Roots& roots, const CloudOptions& options);

// What a field may hold: text of a service, or of a user, that is no placeholder, web page or rubbish.
bool is_cloud_value(std::string_view text);

}  // namespace tacho
