#include "procfs/zpool.h"

namespace tacho {

bool PoolLines::next(PoolLine& line) {
  while (!scan_.done()) {
    const std::string_view text = scan_.line();
    const size_t tab = text.find('\t');
    if (tab == std::string_view::npos || tab == 0) continue;
    line.name = text.substr(0, tab);
    Scanner numbers(text.substr(tab + 1));
    if (numbers.number(line.size_bytes) && numbers.number(line.allocated_bytes) && numbers.number(line.free_bytes))
      return true;
  }
  return false;
}

}  // namespace tacho
