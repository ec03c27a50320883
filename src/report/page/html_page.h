// The page of the HTML report from what is known of each run: one file that loads nothing. Pure: no file is read or
// written. Size: kPageBytes for one run and kFurtherBytes for each further one, whatever they hold.
#pragma once
#include <memory>
#include <span>
#include <string>

#include "report/page/html_devices.h"
#include "report/page/page_advice.h"
#include "report/page/page_band.h"
#include "report/page/page_marks.h"
#include "report/page/page_processes.h"
#include "report/page/page_rows.h"
#include "report/series.h"
#include "report/store/facts.h"
#include "report/store/store.h"
#include "report/verdict/verdict.h"

namespace tacho {

inline constexpr size_t kPageBytes = 600'000, kFurtherBytes = 200'000;

struct ReportRun {
  StoredRun stored;
  std::string title;            // shown when there is neither a job name nor a command
  std::string file_name;        // of the download
  double duration_s = kAbsent;  // by its rows
  double start_s = kAbsent;     // UNIX time of the first row's start
  SeriesFold series;
  PageBand band;
  Verdict verdict;
  PageDevices devices;
  PageMarks marks;
  PageProcesses processes;
  PageAdvice advice;
  std::unique_ptr<PageRows> rows;  // null: nothing to download
};

struct PageOptions {
  std::string title;
  size_t max_points = SeriesFold::kPoints;
};

// How large the download of the n-th run may be.
std::unique_ptr<PageRows> page_rows_for(size_t run);

// Takes the runs apart where they are too large.
std::string html_page(std::span<ReportRun> runs, const PageOptions& options);

// For a file that will be replaced at the end of the run.
std::string html_placeholder(const Run& run);

}  // namespace tacho
