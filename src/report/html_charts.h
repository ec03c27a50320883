// Which charts the HTML report has, and their data as JSON for its script. Pure.
#pragma once
#include <span>
#include <string_view>

#include "base/writer.h"
#include "report/facts.h"
#include "report/series.h"

namespace tacho {

// One object; charts without any value are left out:
// {"t":[…],"charts":[{"title","unit","limit","limitName","series":[{"name","role","mean":[…],"max":[…]}]}]}
void write_chart_data(Writer& out, const SeriesFold& series, const RunFacts& facts);

}  // namespace tacho
