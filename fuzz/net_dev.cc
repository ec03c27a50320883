// /proc/net/dev, and the table of interfaces over two readings of it: totals never fall.
#include "probe/net_table.h"
#include "target.h"

void fuzz_one(std::string_view text) {
  tacho::NetDevLines lines(text);
  for (tacho::NetLine line; lines.next(line);) {
    require(!line.name.empty() && is_inside(line.name, text) && is_inside(line.counters, text));
    tacho::NetCounters counters;
    if (tacho::parse_net_counters(line.counters, counters)) require(counters.rx_bytes >= 0 && counters.tx_bytes >= 0);
  }
  tacho::NetTable table;
  table.reset("", "/nonexistent");
  const size_t half = text.find("\n\n");
  table.update(text.substr(0, half));
  const tacho::NetCounters before = table.totals();
  table.update(half == std::string_view::npos ? text : text.substr(half));
  require(table.totals().rx_bytes >= before.rx_bytes && table.totals().tx_bytes >= before.tx_bytes);
}
