// Who used it, for the page: processes.csv (docs/formats) read again, finished or not, whatever its size or damage. The
// largest stand by themselves, the rest in one line. Thread-safe (no state).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/writer.h"
#include "report/store/process_lines.h"

namespace tacho {

struct PageProcesses {
  std::vector<ProcessLine> lines;  // by CPU, the most first
  int64_t left_out = 0;            // processes that share the last line
  int64_t skipped = 0;             // damaged lines

  // At most `most` lines; the others become one.
  void keep(size_t most);
};

// Nothing where there is no file.
PageProcesses read_page_processes(const std::string& path);

// [[name, command, pid, ppid, start, end, count, cpu, peak, read, written, vram, exit], …], times in seconds since
// `start_s`.
void write_page_processes(JsonWriter& json, const PageProcesses& processes, double start_s);

}  // namespace tacho
