#include "procfs/net_snmp.h"

#include "procfs/scan.h"

namespace tacho {

int64_t parse_retransmits(std::string_view text) {
  int64_t column = -1;  // of the numbers
  for (Scanner scan(text); !scan.done();) {
    if (!scan.literal("Tcp: ")) {
      scan.line();
      continue;
    }
    Scanner line(scan.line());
    if (column < 0) {
      int64_t index = 0;
      for (std::string_view name = line.word(); !name.empty() && column < 0; name = line.word(), ++index)
        if (name == "RetransSegs") column = index;
      if (column < 0) return -1;
      continue;
    }
    int64_t value = 0;
    for (int64_t i = 0; i <= column; ++i)
      if (!line.signed_number(value)) return -1;
    return value >= 0 ? value : -1;
  }
  return -1;
}

}  // namespace tacho
