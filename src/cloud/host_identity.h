// Which id a host gets once its cloud is known. Start-up only.
#pragma once
#include "cloud/cloud.h"
#include "model/run.h"

namespace tacho {

// The cloud's instance id beats what the machine says of itself; TACHO_HOST_ID_VALUE beats both. With
// TACHO_HOST_ID=hash it is the first 32 hex digits of HMAC-SHA256(key = machine-id, "tacho host id"), or nothing if
// there is no machine-id.
void settle_host_id(Host& host, const Cloud& cloud, const Roots& roots);

}  // namespace tacho
