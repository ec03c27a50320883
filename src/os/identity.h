// What the machine is called on the network. Thread-safe; allocates; sends no packet.
#pragma once
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tacho {

std::string host_name();  // empty when unknown

// The address the kernel would use as source on the default route, IPv4 first, then IPv6. A connected UDP socket tells;
// nothing is sent. Empty when there is no route.
std::string default_source_address();

// The first address of an interface that is up, no loopback, and not refused by `skip`. Empty when there is none.
std::string first_interface_address(const std::function<bool(std::string_view interface)>& skip);

// CPUs online as the C library counts them; 0 when unknown.
int online_cpus();

// CPUs that a process may run on (0: this one); nothing when that cannot be read.
std::optional<int> affinity_cpus(pid_t pid);

// CPUs that this process may run on (its affinity mask); those online when that cannot be read.
int usable_cpus();

}  // namespace tacho
