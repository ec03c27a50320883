#include "base/units.h"
#include "base/writer.h"
#include "cromwell/analyze_output.h"
#include "os/environment.h"
#include "os/text_table.h"

namespace tacho {
namespace {

constexpr size_t kMostTasksInDetail = 20, kPlainWidth = 100;

std::string range_text(const ValueRange& range) {
  if (!is_known(range.most)) return "-";
  const std::string most = human_number(range.most), least = human_number(range.least);
  return least == most ? most : least + "–" + most;
}

std::string count_text(const TaskReport& task) {
  return std::to_string(task.attempts.size()) +
         (task.failed > 0 ? " (" + std::to_string(task.failed) + " failed)" : "");
}

Table overview(const AnalyzeReport& report, const AttemptTable& table) {
  Table shown;
  shown.header = {"Task",   "Attempts", "Hours", "CPU",     "mean", "p95", "peak",
                  "Mem GB", "p95",      "peak",  "Disk GB", "p95",  "peak"};
  shown.right_from = 1;
  if (report.has_money) shown.header.insert(shown.header.end(), {"Spent", "Saved"});
  for (const TaskReport& task : report.tasks) {
    std::vector<std::string> row = {table.names()[task.task], count_text(task), human_number(task.hours)};
    for (size_t i = 0; i < task.used.size(); ++i) {
      row.push_back(range_text(task.requested[i]));
      if (i == 0) row.push_back(amount_text(task.cores_mean));
      row.push_back(amount_text(task.used[i].p95));
      row.push_back(amount_text(task.used[i].peak));
    }
    if (report.has_money) {
      row.push_back(task.money.spent_of > 0 ? money_text(task.money.spent, "") : "-");
      row.push_back(task.money.saved_of > 0 ? money_text(task.money.saved, "") : "-");
    }
    shown.rows.push_back(std::move(row));
  }
  return shown;
}

// A terminal of 80 columns has no room for it all: a line a resource then.
Table narrow(const AnalyzeReport& report, const AttemptTable& table) {
  constexpr std::array kNames = {"CPU", "memory GB", "disk GB"};
  Table shown;
  shown.header = {"Task", "Attempts", "", "Asked", "p95", "Peak"};
  shown.right = {false, true, false, true, true, true};
  for (const TaskReport& task : report.tasks)
    for (size_t i = 0; i < task.used.size(); ++i)
      shown.rows.push_back({i == 0 ? table.names()[task.task] : "", i == 0 ? count_text(task) : "", kNames[i],
                            range_text(task.requested[i]), amount_text(task.used[i].p95),
                            amount_text(task.used[i].peak)});
  return shown;
}

std::string workflows(const AnalyzeReport& report, size_t width, bool color) {
  if (report.workflows.size() < 2 && !report.has_money) return {};
  Table shown;
  shown.header = {"Workflow", "Tasks", "Attempts", "Hours"};
  shown.right_from = 1;
  if (report.has_money) shown.header.insert(shown.header.end(), {"Spent", "Saved"});
  for (const WorkflowReport& workflow : report.workflows) {
    shown.rows.push_back({workflow.name.empty() ? "-" : workflow.name, std::to_string(workflow.tasks),
                          std::to_string(workflow.attempts), human_number(workflow.hours)});
    if (!report.has_money) continue;
    shown.rows.back().push_back(workflow.money.spent_of > 0 ? money_text(workflow.money.spent, "") : "-");
    shown.rows.back().push_back(workflow.money.saved_of > 0 ? money_text(workflow.money.saved, "") : "-");
  }
  return "\n" + shown.text(color, width);
}

std::string details(const TaskReport& task, const AttemptTable& table, size_t width, bool color) {
  constexpr std::array kNames = {"cpu", "memory", "disk"};
  std::string text = "\n" + styled(cut_text(table.names()[task.task], width), Style::bold, color) + "\n";
  const auto line = [&](const std::string& words) {
    text += "  " + wrap_text(words, 2, 4, width == 0 ? kPlainWidth : width);
  };
  if (task.measured == 0) {
    line("nothing was measured: no row of metrics belongs to it");
    return text;
  }
  for (const std::string& advice : task.advice) line(advice);
  for (size_t i = 0; i < task.fits.size(); ++i)
    if (task.fits[i].is_known() && !task.fits[i].is_line())
      line(std::string(kNames[i]) + ": no formula: " + task.fits[i].why_constant() + "; the constant covers all");
  bool any_line = false;
  for (const ResourceFit& fit : task.fits) any_line |= fit.is_line();
  if (any_line) {
    std::string files;
    for (const std::string& file : table.files_of(task.task)) (files += files.empty() ? "" : ", ") += file;
    line("inputs stands for the task's files" + (files.empty() ? "" : ": " + files));
  }
  // To be copied: never wrapped.
  text += "  runtime {\n";
  for (const std::string& wdl : task.wdl) text += "    " + wdl + "\n";
  return text + "  }\n";
}

}  // namespace

std::string amount_text(double value, std::string_view unit) {
  return is_known(value) ? human_number(value) + std::string(unit) : "-";
}

std::string money_text(double amount, std::string_view currency) {
  Writer out;
  out.put_fixed(amount, std::abs(amount) < 10 ? 4 : 2);
  return std::string(out.view()) + (currency.empty() ? "" : " " + std::string(currency));
}

std::string analyze_text(const AnalyzeReport& report, const AttemptTable& table, size_t width, bool color) {
  const Table wide = overview(report, table);
  std::string text =
      width == 0 || wide.least_width() <= width ? wide.text(color, width) : narrow(report, table).text(color, width);
  if (report.has_money) {
    text += "\nSpent " + money_text(report.money.spent, report.currency);
    if (report.money.saved_of > 0) text += ", could be saved " + money_text(report.money.saved, report.currency);
    text += "\n";
  }
  text += workflows(report, width, color);
  for (size_t i = 0; i < report.tasks.size() && i < kMostTasksInDetail; ++i)
    text += details(report.tasks[i], table, width, color);
  if (report.tasks.size() > kMostTasksInDetail)
    text += "\nFormulas of the other " + std::to_string(report.tasks.size() - kMostTasksInDetail) +
            " tasks: use --json or -o FILE.html\n";
  if (!report.notes.empty()) text += "\n";
  for (const std::string& note : report.notes)
    text += wrap_text("Note: " + note + ".", 0, 2, width == 0 ? kPlainWidth : width);
  return in_locale(text);
}

}  // namespace tacho
