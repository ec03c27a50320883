#include "os/identity.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstring>

#include "os/fd.h"

namespace tacho {
namespace {

std::string printed(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = "";
  const void* raw = nullptr;
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  if (address->sa_family == AF_INET) {
    std::memcpy(&v4, address, sizeof(v4));
    if (v4.sin_addr.s_addr == htonl(INADDR_ANY)) return {};
    raw = &v4.sin_addr;
  } else if (address->sa_family == AF_INET6) {
    std::memcpy(&v6, address, sizeof(v6));
    // A link-local address means nothing beyond its link.
    if (IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr) || IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr)) return {};
    raw = &v6.sin6_addr;
  }
  if (raw == nullptr || ::inet_ntop(address->sa_family, raw, text, sizeof(text)) == nullptr) return {};
  return text;
}

// Connecting a datagram socket only chooses the route and the source address.
std::string source_towards(const sockaddr* target, socklen_t size) {
  const Fd fd(::socket(target->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd || ::connect(fd.get(), target, size) != 0) return {};
  sockaddr_storage local{};
  socklen_t length = sizeof(local);
  auto* const address = reinterpret_cast<sockaddr*>(&local);
  if (::getsockname(fd.get(), address, &length) != 0) return {};
  return printed(address);
}

}  // namespace

std::string host_name() {
  utsname names{};
  return ::uname(&names) == 0 ? names.nodename : "";
}

std::string default_source_address() {
  // Addresses that no network has a route of its own for: 203.0.113.1 (RFC 5737) and 2000::1.
  constexpr uint16_t kAnyPort = 9;
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(kAnyPort);
  v4.sin_addr.s_addr = htonl(0xCB007101);
  std::string address = source_towards(reinterpret_cast<const sockaddr*>(&v4), sizeof(v4));
  if (!address.empty()) return address;
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(kAnyPort);
  v6.sin6_addr.s6_addr[0] = 0x20;
  v6.sin6_addr.s6_addr[15] = 1;
  return source_towards(reinterpret_cast<const sockaddr*>(&v6), sizeof(v6));
}

std::string first_interface_address(const std::function<bool(std::string_view interface)>& skip) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  std::string address;
  for (const ifaddrs* entry = list; entry != nullptr && address.empty(); entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0 || (entry->ifa_flags & IFF_LOOPBACK) != 0)
      continue;
    if (!skip(entry->ifa_name)) address = printed(entry->ifa_addr);
  }
  ::freeifaddrs(list);
  return address;
}

int online_cpus() {
  const long count = ::sysconf(_SC_NPROCESSORS_ONLN);
  return count > 0 ? static_cast<int>(count) : 0;
}

std::optional<int> affinity_cpus(pid_t pid) {
  // The kernel refuses a mask that is too short for the CPUs it could have.
  for (int cpus = CPU_SETSIZE; cpus <= (1 << 16); cpus *= 2) {
    cpu_set_t* const mask = CPU_ALLOC(cpus);
    if (mask == nullptr) break;
    const size_t bytes = CPU_ALLOC_SIZE(cpus);
    const bool known = ::sched_getaffinity(pid, bytes, mask) == 0;
    const int count = known ? CPU_COUNT_S(bytes, mask) : 0;
    CPU_FREE(mask);
    if (count > 0) return count;
  }
  return std::nullopt;
}

int usable_cpus() { return affinity_cpus(0).value_or(online_cpus()); }

}  // namespace tacho
