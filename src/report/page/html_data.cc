#include "report/page/html_data.h"

#include "base/page_text.h"
#include "codec/run_words.h"
#include "report/page/html_charts.h"
#include "report/page/html_parts.h"

namespace tacho {
namespace {

constexpr size_t kProcessesShown = 400, kFewestProcesses = 20, kFewestPoints = 64;

void write_band(JsonWriter& json, const PageBand& band) {
  if (band.is_empty()) return;
  json.key("band").object();
  json.key("words").array();
  for (const std::string& word : band.words()) json.value(word);
  json.end_array();
  json.key("pieces").array();  // [end, word], neighbours of the same word as one
  for (size_t point = 0; point < band.points(); ++point) {
    if (point + 1 < band.points() && band.word(point + 1) == band.word(point)) continue;
    const size_t word = band.word(point);
    json.array().number(band.end_s(point), 2);
    json.integer(word == PageBand::kNone ? -1 : static_cast<int64_t>(word)).end_array();
  }
  json.end_array();
  json.end_object();
}

void write_download(JsonWriter& json, const ReportRun& report) {
  if (!report.rows) return;
  json.key("download").object();
  json.key("name").value(page_text(report.file_name, 120));
  json.key("whole").value(report.rows->is_whole());
  json.end_object();
}

std::string data_as_it_is(const ReportRun& report, const RunFacts& facts) {
  Writer out(64 * 1024);
  JsonWriter json(out);
  const Run& run = report.stored.run;
  const double start_s = is_absent(report.start_s) ? 0 : report.start_s;
  json.object();
  json.key("name").value(run_heading(report));
  json.key("id").value(page_text(report.stored.shown_id(), 80));
  json.key("running").value(!run.mode.empty() && run.outcome.state == RunState::running);
  json.key("oom_killed").value(run.outcome.oom_killed.value_or(false));
  json.key("start").number(report.start_s, 3);
  json.key("seconds").number(report.duration_s, 3);  // that rows cover
  json.key("lasted").number(facts.duration_s, 3);    // as everywhere
  json.key("rows_per_point").integer(report.series.rows_per_point());
  json.key("point_ms");
  write_durations(json, report.series);
  json.key("charts").array();
  for (const PageChart& chart : charts_of(report.series, run, facts)) write_page_chart(json, report.series, chart);
  json.end_array();
  write_page_events(json, report.series);
  write_page_marks(json, report.marks, start_s);
  write_band(json, report.band);
  if (!report.devices.is_empty()) write_page_devices(json, report.devices, facts);
  json.key("processes");
  write_page_processes(json, report.processes, start_s);
  write_download(json, report);
  json.end_object();
  return script_safe(out.view());
}

}  // namespace

std::string page_data(ReportRun& report, const RunFacts& facts, size_t bytes) {
  for (size_t processes = kProcessesShown;; processes = std::max(processes / 2, kFewestProcesses)) {
    report.processes.keep(processes);
    std::string data = data_as_it_is(report, facts);
    const size_t points = report.series.points(), device_points = report.devices.series.points();
    const bool smallest = points <= kFewestPoints && device_points <= kFewestPoints && processes <= kFewestProcesses;
    if (data.size() <= bytes || smallest) return data;
    if (points > kFewestPoints) report.series.merge_pairs();
    if (device_points > kFewestPoints) report.devices.series.merge_pairs();
  }
}

}  // namespace tacho
