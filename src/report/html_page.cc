#include "report/html_page.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/time_text.h"
#include "base/units.h"
#include "report/facts.h"
#include "report/html_assets.h"
#include "report/html_charts.h"
#include "report/human.h"
#include "report/summary_text.h"

namespace tacho {
namespace {

// Text of a job's own making must never become markup.
std::string escaped(std::string_view raw) {
  std::string text;
  for (const char c : valid_utf8(raw)) {
    switch (c) {
      case '&': text += "&amp;"; break;
      case '<': text += "&lt;"; break;
      case '>': text += "&gt;"; break;
      case '"': text += "&quot;"; break;
      case '\'': text += "&#39;"; break;
      default: text += c;
    }
  }
  return text;
}

std::string shown(const Run& run, std::string_view field, const std::string& value) {
  return is_hidden(run, field) ? std::string() : value;
}

// One figure, what it means in small, and how much of what there is it takes (no bar when that is unknown).
void put_tile(Writer& out, std::string_view name, const std::string& figure, const std::string& rest,
              double share = kAbsent) {
  out.put("<div class=tile><b>");
  out.put(name);
  out.put("</b><strong>");
  out.put(escaped(figure));
  out.put("</strong> <span>");
  out.put(escaped(rest));
  out.put("</span>");
  if (!is_absent(share)) {
    out.put(share > 0.95 ? "<div class=\"bar full\"><i style=\"width:" : "<div class=bar><i style=\"width:");
    out.put_fixed(100 * std::clamp(share, 0.0, 1.0), 1);
    out.put("%\"></i></div>");
  }
  out.put("</div>\n");
}

void put_tiles(Writer& out, const Run& run, const RunFacts& facts) {
  const auto of = [](double whole, const std::string& text) { return is_absent(whole) ? std::string() : "of " + text; };
  out.put("<div class=tiles>\n");
  if (!is_absent(facts.duration_s)) put_tile(out, "Time", duration_text(facts.duration_s), "");
  if (!is_absent(facts.cpu_mean))
    put_tile(out, "CPU", number_text(facts.cpu_mean),
             (is_absent(facts.cores) ? "" : "of " + number_text(facts.cores) + " ") + "cores on average",
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
  // Both directions in one tile; the second in small.
  const auto pair = [&](std::string_view name, double in, const std::string& in_word, double back,
                        const std::string& back_word) {
    if (is_absent(in) && is_absent(back)) return;
    if (is_absent(in)) return put_tile(out, name, bytes_text(back), back_word);
    put_tile(out, name, bytes_text(in),
             is_absent(back) ? in_word : in_word + ", " + bytes_text(back) + " " + back_word);
  };
  pair("Disk", facts.disk_read_bytes, "read", facts.disk_write_bytes, "written");
  const bool job = run.mode == "run" || run.mode == "attach";
  pair(job ? "Network, machine" : "Network", facts.net_recv_bytes, "received", facts.net_sent_bytes, "sent");
  out.put("</div>\n");
}

std::string host_text(const Run& run) {
  const Host& host = run.host;
  std::string text;
  const auto add = [&](const std::string& part) {
    if (!part.empty()) text += (text.empty() ? "" : " · ") + part;
  };
  if (host.host_hostname) add(shown(run, "host_hostname", *host.host_hostname));
  if (host.host_cpu_model) add(shown(run, "host_cpu_model", *host.host_cpu_model));
  if (host.host_vcpus) add(std::to_string(*host.host_vcpus) + (*host.host_vcpus == 1 ? " CPU" : " CPUs"));
  if (host.host_memory_mib) add(bytes_text(static_cast<double>(*host.host_memory_mib * kMiB)));
  if (host.host_gpu_model && host.host_gpu_count.value_or(0) > 0)
    add(std::to_string(*host.host_gpu_count) + " × " + *host.host_gpu_model);
  return text;
}

void put_head(Writer& out, const ReportRun& report) {
  const Run& run = report.run;
  const std::string command = command_text(run, 600);
  const std::string job = shown(run, "job_name", run.metadata.job_name);
  const bool recorded = !run.mode.empty();
  const std::string badge = recorded ? outcome_words(run) : "metrics file";
  const bool bad = run.outcome.state == RunState::failed || run.outcome.state == RunState::interrupted;
  const bool open = !recorded || run.outcome.state == RunState::running;
  const auto paragraph = [&](std::string_view style, const std::string& text) {
    if (text.empty()) return;
    out.put("<p class=");
    out.put(style);
    out.put(">");
    out.put(escaped(text));
    out.put("</p>\n");
  };
  out.put("<div class=head><div><h1>");
  out.put(escaped(!job.empty() ? job : !command.empty() ? command_text(run, 90) : report.title));
  out.put("</h1>\n");
  if (!job.empty() || command.size() > 90) paragraph("command", command);
  std::string where = run.id;
  const auto add = [&](const std::string& part) {
    if (!part.empty()) where += (where.empty() ? "" : " · ") + part;
  };
  if (run.outcome.started_realtime_ns > 0) {
    const IsoTime time(run.outcome.started_realtime_ns);
    add("started " + std::string(time.date()) + " " + std::string(time.view().substr(11, 8)) + " UTC");
  }
  add(std::to_string(report.rows) + (report.rows == 1 ? " sample" : " samples"));
  if (run.interval_ns > 0) add("every " + interval_text(run.interval_ns));
  paragraph("where", where);
  paragraph("where", host_text(run));
  for (const std::string& tag : run.metadata.tags)
    if (!is_hidden(run, "tags")) out.put("<span class=tag>" + escaped(tag) + "</span>");
  out.put("</div><span class=\"badge");
  out.put(bad ? " bad" : open ? " open" : "");
  out.put("\">");
  out.put(escaped(badge));
  out.put("</span></div>\n");
}

void put_statistics(Writer& out, const ReportRun& report) {
  out.put(
      "<details class=more><summary>Statistics of every column</summary><div class=scroll><table>\n"
      "<tr><th>column<th>mean<th>max<th>min<th>sum</tr>\n");
  for (const auto& [name, values] : report.statistics) {
    if (name == "timestamp") continue;
    out.put("<tr><td>" + escaped(name));
    for (const double value : {values.mean, values.max, values.min, values.sum}) {
      out.put("<td>");
      const double size = std::fabs(value);
      out.put_fixed(value, value == std::floor(value) || size >= 1000 ? 0 : size >= 1 ? 2 : 4);
    }
    out.put("</tr>\n");
  }
  out.put("</table></div></details>\n");
}

void put_notes(Writer& out, const Run& run) {
  std::vector<std::string> lines = run.notes;
  const auto method = [&](std::string_view what, const std::string& word) {
    if (word.empty() || word == "none") return;
    lines.push_back("The job's " + std::string(what) + " was measured by " + word + ".");
  };
  method("CPU time", run.method.cpu);
  method("memory", run.method.memory);
  method("disk use", run.method.io);
  method("GPU use", run.method.gpu);
  if (lines.empty()) return;
  out.put(run.notes.empty() ? "<details class=more>" : "<details class=more open>");
  out.put("<summary>Notes on how it was measured</summary><ul>\n");
  for (const std::string& line : lines) out.put("<li>" + escaped(line) + "\n");
  out.put("</ul></details>\n");
}

void put_run(Writer& out, const ReportRun& report) {
  const RunFacts facts = facts_of(report.run, report.duration_s, [&](std::string_view name) {
    for (const auto& [column, statistics] : report.statistics)
      if (column == name) return statistics;
    return Statistics{};
  });
  out.put("<section class=run>\n");
  put_head(out, report);
  put_tiles(out, report.run, facts);
  out.put(
      "<div class=charts></div>\n"
      "<noscript><p class=where>The charts need JavaScript; the figures do not.</p></noscript>\n");
  out.put("<script type=\"application/json\">");
  write_chart_data(out, report.series, facts);
  out.put("</script>\n");
  put_notes(out, report.run);
  put_statistics(out, report);
  out.put("</section>\n");
}

void put_start(Writer& out, std::string_view title) {
  out.put(
      "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\n"
      "<meta name=viewport content=\"width=device-width,initial-scale=1\">\n<title>");
  out.put(escaped(title));
  out.put("</title>\n<style>");
  out.put(kReportStyle);
  out.put("</style></head>\n<body><main>\n");
}

}  // namespace

std::string html_page(std::span<const ReportRun> runs) {
  Writer out(64 * 1024);
  std::string title = "tacho report";
  if (runs.size() == 1) {
    const std::string job = shown(runs[0].run, "job_name", runs[0].run.metadata.job_name);
    const std::string command = command_text(runs[0].run, 60);
    title = (!job.empty() ? job : !command.empty() ? command : runs[0].title) + " · tacho";
  }
  put_start(out, title);
  for (const ReportRun& report : runs) put_run(out, report);
  out.put("<footer>Recorded by tacho " TACHO_VERSION
          ". This page holds all of its data and loads nothing.</footer>\n"
          "</main>\n<script>");
  out.put(kReportScript);
  out.put("</script></body></html>\n");
  return std::string(out.view());
}

void take_statistics(ReportRun& report, const Summary& summary) {
  report.rows = summary.rows();
  report.duration_s = summary.duration_s();
  const Schema& schema = summary.schema();
  for (size_t i = 1; i < schema.size(); ++i) {
    Statistics values = summary.column(i);
    if (schema[i].rule != Rule::delta) values.sum = kAbsent;
    if (values.rows > 0) report.statistics.emplace_back(schema[i].name, values);
  }
}

std::string html_placeholder(const Run& run) {
  Writer out;
  put_start(out, "still recording · tacho");
  out.put("<h1>Still recording</h1><p>This page is written when the run ends.");
  if (!run.id.empty())
    out.put(" If tacho was killed, make it from the run store: <code>tacho report " + escaped(run.id) + "</code>");
  out.put("</p></main></body></html>\n");
  return std::string(out.view());
}

}  // namespace tacho
