// The picture of tacho top: a pure function of what is measured, what its reader chose, and the size of the window.
#pragma once
#include <string>
#include <vector>

#include "report/live/live_state.h"
#include "report/live/live_view.h"

namespace tacho {

struct LiveState {
  LiveView figures;
  LiveDevices devices;
  std::vector<LiveProcess> processes;
  bool of_record = false;  // the processes' figures are totals of a file, not rates
  bool ended = false;
};

struct Window {
  size_t columns = 0, lines = 0;  // 0: endless
  bool color = false, ascii = false;
  bool keys = false;  // say which there are
};

struct Picture {
  std::vector<std::string> lines;  // none wider than the window, no more than it has
  size_t first = 0;                // process in the first line, as far as there are any
  size_t page = 0;                 // lines of processes
};

Picture live_picture(const LiveState& state, const LiveChoice& choice, const Window& window);

// One JSON object: the row's columns, cores, GPUs and processes.
std::string live_json(const LiveState& state, const Schema& schema, const Row& row);

}  // namespace tacho
