// The page of the HTML report from what is known of each run. Pure: no file is read or written.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/run.h"
#include "model/summary.h"
#include "report/series.h"

namespace tacho {

struct ReportRun {
  Run run;
  std::string title;  // shown when there is neither a job name nor a command
  std::vector<std::pair<std::string, Statistics>> statistics;
  double duration_s = kAbsent;
  int64_t rows = 0;
  SeriesFold series;
};

// The columns that the charts show: what a SeriesFold is to be begun with.
std::span<const std::string_view> charted_columns();

std::string html_page(std::span<const ReportRun> runs);
// Rows, duration and statistics of a finished fold; sums only where a sum makes sense.
void take_statistics(ReportRun& report, const Summary& summary);
// For a file that will be replaced at the end of the run.
std::string html_placeholder(const Run& run);

}  // namespace tacho
