// /proc/net/dev: bytes of every interface of a network namespace. Pure; no I/O, no allocation.
//   Inter-|   Receive                                                |  Transmit
//    face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop …
//     eth0: 76786663    2322    0    0    0     0          0         0   113613    1472    0    0 …
#pragma once
#include <cstdint>
#include <string_view>

#include "procfs/scan.h"

namespace tacho {

struct NetLine {
  std::string_view name;
  std::string_view counters;  // parsed only for interfaces that count
};

struct NetCounters {
  int64_t rx_bytes = 0, tx_bytes = 0;
  int64_t drops = 0, errors = 0;  // received and sent together
};

// for (NetLine line; lines.next(line);) …; the two title lines are passed over.
class NetDevLines {
 public:
  explicit NetDevLines(std::string_view text) : scan_(text) {}
  bool next(NetLine& line);

 private:
  Scanner scan_;
};

// False when the twelfth number (drops while sending) is not there.
bool parse_net_counters(std::string_view text, NetCounters& out);

}  // namespace tacho
