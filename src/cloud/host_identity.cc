#include "cloud/host_identity.h"

#include "discover/host_id.h"
#include "os/environment.h"

namespace tacho {

void settle_host_id(Host& host, const Cloud& cloud, const Roots& roots) {
  if (environment_raw("TACHO_HOST_ID_VALUE")) return;  // discover_host() has taken it
  if (host_id_is_hashed()) host.host_id = hashed_host_id(roots);
  else if (cloud.instance_id) host.host_id = cloud.instance_id;
}

}  // namespace tacho
