#include <algorithm>

#include "base/page_text.h"
#include "base/units.h"
#include "base/writer.h"
#include "cromwell/analyze_assets.h"
#include "cromwell/analyze_output.h"
#include "cromwell/analyze_plot.h"

namespace tacho {
namespace {

// 600 KB, less what stands around and in front.
constexpr size_t kPageRoom = 560'000, kPlotRoom = 320'000, kLongestTask = 120;
constexpr size_t kMostViolins = 40;  // tasks, the worst ones
constexpr size_t kMostRows = 1'000, kTableRoom = 240'000, kBytesAPoint = 14;
constexpr std::array kTitles = {"CPU", "Memory", "Disk"},
                     kMeanings = {"mean cores", "peak memory, GB", "peak of the working disk, GB"};

std::string name_text(const std::string& name) {
  return "<bdi>" + escaped(page_text(name.empty() ? "(no name)" : name, kLongestTask)) + "</bdi>";
}

std::string range_words(const ValueRange& range) {
  if (!is_known(range.most)) return "-";
  const std::string least = human_number(range.least), most = human_number(range.most);
  return least == most ? most : least + "–" + most;
}

void put_figure(Writer& out, std::string_view name, const std::string& figure, const std::string& rest) {
  out.put("<div class=tile><b>");
  out.put(name);
  out.put("</b><strong>" + escaped(figure) + "</strong> <span>" + escaped(rest) + "</span></div>\n");
}

void put_figures(Writer& out, const AnalyzeReport& report) {
  size_t attempts = 0, failed = 0;
  double hours = 0;
  for (const TaskReport& task : report.tasks)
    attempts += task.attempts.size(), failed += task.failed, hours += task.hours;
  out.put("<div class=tiles>\n");
  put_figure(out, "Tasks", std::to_string(report.tasks.size()), "by name");
  put_figure(out, "Attempts", std::to_string(attempts),
             failed == 0 ? "none failed" : std::to_string(failed) + " failed");
  put_figure(out, "Machine time", human_number(hours), "hours");
  if (report.has_money) put_figure(out, "Spent", money_text(report.money.spent, ""), report.currency);
  if (report.money.saved_of > 0)
    put_figure(out, "Could be saved", money_text(report.money.saved, ""), report.currency + ", sized as advised");
  out.put("</div>\n");
}

void put_cell(Writer& out, const std::string& text, const char* style = "") {
  out.put(*style == '\0' ? "<td>" : "<td class=" + std::string(style) + ">");
  out.put(escaped(text) + "</td>");
}

void put_overview(Writer& out, const AnalyzeReport& report, const AttemptTable& table) {
  out.put(
      "<div class=card><h2>Asked for and used</h2><div class=scroll tabindex=0 role=region aria-label=\"Asked for and "
      "used\"><table><thead><tr><th scope=col>Task</th><th scope=col>Attempts</th><th scope=col>Hours</th>");
  for (const char* const name : {"CPUs", "Memory GB", "Disk GB"}) {
    out.put("<th scope=col>");
    out.put(name);
    out.put(" asked</th><th scope=col>p95</th><th scope=col>peak</th>");
  }
  if (report.has_money) out.put("<th scope=col>Spent</th><th scope=col>Saved</th>");
  out.put("</tr></thead><tbody>\n");
  size_t rows = 0;
  for (const TaskReport& task : report.tasks) {
    if (rows == kMostRows || out.view().size() > kTableRoom) break;
    ++rows;
    out.put("<tr><th scope=row>" + name_text(table.names()[task.task]) + "</th>");
    put_cell(out, std::to_string(task.attempts.size()));
    put_cell(out, human_number(task.hours));
    for (size_t i = 0; i < task.used.size(); ++i) {
      const double share = task.used[i].peak / task.requested[i].most;
      put_cell(out, range_words(task.requested[i]));
      put_cell(out, amount_text(task.used[i].p95));
      put_cell(out, amount_text(task.used[i].peak), share > 0.95 ? "high" : "");
    }
    if (report.has_money) {
      put_cell(out, task.money.spent_of > 0 ? money_text(task.money.spent, "") : "-");
      put_cell(out, task.money.saved_of > 0 ? money_text(task.money.saved, "") : "-");
    }
    out.put("</tr>\n");
  }
  out.put("</tbody></table></div>");
  if (report.tasks.size() > rows)
    out.put("<p>" + std::to_string(report.tasks.size() - rows) + " more tasks are in the output of --json.</p>");
  out.put("</div>\n");
}

ScatterPlot plot_of(const TaskReport& task, const AttemptTable& table, Resource resource) {
  const auto i = static_cast<size_t>(resource);
  ScatterPlot plot;
  plot.fit = &task.fits[i];
  plot.label = std::string(kTitles[i]) + " of " + table.names()[task.task] + " by input size: " + kMeanings[i];
  for (const uint32_t index : task.attempts) {
    const CallAttempt& attempt = table.attempts()[index];
    const double used = used_of(attempt, resource), asked = requested_of(attempt, resource);
    if (!is_known(attempt.input_gb) || !is_known(used)) continue;
    (attempt.state == CallState::failed ? plot.failed : plot.used).push_back({attempt.input_gb, used});
    if (is_known(asked)) plot.asked.push_back({attempt.input_gb, asked});
  }
  return plot;
}

std::string fit_words(const ResourceFit& fit) {
  if (fit.is_line()) {
    Writer r2;
    r2.put_fixed(fit.r2(), 2);
    return "A line above all points; R² " + std::string(r2.view()) + ".";
  }
  return "No formula: " + fit.why_constant() + ". The constant " + human_number(fit.constant()) + " covers all.";
}

struct SectionRoom {
  size_t points;
  bool violins;
};

void put_violins(Writer& out, const TaskReport& task, const AttemptTable& table) {
  if (task.shares.is_empty()) return;
  out.put("<div class=chart><h3>All samples</h3> <span class=where>% of what was asked for</span>");
  out.put(violin_svg(task.shares, "How the samples of " + table.names()[task.task] + " are spread"));
  out.put("<p>The wider, the more samples; the mark is the one in the middle, the bar the middle half.</p></div>\n");
}

void put_plots(Writer& out, const TaskReport& task, const AttemptTable& table, const SectionRoom& room) {
  out.put("<div class=charts>\n");
  for (const Resource resource : kResources) {
    const auto i = static_cast<size_t>(resource);
    if (!task.fits[i].is_known()) continue;
    const ScatterPlot plot = plot_of(task, table, resource);
    out.put("<div class=chart><h3>" + std::string(kTitles[i]) + "</h3> <span class=where>" + kMeanings[i] + "</span>");
    if (plot.is_empty()) {
      out.put("<p>No attempt has inputs of a known size.</p>");
    } else {
      out.put(plot.svg(room.points));
      out.put("<div class=\"legend below\"><span><i class=used></i>used</span>");
      if (!plot.failed.empty()) out.put("<span><i class=failed></i>used, attempt failed</span>");
      if (!plot.asked.empty()) out.put("<span><i class=asked></i>asked for</span>");
      out.put("<span><i class=fit></i>advised</span></div>");
    }
    out.put("<p>" + escaped(fit_words(task.fits[i])) + "</p></div>\n");
  }
  if (room.violins) put_violins(out, task, table);
  out.put("</div>\n");
}

std::string task_words(const TaskReport& task, const AnalyzeReport& report) {
  std::string words = std::to_string(task.attempts.size()) + (task.attempts.size() == 1 ? " attempt" : " attempts");
  const auto add = [&](size_t count, const char* what) {
    if (count > 0) words += ", " + std::to_string(count) + " " + what;
  };
  add(task.attempts.size() - task.measured, "not measured");
  add(task.failed, "failed");
  add(task.preempted, "preempted");
  add(static_cast<size_t>(task.oom_kills), "processes killed for memory");
  if (is_known(task.input_gb.most)) words += " · inputs " + range_words(task.input_gb) + " GB";
  if (task.money.spent_of > 0) words += " · spent " + money_text(task.money.spent, report.currency);
  if (task.money.saved_of > 0) words += ", could save " + money_text(task.money.saved, report.currency);
  return words;
}

void put_task_section(Writer& out, const TaskReport& task, const AttemptTable& table, const AnalyzeReport& report,
                      const SectionRoom& room) {
  out.put("<section class=task><h2>" + name_text(table.names()[task.task]) + "</h2>\n<p class=where>");
  out.put(escaped(task_words(task, report)) + "</p>\n");
  if (task.measured == 0) {
    out.put("<p>Nothing was measured: no row of metrics belongs to it.</p></section>\n");
    return;
  }
  if (!task.advice.empty()) {
    out.put("<ul>");
    for (const std::string& advice : task.advice) out.put("<li>" + escaped(advice) + "</li>");
    out.put("</ul>\n");
  }
  put_plots(out, task, table, room);
  out.put("<div class=card><h3>WDL</h3><pre tabindex=0>runtime {\n");
  for (const std::string& line : task.wdl) out.put("  " + escaped(line) + "\n");
  out.put("}</pre>");
  const std::vector<std::string>& files = table.files_of(task.task);
  const bool any_line =
      std::any_of(task.fits.begin(), task.fits.end(), [](const ResourceFit& fit) { return fit.is_line(); });
  if (any_line && !files.empty()) {
    std::string names;
    for (const std::string& file : files) (names += names.empty() ? "" : ", ") += file;
    out.put("<p class=where>inputs stands for the task's files: <bdi>" + escaped(page_text(names, 400)) + "</bdi></p>");
  }
  out.put("</div></section>\n");
}

void put_workflows(Writer& out, const AnalyzeReport& report) {
  out.put(
      "<div class=card><h2>Workflows</h2><div class=scroll tabindex=0 role=region "
      "aria-label=Workflows><table><thead><tr><th scope=col>Workflow</th><th scope=col>Tasks</th><th "
      "scope=col>Attempts</th><th scope=col>Hours</th>");
  if (report.has_money) out.put("<th scope=col>Spent</th><th scope=col>Saved</th>");
  out.put("</tr></thead><tbody>\n");
  size_t rows = 0;
  for (const WorkflowReport& workflow : report.workflows) {
    if (rows++ == kMostRows / 5 || out.view().size() > kTableRoom + kTableRoom / 2) break;
    out.put("<tr><th scope=row>" + name_text(workflow.name) + "</th>");
    put_cell(out, std::to_string(workflow.tasks));
    put_cell(out, std::to_string(workflow.attempts));
    put_cell(out, human_number(workflow.hours));
    if (report.has_money) {
      put_cell(out, workflow.money.spent_of > 0 ? money_text(workflow.money.spent, "") : "-");
      put_cell(out, workflow.money.saved_of > 0 ? money_text(workflow.money.saved, "") : "-");
    }
    out.put("</tr>\n");
  }
  out.put("</tbody></table></div></div>\n");
}

}  // namespace

std::string analyze_page(const AnalyzeReport& report, const AttemptTable& table) {
  Writer out(64 * 1024);
  out.put(page_start("Cromwell tasks · tacho", kAnalyzeStyle, ""));
  out.put("<main>\n<h1>Cromwell tasks: asked for, used, and by input size</h1>\n");
  put_figures(out, report);
  put_overview(out, report, table);
  put_workflows(out, report);
  if (report.series) out.put(series_section(*report.series, table));
  // Three kinds of points in three plots a task.
  const size_t most_points =
      std::clamp(kPlotRoom / (9 * kBytesAPoint * std::max<size_t>(1, report.tasks.size())), size_t{60}, size_t{1500});
  size_t shown = 0;
  for (const TaskReport& task : report.tasks) {
    Writer section;
    put_task_section(section, task, table, report, {most_points, shown < kMostViolins});
    if (out.view().size() + section.view().size() > kPageRoom) break;
    out.put(section.view());
    ++shown;
  }
  if (shown < report.tasks.size())
    out.put("<p class=where>Plots of the other " + std::to_string(report.tasks.size() - shown) +
            " tasks do not fit into one page; their formulas are in the output of --json.</p>\n");
  if (!report.notes.empty()) {
    out.put("<div class=card><h2>Notes</h2><ul>");
    for (const std::string& note : report.notes) out.put("<li>" + escaped(page_text(note, 600)) + "</li>");
    out.put("</ul></div>\n");
  }
  out.put("</main>\n<footer>Made by tacho " TACHO_VERSION
          ". This page holds all of its data and loads nothing.</footer>\n</body></html>\n");
  return std::string(out.view());
}

}  // namespace tacho
