#include "procfs/net_dev.h"

#include "base/saturate.h"

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
  int64_t rx_errors = 0, rx_drops = 0, tx_errors = 0, tx_drops = 0;
  const bool good = scan.number(out.rx_bytes) && scan.skip_word() && scan.number(rx_errors) && scan.number(rx_drops) &&
                    scan.skip_words(4) && scan.number(out.tx_bytes) && scan.skip_word() && scan.number(tx_errors) &&
                    scan.number(tx_drops);
  out.errors = saturating_add(rx_errors, tx_errors);
  out.drops = saturating_add(rx_drops, tx_drops);
  return good;
}

}  // namespace tacho
