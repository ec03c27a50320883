#include "procfs/cpu_list.h"

#include "procfs/scan.h"

namespace tacho {

std::optional<int64_t> count_cpu_list(std::string_view text) {
  // Far above any kernel's NR_CPUS; a larger number is not a CPU.
  constexpr int64_t kMostCpus = 1 << 20;
  int64_t count = 0;
  int64_t next = 0;  // ranges ascend, so that none is counted twice
  Scan scan(text);
  scan.skip_blanks();
  while (!scan.at_line_end()) {
    int64_t first = 0;
    if (!scan.number(first)) return std::nullopt;
    int64_t last = first;
    if (scan.take('-') && !scan.number(last)) return std::nullopt;
    if (first < next || last < first || last >= kMostCpus) return std::nullopt;
    count += last - first + 1;
    next = last + 1;
    scan.skip_blanks();
    if (!scan.take(',') && !scan.at_line_end()) return std::nullopt;
  }
  return count;
}

}  // namespace tacho
