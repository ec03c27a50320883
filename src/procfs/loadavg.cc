#include "procfs/loadavg.h"

#include "base/saturate.h"
#include "procfs/scan.h"

namespace tacho {

LoadAverage parse_loadavg(std::string_view text) {
  LoadAverage out;
  Scanner scan(text);
  int64_t whole = 0;
  int64_t hundredths = 0;
  if (!scan.number(whole) || !scan.literal(".")) return out;
  const size_t before = scan.rest().size();
  // The kernel writes exactly two digits.
  if (!scan.number(hundredths) || before - scan.rest().size() != 2) return out;
  out.load1_hundredths = saturating_add(saturating_multiply(whole, 100), hundredths);
  scan.skip_words(2);
  int64_t running = 0;
  int64_t threads = 0;
  if (!scan.number(running) || !scan.literal("/") || !scan.number(threads)) return out;
  out.running = running;
  out.threads = threads;
  int64_t last_pid = 0;
  if (scan.number(last_pid)) out.last_pid = last_pid;
  return out;
}

}  // namespace tacho
