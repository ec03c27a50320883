#include "discover/cloud/host_identity.h"

#include <cstdlib>

#include "base/log.h"
#include "base/text.h"
#include "discover/host_id.h"
#include "net/hash.h"

namespace tacho {

void settle_host_id(Host& host, const Cloud& cloud, const Roots& roots) {
  if (std::getenv("TACHO_HOST_ID_VALUE") != nullptr) return;  // discover_host() has taken it
  if (cloud.instance_id) host.host_id = cloud.instance_id;
  const char* const mode = std::getenv("TACHO_HOST_ID");
  if (mode == nullptr || trim(mode).empty()) return;
  if (lower(trim(mode)) != "hash")
    log::warn("TACHO_HOST_ID knows the word hash only, and is taken for it; to name an id use TACHO_HOST_ID_VALUE");
  host.host_id.reset();
  const auto key = machine_id(roots);
  if (!key) return;
  const std::string digest = hmac_sha256_hex(*key, "tacho host id");
  if (!digest.empty()) host.host_id = digest.substr(0, 32);
}

}  // namespace tacho
