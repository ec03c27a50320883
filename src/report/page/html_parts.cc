#include "report/page/html_parts.h"

#include <algorithm>
#include <cmath>

#include "base/page_text.h"
#include "base/time_text.h"
#include "base/units.h"
#include "report/compare.h"
#include "report/store/human.h"
#include "report/summary_text.h"

namespace tacho {
namespace {

constexpr size_t kLongestHeading = 90, kLongestCommandLine = 600, kLongestWord = 200, kMostTags = 40;
constexpr size_t kRunColours = 8;  // of web/page.css, as web/page.js gives them to lines

std::string unless_hidden(const Run& run, std::string_view field, const std::string& value) {
  return is_hidden(run, field) ? std::string() : value;
}

// One figure, what it means in small, and how much of what there is it takes (no bar when that is unknown).
void put_tile(Writer& out, std::string_view name, const std::string& figure, const std::string& rest,
              double share = kAbsent) {
  out.put("<div class=tile><b>");
  out.put(name);
  out.put("</b><strong>" + escaped(figure) + "</strong> <span>" + escaped(rest) + "</span>");
  if (!is_absent(share)) {
    out.put("<svg class=\"bar");
    out.put(share > 0.95 ? " full" : "");
    out.put("\" viewBox=\"0 0 100 1\" preserveAspectRatio=none aria-hidden=true><rect height=1 width=");
    out.put_fixed(100 * std::clamp(share, 0.0, 1.0), 1);
    out.put(" /></svg>");
  }
  out.put("</div>\n");
}

std::string outcome_badge(const Run& run) { return run.mode.empty() ? "metrics file" : outcome_words(run); }

// "ended 2026-11-15 10:30:00 CET, exit 3".
std::string ending(const Run& run) {
  if (run.mode.empty()) return "";
  if (run.outcome.state == RunState::running) return "so far: it still goes on";
  std::string text;
  if (run.outcome.finished_realtime_ns > 0) text = "ended " + local_time_text(run.outcome.finished_realtime_ns);
  std::string status = outcome_words(run);
  if (run.outcome.exit_code && status == "ok") status = "exit 0";
  return text + (text.empty() ? "" : ", ") + status;
}

void put_traffic_tiles(Writer& out, const Run& run, const RunFacts& facts) {
  // Both directions in one tile; the second in small.
  const auto pair = [&](std::string_view name, double in, const std::string& in_word, double back,
                        const std::string& back_word) {
    if (is_absent(in) && is_absent(back)) return;
    if (is_absent(in)) return put_tile(out, name, bytes_text(back), back_word);
    put_tile(out, name, bytes_text(in),
             is_absent(back) ? in_word : in_word + ", " + bytes_text(back) + " " + back_word);
  };
  pair("Disk", facts.disk_read_bytes, "read", facts.disk_write_bytes, "written");
  const bool job = run.mode == kModeRun || run.mode == kModeAttach;
  pair(job ? "Network, machine" : "Network", facts.net_recv_bytes, "received", facts.net_sent_bytes, "sent");
}

std::string host_words(const Run& run) {
  const Host& host = run.host;
  std::string text;
  const auto add = [&](const std::string& part) {
    if (!part.empty()) text += (text.empty() ? "" : " · ") + page_text(part, kLongestWord);
  };
  if (host.host_hostname) add(unless_hidden(run, "host_hostname", *host.host_hostname));
  if (host.host_cpu_model) add(unless_hidden(run, "host_cpu_model", *host.host_cpu_model));
  if (host.host_vcpus) add(std::to_string(*host.host_vcpus) + (*host.host_vcpus == 1 ? " CPU" : " CPUs"));
  if (host.host_memory_mib) add(bytes_text(static_cast<double>(*host.host_memory_mib) * static_cast<double>(kMiB)));
  if (host.host_gpu_model && host.host_gpu_count.value_or(0) > 0)
    add(std::to_string(*host.host_gpu_count) + " × " + *host.host_gpu_model);
  return text;
}

std::string when_and_how(const ReportRun& report) {
  const Run& run = report.stored.run;
  std::string text = page_text(run.id, kLongestWord);
  const auto add = [&](const std::string& part) {
    if (!part.empty()) text += (text.empty() ? "" : " · ") + part;
  };
  if (run.outcome.started_realtime_ns > 0) add("started " + local_time_text(run.outcome.started_realtime_ns));
  add(std::to_string(report.stored.rows) + (report.stored.rows == 1 ? " sample" : " samples"));
  if (run.interval_ns > 0) add("every " + interval_text(run.interval_ns));
  return text;
}

void put_paragraph(Writer& out, std::string_view style, const std::string& text) {
  if (text.empty()) return;
  out.put("<p class=");
  out.put(style);
  out.put("><bdi>" + escaped(text) + "</bdi></p>\n");
}

}  // namespace

std::string run_heading(const ReportRun& report) {
  const Run& run = report.stored.run;
  const std::string job = unless_hidden(run, "job_name", run.metadata.job_name);
  if (!job.empty()) return page_text(job, kLongestHeading);
  const std::string command = page_text(command_text(run, kLongestHeading), kLongestWord);
  return command.empty() ? page_text(report.title, kLongestHeading) : command;
}

void put_head(Writer& out, const ReportRun& report, std::string_view heading) {
  const Run& run = report.stored.run;
  const bool bad = run.outcome.state == RunState::failed || run.outcome.state == RunState::interrupted;
  const bool open = run.mode.empty() || run.outcome.state == RunState::running;
  out.put("<div class=head><div><");
  out.put(heading);
  out.put("><bdi>" + escaped(run_heading(report)) + "</bdi></");
  out.put(heading);
  out.put(">\n");
  const std::string command = page_text(command_text(run, kLongestCommandLine), 4 * kLongestCommandLine);
  if (command != run_heading(report)) put_paragraph(out, "command", command);
  put_paragraph(out, "where", when_and_how(report));
  put_paragraph(out, "where", host_words(run));
  size_t tags = 0;
  for (const std::string& tag : run.metadata.tags)
    if (!is_hidden(run, "tags") && tags++ < kMostTags)
      out.put("<span class=tag><bdi>" + escaped(page_text(tag, kLongestWord)) + "</bdi></span>");
  out.put("</div><span class=\"badge");
  out.put(bad && !run.mode.empty() ? " bad" : open ? " open" : "");
  out.put("\">" + escaped(outcome_badge(run)) + "</span></div>\n");
  if (!run.mode.empty() && run.outcome.state == RunState::running)
    out.put(
        "<p class=running role=status>This run still goes on. The page shows it up to its last row; make it again "
        "for more.</p>\n");
}

void put_verdict(Writer& out, const Verdict& verdict) {
  const std::string line = verdict_line(verdict.judgement);
  if (line.empty()) return;
  out.put("<p class=verdict><strong>Verdict:</strong> " + escaped(line) + ".");
  if (!verdict.advice.empty()) out.put(" <span>What to change: " + escaped(verdict.advice) + ".</span>");
  out.put("</p>\n");
}

void put_tiles(Writer& out, const ReportRun& report, const RunFacts& facts) {
  const Run& run = report.stored.run;
  const auto of = [](double whole, const std::string& text) { return is_absent(whole) ? std::string() : "of " + text; };
  out.put("<div class=tiles>\n");
  if (!is_absent(facts.duration_s)) put_tile(out, "Time", duration_text(facts.duration_s), ending(run));
  if (!is_absent(facts.cpu_mean))
    put_tile(out, "CPU", number_text(facts.cpu_mean),
             (is_absent(facts.cores) ? "cores" : "of " + cores_text(facts.cores, kAbsent)) + " on average",
             facts.cpu_mean / facts.cores);
  if (!is_absent(facts.memory_peak_bytes))
    put_tile(out, "Memory peak", bytes_text(facts.memory_peak_bytes),
             of(facts.memory_bytes, bytes_text(facts.memory_bytes)), facts.memory_peak_bytes / facts.memory_bytes);
  if (!is_absent(facts.gpu_mean)) {
    const bool several = facts.gpus > 1;
    put_tile(out, "GPU",
             several ? number_text(facts.gpu_mean) : std::to_string(std::lround(100 * facts.gpu_mean)) + "%",
             several ? "of " + number_text(facts.gpus) + " on average" : "on average",
             facts.gpu_mean / (several ? facts.gpus : 1));
  }
  if (!is_absent(facts.vram_peak_bytes))
    put_tile(out, "GPU memory peak", bytes_text(facts.vram_peak_bytes),
             of(facts.vram_bytes, bytes_text(facts.vram_bytes)), facts.vram_peak_bytes / facts.vram_bytes);
  put_traffic_tiles(out, run, facts);
  out.put("</div>\n");
}

void put_comparison(Writer& out, std::span<const ReportRun> runs) {
  std::vector<StoredRun> stored;
  for (const ReportRun& report : runs) stored.push_back(report.stored);
  Comparison comparison = compare(stored);
  for (const ReportRun& report : runs) comparison.verdicts.push_back(report.verdict.judgement);
  out.put(
      "<section class=card><h2>Side by side</h2>\n<p class=where>Differences are to the first run.</p>\n"
      "<div class=scroll tabindex=0 role=region aria-label=\"Side by side\"><table class=compare>\n");
  bool header = true;
  for (const std::vector<std::string>& line : comparison_cells(comparison)) {
    out.put(header ? "<thead><tr>" : "<tr>");
    for (size_t i = 0; i < line.size(); ++i) {
      const std::string text = escaped(page_text(line[i], 120));
      if (header && i == 0) out.put("<th scope=col>run</th>");
      else if (header && i > 1 && i % 2 == 1) out.put("<th scope=col>" + text + "</th>");  // a change
      else if (header)
        out.put("<th scope=col class=run" + std::to_string(i / 2 % kRunColours) + "><bdi>" + text + "</bdi></th>");
      else out.put((i == 0 ? "<th scope=row>" : "<td><bdi>") + text + (i == 0 ? "</th>" : "</bdi></td>"));
    }
    out.put(header ? "</tr></thead>\n" : "</tr>\n");
    header = false;
  }
  out.put("</table></div></section>\n");
}

}  // namespace tacho
