// Which charts the page has, and their data as JSON for its script. Pure.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/writer.h"
#include "report/page/page_line.h"
#include "report/series.h"
#include "report/store/facts.h"

namespace tacho {

struct PageLimit {
  double value = kAbsent;
  std::string name;  // "CPU quota"
};

struct PageChart {
  std::string id, title, unit;  // charts of the same id are overlaid where a page has several runs
  std::string empty;            // said instead of a flat line at 0; empty: the line is shown
  std::vector<PageLimit> limits;
  std::vector<PageLine> lines;
};

// The columns of metrics.csv that the page shows: what a SeriesFold is to be begun with.
std::span<const std::string_view> charted_columns();
// Those that have a value at least.
std::vector<PageChart> charts_of(const SeriesFold& series, const Run& run, const RunFacts& facts);

// {"id","title","unit","empty","limits":[{"value","name"}],"lines":[…]}
void write_page_chart(JsonWriter& json, const SeriesFold& series, const PageChart& chart);

// "oom":[[at,kills],…],"throttled":[[from,to,share],…]: when the kernel killed for memory, and when the quota held the
// job up; seconds since the start.
void write_page_events(JsonWriter& json, const SeriesFold& series);

}  // namespace tacho
