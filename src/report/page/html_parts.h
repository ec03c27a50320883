// The parts of the page that need no script: head, tiles, comparison, phases, advice, statistics, notes. Pure.
#pragma once
#include <span>
#include <string>

#include "base/writer.h"
#include "report/page/html_page.h"

namespace tacho {

// Name of the run for headings and legends: its job name, command or title.
std::string run_heading(const ReportRun& report);

void put_head(Writer& out, const ReportRun& report, std::string_view heading);
// What limited the run, in a line, and what to change.
void put_verdict(Writer& out, const Verdict& verdict);
void put_tiles(Writer& out, const ReportRun& report, const RunFacts& facts);
// Side by side, with the differences to the first.
void put_comparison(Writer& out, std::span<const ReportRun> runs);
void put_phases(Writer& out, const ReportRun& report);
void put_advice(Writer& out, const PageAdvice& advice);
void put_notes(Writer& out, const ReportRun& report);
// Of every column of metrics.csv and devices.csv, with units.
void put_statistics(Writer& out, const ReportRun& report);

}  // namespace tacho
