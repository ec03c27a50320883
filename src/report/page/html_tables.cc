// The tables of the page, and its notes.
#include <array>
#include <cmath>

#include "base/page_text.h"
#include "base/units.h"
#include "report/column_units.h"
#include "report/page/html_parts.h"
#include "report/store/human.h"

namespace tacho {
namespace {

constexpr size_t kMostColumnsShown = 300, kMostPhasesShown = 100, kMostNotesShown = 60, kLongestNoteShown = 400;

std::string shown_number(double value) {
  if (is_absent(value)) return "";
  const double size = std::fabs(value);
  Writer text;
  text.put_fixed(value, value == std::floor(value) || size >= 1000 ? 0 : size >= 1 ? 2 : 4);
  return std::string(text.view());
}

void put_statistics_of(Writer& out, std::span<const std::pair<std::string, Statistics>> statistics) {
  out.put(
      "<table><thead><tr><th scope=col>column</th><th scope=col>unit</th><th scope=col>mean</th><th scope=col>max</th>"
      "<th scope=col>min</th><th scope=col>sum</th></tr></thead>\n");
  size_t shown = 0;
  for (const auto& [name, values] : statistics) {
    if (name == "timestamp" || shown++ >= kMostColumnsShown) continue;
    out.put("<tr><th scope=row>" + escaped(page_text(name, 80)) + "</th><td>" + std::string(unit_of_column(name)));
    for (const double value : {values.mean, values.max, values.min, values.sum})
      out.put("</td><td>" + shown_number(value));
    out.put("</td></tr>\n");
  }
  out.put("</table>\n");
  if (shown > kMostColumnsShown)
    out.put("<p>" + std::to_string(shown - kMostColumnsShown) + " further columns are in the file.</p>\n");
}

// How a figure was obtained, for somebody who has not read the documentation.
struct MethodWords {
  std::string_view what, word, text;
};
constexpr auto kMethods = std::to_array<MethodWords>({
    {"cpu", "cgroup", "CPU time is the kernel's own sum over everything that ran in the job's cgroup."},
    {"cpu", "subreaper",
     "CPU time is the sum over the job's processes; of each that ended the kernel told the exact amount."},
    {"cpu", "attach", "CPU time counts from the moment at which tacho joined the running job."},
    {"memory", "pss", "Memory that processes share is divided among them (PSS), so that nothing counts twice."},
    {"memory", "pss_scaled",
     "Memory is the resident size, scaled by how much was shared when that was last read (PSS takes long here)."},
    {"memory", "rss", "Memory is the resident size; what processes share counts in each of them."},
    {"io", "proc_io", "Disk traffic is what the kernel counted for each process; cached reads are not in it."},
    {"io", "proc_io+rusage",
     "Disk traffic is what the kernel counted for each process, with the last reading of those that ended."},
    {"gpu", "nvml", "GPU figures come from NVIDIA's driver."},
    {"gpu", "amdgpu", "GPU figures come from the amdgpu driver."},
});

void put_method(Writer& out, std::string_view what, const std::string& word) {
  for (const MethodWords& method : kMethods)
    if (method.what == what && method.word == word) {
      out.put("<li>");
      out.put(method.text);
      out.put("</li>\n");
    }
}

void put_row(Writer& out, std::span<const std::string> cells) {
  out.put("<tr>");
  for (size_t i = 0; i < cells.size(); ++i)
    out.put((i == 0 ? "<th scope=row><bdi>" : "<td>") + escaped(cells[i]) + (i == 0 ? "</bdi></th>" : "</td>"));
  out.put("</tr>\n");
}

}  // namespace

void put_phases(Writer& out, const ReportRun& report) {
  const auto& phases = report.marks.phases;
  if (phases.empty()) return;
  out.put(
      "<section class=card><h2>Phases</h2>\n<div class=scroll tabindex=0 role=region aria-label=Phases><table "
      "class=left>"
      "<thead><tr><th scope=col>phase</th><th scope=col>time</th><th scope=col>cores on average</th>"
      "<th scope=col>memory peak</th><th scope=col>disk read</th><th scope=col>disk written</th>"
      "<th scope=col>verdict</th></tr></thead>\n");
  const auto told = [](double value, std::string text) { return is_absent(value) ? std::string("–") : text; };
  for (size_t i = 0; i < phases.size() && i < kMostPhasesShown; ++i) {
    const PagePhase& phase = phases[i];
    const double seconds = phase.ended - phase.started, peak = phase.memory_peak_mib * static_cast<double>(kMiB);
    const std::array<std::string, 7> cells{phase.name,
                                           told(seconds, duration_text(seconds)),
                                           told(phase.cpu_mean, number_text(phase.cpu_mean)),
                                           told(peak, bytes_text(peak)),
                                           told(phase.read_bytes, bytes_text(phase.read_bytes)),
                                           told(phase.written_bytes, bytes_text(phase.written_bytes)),
                                           phase.verdict.empty() ? "–" : phase.verdict};
    put_row(out, cells);
  }
  out.put("</table></div>\n");
  if (phases.size() > kMostPhasesShown)
    out.put("<p class=where>" + std::to_string(phases.size() - kMostPhasesShown) + " more are in run.json.</p>\n");
  out.put("</section>\n");
}

void put_advice(Writer& out, const PageAdvice& advice) {
  if (advice.lines.empty() && advice.refused.empty()) return;
  out.put("<section class=card><h2>What to ask for next time</h2>\n");
  if (!advice.refused.empty()) out.put("<p class=where>" + escaped(advice.refused) + "</p>\n");
  if (!advice.lines.empty()) out.put("<dl class=advice>\n");
  for (const PageAdvice::Line& line : advice.lines)
    out.put("<div><dt>" + escaped(line.what) + "</dt><dd><strong>" + escaped(line.advised) + "</strong> <span>" +
            escaped(line.why) + "</span></dd></div>\n");
  if (!advice.lines.empty()) out.put("</dl>\n");
  if (!advice.ready.empty()) out.put("<div class=ready>\n");
  for (const auto& [system, lines] : advice.ready)
    out.put("<details><summary>" + escaped(system) + "</summary><pre tabindex=0>" + escaped(lines) +
            "</pre></details>\n");
  if (!advice.ready.empty()) out.put("</div>\n");
  out.put("</section>\n");
}

void put_notes(Writer& out, const ReportRun& report) {
  const Run& run = report.stored.run;
  out.put(run.notes.empty() ? "<details class=card><summary>Notes and methods</summary><ul>\n"
                            : "<details class=card open><summary>Notes and methods</summary><ul>\n");
  size_t count = 0;
  for (const std::string& note : run.notes)
    if (count++ < kMostNotesShown) out.put("<li><bdi>" + escaped(page_text(note, kLongestNoteShown)) + "</bdi></li>\n");
  if (count > kMostNotesShown)
    out.put("<li>" + std::to_string(count - kMostNotesShown) + " more notes are in run.json.</li>\n");
  put_method(out, "cpu", run.method.cpu);
  put_method(out, "memory", run.method.memory);
  put_method(out, "io", run.method.io);
  put_method(out, "gpu", run.method.gpu);
  if (report.series.merged())
    out.put("<li>A point of a chart stands for " + std::to_string(report.series.rows_per_point()) +
            " samples: the line is their mean, the shade reaches from the lowest to the highest.</li>\n");
  if (report.processes.left_out > 0)
    out.put("<li>" + std::to_string(report.processes.left_out) + " processes share the line “(the others)”.</li>\n");
  if (report.marks.left_out > 0)
    out.put("<li>" + std::to_string(report.marks.left_out) + " marks are not shown.</li>\n");
  out.put("<li>A value that could not be read is missing, never 0.</li>\n</ul></details>\n");
}

void put_statistics(Writer& out, const ReportRun& report) {
  out.put(
      "<details class=card><summary>Statistics of every column</summary>"
      "<div class=scroll tabindex=0 role=region aria-label=Statistics>\n");
  put_statistics_of(out, report.stored.statistics);
  if (!report.devices.statistics.empty()) {
    out.put("<h3>Of each device</h3>\n");
    put_statistics_of(out, report.devices.statistics);
  }
  out.put("</div></details>\n");
}

}  // namespace tacho
