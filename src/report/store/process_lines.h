// A line of processes.csv as its readers see it, the page and the live view. Comes from outside. Pure, thread-safe.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "model/column.h"

namespace tacho {

struct ProcessLine {
  int64_t pid = 0, ppid = 0;  // 0: a line that stands for several
  std::string name, command, exit;
  double started = kAbsent, ended = kAbsent;  // UNIX seconds
  int64_t count = 1;
  double cpu_s = kAbsent, peak_mib = kAbsent, read_bytes = kAbsent, written_bytes = kAbsent, vram_mib = kAbsent;
};

// Texts as they stand there, whatever is in them. False: it is damaged, or the header.
bool read_process_line(std::string_view line, ProcessLine& process);

}  // namespace tacho
