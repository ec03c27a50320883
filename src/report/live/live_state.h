// What a live view shows beside its figures, and what its reader has chosen to see. Plain data.
#pragma once
#include <sys/types.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/column.h"

namespace tacho {

struct LiveProcess {
  pid_t pid = 0, parent = 0;  // 0: not known
  std::string name;           // as it came from outside
  double cpu = kAbsent;       // cores now; of a record: its seconds so far
  double memory_bytes = kAbsent;
  double io_bytes = kAbsent;  // a second; of a record: so far
  double gpu_bytes = kAbsent;
};

struct LiveGpu {
  std::string number;
  double usage = kAbsent, vram_mib = kAbsent, power_w = kAbsent, temperature_c = kAbsent;
};

struct LiveDevices {
  std::vector<double> cores;  // busy share of each, 0 to 1
  std::vector<LiveGpu> gpus;
};
// From the columns of devices.csv and their cells.
LiveDevices live_devices(std::span<const std::string> columns, std::span<const double> cells);

enum class LiveSort { cpu, memory, io, gpu };

struct LiveChoice {
  LiveSort sort = LiveSort::cpu;
  bool tree = true, paused = false, help = false;
  size_t first = 0;  // process in the first line
};

// Whether and how bytes that a terminal sent change the choice. `page`: lines of processes that are seen at once.
enum class KeyEffect { none, changed, quit };
KeyEffect apply_keys(std::string_view bytes, size_t page, LiveChoice& choice);

// The processes as they are shown, each with its depth below the first ones (0 without the tree). A parent that is not
// there, or that is its own descendant (numbers from a file may say so), is none.
struct ShownProcess {
  size_t index, depth;
};
std::vector<ShownProcess> shown_processes(std::span<const LiveProcess> processes, const LiveChoice& choice);

}  // namespace tacho
