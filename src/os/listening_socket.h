// A TCP socket that listens, and descriptors for those who come. Thread-safe.
#pragma once
#include <cstdint>
#include <string>

#include "base/result.h"
#include "os/fd.h"

namespace tacho {

struct ListeningSocket {
  Fd fd;  // does not block
  uint16_t port = 0;
};

// A literal address, IPv6 with or without brackets; "[::]" is both families, and all of IPv4 where the kernel has no
// IPv6. Port 0: any. An Error names the address and what to do.
Result<ListeningSocket> listen_on(const std::string& address, uint16_t port);

// Descriptors that are set aside for somebody, beside those of all others and a few for the rest of the program: this
// process's limit of open files is raised for them as far as it may be, but no further than needed.
class ReservedDescriptors {
 public:
  explicit ReservedDescriptors(int wanted);
  ~ReservedDescriptors();
  ReservedDescriptors(const ReservedDescriptors&) = delete;
  ReservedDescriptors& operator=(const ReservedDescriptors&) = delete;
  int count() const { return count_; }  // fewer where the limit is lower, but one at the least
  // A new descriptor has the lowest number that is free. From this one on, only those for the rest are left; for the
  // only one that has any set aside.
  int end() const { return end_; }

 private:
  int count_, end_;
};

// accept4() failed because descriptors or memory are short: the client stays in the kernel's queue, which would tell of
// it at once again.
bool lacks_room(int error_number);
constexpr const char* kNoDescriptor = "no descriptor is left for a new connection; raise the limit of open files";

}  // namespace tacho
