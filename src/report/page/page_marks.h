// Phases and points for the page: the phases of the run, each with its verdict, and the points among its marks. Pure.
#pragma once
#include <string>
#include <vector>

#include "base/writer.h"
#include "report/store/marks.h"
#include "report/verdict/verdict.h"

namespace tacho {

struct PagePhase {
  std::string name;
  double started = kAbsent, ended = kAbsent;  // UNIX seconds
  double cpu_mean = kAbsent, memory_peak_mib = kAbsent;
  double read_bytes = kAbsent, written_bytes = kAbsent;
  std::string verdict;  // "disk latency"; empty: not known
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

// The verdicts are those of run.phases, in their order; there may be none.
PageMarks page_marks(const Run& run, const Marks& marks, const std::vector<PhaseVerdict>& verdicts);

// "phases":[[name,from,to,verdict],…],"points":[[name,at],…] in seconds since `start_s`.
void write_page_marks(JsonWriter& json, const PageMarks& marks, double start_s);

}  // namespace tacho
