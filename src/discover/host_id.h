// An id of this machine that is no other's, from DMI or machine-id; better none than a shared one.
#pragma once
#include <optional>
#include <string>

#include "os/file.h"

namespace tacho {

std::optional<std::string> local_host_id(const Roots& roots);

// TACHO_HOST_ID=hash: no plain id leaves this process, neither to a service nor to a file.
bool host_id_is_hashed();
// The first 32 hex digits of HMAC-SHA256(key = machine-id, "tacho host id"); nothing where there is no machine-id.
std::optional<std::string> hashed_host_id(const Roots& roots);

// machine-id(5), unless it may be that of a container's image.
std::optional<std::string> machine_id(const Roots& roots);

// Does tacho run inside a container, as far as the files tell?
bool in_container(const Roots& roots);

}  // namespace tacho
