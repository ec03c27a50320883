// The machine's static facts (host_*), from /proc, /sys and /etc. Start-up only: allocates, takes a millisecond or so;
// nothing is sent over the network. Thread-safe. GPU fields are filled by the GPU probe, the instance id of a cloud by
// its provider.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "model/run.h"
#include "os/file.h"

namespace tacho {

// TACHO_HOST_ID_VALUE and TACHO_HOST_ALLOCATION beat what is found; set but empty, they hide the field.
Host discover_host(const Roots& roots);

// "shared" when the job may use only a part of the machine; nothing otherwise. "dedicated" is never guessed.
std::optional<std::string> allocation_under(const Limits& limits, const Host& host);
// The same into host, unless TACHO_HOST_ALLOCATION already said what it is, or that it is to be hidden.
void set_allocation(Host& host, const Limits& limits);

// A name for the processor out of /proc/cpuinfo; empty when it has none.
std::string cpu_model(std::string_view cpuinfo);

// What makers write where a serial number should be: "To Be Filled By O.E.M.", all zeros …
bool is_dmi_placeholder(std::string_view text);

}  // namespace tacho
