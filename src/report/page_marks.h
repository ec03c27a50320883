// Phases and points for the page: phases as run.json has them, or as they follow from marks.csv where the run goes on
// or was killed; points from marks.csv. Thread-safe (no state).
#pragma once
#include <string>
#include <vector>

#include "base/writer.h"
#include "model/column.h"

namespace tacho {

struct PagePhase {
  std::string name;
  double started = kAbsent, ended = kAbsent;  // UNIX seconds
  double cpu_mean = kAbsent, cpu_s = kAbsent, memory_peak_mib = kAbsent, gpu_mean = kAbsent;
  double read_bytes = kAbsent, written_bytes = kAbsent;
};

struct PagePoint {
  std::string name;
  double at = kAbsent;
};

struct PageMarks {
  std::vector<PagePhase> phases;
  std::vector<PagePoint> points;
  int64_t left_out = 0;  // more than a page can show
};

// `folder` empty: there are none. A phase that is open at the end ends at `end_s`.
PageMarks read_page_marks(const std::string& folder, const std::string& run_json, double end_s);

// "phases":[[name,from,to],…],"points":[[name,at],…] in seconds since `start_s`.
void write_page_marks(JsonWriter& json, const PageMarks& marks, double start_s);

}  // namespace tacho
