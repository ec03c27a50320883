#include "export/markdown.h"

#include "base/text.h"
#include "base/units.h"
#include "report/markdown_text.h"
#include "report/store/human.h"
#include "report/summary_text.h"
#include "report/verdict/verdict.h"

namespace tacho {
namespace {

constexpr size_t kMostBytes = 64 << 10, kLongestCommand = 200, kLongestName = 200;

std::string cut(std::string text, size_t bytes) {
  if (text.size() <= bytes) return text;
  return std::string(start_of(text, bytes)) + "…";
}

std::string markdown_row(const char* title, const std::string& value) {
  return value.empty() ? "" : "| " + std::string(title) + " | " + value + " |\n";
}

std::string bytes_of(const std::optional<int64_t>& bytes) {
  return bytes ? bytes_text(static_cast<double>(*bytes)) : "";
}

std::string asked(const std::string& used, const std::string& requested) {
  return used.empty() || requested.empty() ? used : used + " of " + requested + " asked for";
}

std::string known(double value, std::string (*text)(double)) { return value == value ? text(value) : "-"; }

std::string phase_row(const Phase& phase) {
  return "| " + markdown_text(cut(phase.name, kLongestName)) + " | " + duration_text(phase.ended_s - phase.started_s) +
         " | " + known(phase.cpu_mean, number_text) + " | " +
         known(phase.memory_peak_mib * static_cast<double>(kMiB), bytes_text) + " |\n";
}

std::string figures_table(const JobFigures& job) {
  const Run& run = job.run;
  const RequestedSize& size = run.started_by.requested;
  const auto cores = job.cores();
  std::string disk;
  if (run.totals.io_read_bytes) disk = "read " + bytes_of(run.totals.io_read_bytes);
  if (run.totals.io_write_bytes) disk += (disk.empty() ? "wrote " : ", wrote ") + bytes_of(run.totals.io_write_bytes);
  std::string text = "| | |\n|---|---|\n";
  text += markdown_row("result", outcome_words(run));
  text += markdown_row("time", duration_text(ms_as_seconds(job.duration_ms)));
  text += markdown_row("cores", asked(cores ? number_text(*cores) : "", size.cpus ? number_text(*size.cpus) : ""));
  text += markdown_row("CPU time", job.cpu_s() ? duration_text(*job.cpu_s()) : "");
  text += markdown_row("memory peak", asked(bytes_of(run.totals.memory_peak_bytes), bytes_of(size.memory_bytes)));
  text += markdown_row("disk", disk);
  if (!is_hidden(run, "command"))
    text += markdown_row("command", markdown_text(cut(command_text(run, 4096), kLongestCommand)));
  return text + markdown_row("run", markdown_text(run.id));
}

}  // namespace

std::string markdown_section(const JobFigures& job, std::string_view verdict) {
  std::string text = "### tacho: " + markdown_text(job.job_label()) + "\n\n" + figures_table(job);
  const std::string end = verdict.empty() ? "\n" : "\n" + markdown_text(verdict) + "\n\n";
  const std::string left_out = "\nFurther phases are left out; `tacho show` has them.\n";
  bool is_first = true;
  for (const Phase& phase : job.run.phases) {
    std::string row = is_first ? "\n| phase | time | cores | memory peak |\n|---|---:|---:|---:|\n" : "";
    row += phase_row(phase);
    is_first = false;
    if (text.size() + row.size() + left_out.size() + end.size() > kMostBytes) {
      text += left_out;
      break;
    }
    text += row;
  }
  return text + end;
}

std::string markdown_of(const Input& input) {
  const auto verdict = verdict_of(input);
  return markdown_section(JobFigures(input.stored.run), verdict ? verdict_line(verdict->judgement) : std::string());
}

}  // namespace tacho
