#include "procfs/net_dev.h"

namespace tacho {

bool NetDevLines::next(NetLine& line) {
  while (!scan_.done()) {
    scan_.skip_blanks();
    const std::string_view text = scan_.line();
    // No interface name holds a colon; the title lines have none either.
    const size_t colon = text.find(':');
    if (colon == std::string_view::npos || colon == 0) continue;
    line.name = text.substr(0, colon);
    line.counters = text.substr(colon + 1);
    return true;
  }
  return false;
}

bool parse_net_counters(std::string_view text, NetCounters& out) {
  Scanner scan(text);
  int64_t other = 0;
  if (!scan.number(out.rx_bytes)) return false;
  for (int i = 0; i < 7; ++i)
    if (!scan.number(other)) return false;
  return scan.number(out.tx_bytes);
}

}  // namespace tacho
