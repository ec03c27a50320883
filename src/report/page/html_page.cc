#include "report/page/html_page.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/base64.h"
#include "base/page_text.h"
#include "report/page/html_assets.h"
#include "report/page/html_data.h"
#include "report/page/html_parts.h"

namespace tacho {
namespace {

// In bytes of gzip. The first run's metrics.csv is given back whole up to 250 KiB; a further one has less room.
constexpr size_t kWholeRows = 250 * 1024, kPartRows = 200'000, kWholeFurtherRows = 80'000, kPartFurtherRows = 70'000;
// What is not a run's: tags around, and a margin.
constexpr size_t kAround = 4'000;

std::string with_commas(int64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

void put_download(Writer& out, const ReportRun& report, size_t number) {
  if (!report.rows || report.rows->gzip().empty() || report.rows->rows() == 0) return;
  const PageRows& rows = *report.rows;
  const std::string id = std::to_string(number);
  out.put("<p class=download><button type=button data-download=" + id + ">");
  if (rows.is_whole())
    out.put("Download " + escaped(page_text(report.file_name, 80)) + " (" + with_commas(rows.rows()) +
            (rows.rows() == 1 ? " row" : " rows") + ")");
  else
    out.put("Download " + with_commas(rows.kept()) + " of " + with_commas(rows.rows()) + " rows as CSV (" +
            with_commas(rows.rows() - rows.kept()) + " rows are left out)");
  out.put("</button></p>\n<script type=\"application/gzip\" id=rows" + id + ">");
  out.put(base64(rows.gzip()));
  out.put("</script>\n");
}

// Below the charts; the same for one run and for several.
void put_details(Writer& out, const ReportRun& report, size_t number) {
  out.put("<div class=processes></div>\n");
  put_phases(out, report);
  put_advice(out, report.advice);
  out.put("<div class=heat></div>\n<div class=\"charts devices\"></div>\n");
  put_notes(out, report);
  put_statistics(out, report);
  put_download(out, report, number);
}

constexpr std::string_view kToolbar =
    "<div class=toolbar role=toolbar aria-label=\"Time shown\">"
    "<button type=button data-do=in title=\"Zoom in (+)\" aria-label=\"Zoom in\">+</button>"
    "<button type=button data-do=out title=\"Zoom out (-)\" aria-label=\"Zoom out\">−</button>"
    "<button type=button data-do=left title=\"Earlier (left arrow)\" aria-label=Earlier>◀</button>"
    "<button type=button data-do=right title=\"Later (right arrow)\" aria-label=Later>▶</button>"
    "<button type=button data-do=reset title=\"All of it (0 or Esc)\">All</button>"
    "<span class=range role=status aria-live=polite></span>"
    "<span class=hint>Drag to zoom, double click for all, Shift and drag to move.</span></div>\n"
    "<noscript><p class=where>The charts need JavaScript; the figures do not.</p></noscript>\n";

// "3 runs of train", or "2 runs" where their names differ.
std::string heading_of(std::span<const ReportRun> runs) {
  const std::string first = run_heading(runs[0]);
  if (runs.size() == 1) return first;
  const bool same =
      std::all_of(runs.begin(), runs.end(), [&](const ReportRun& one) { return run_heading(one) == first; });
  return std::to_string(runs.size()) + " runs" + (same && !first.empty() ? " of " + first : "");
}

// How many bytes each run took.
std::vector<size_t> put_body(Writer& out, std::span<const ReportRun> runs, const std::vector<RunFacts>& facts,
                             const PageOptions& options) {
  std::vector<size_t> sizes;
  const bool several = runs.size() > 1;
  out.put("<main>\n");
  if (several || !options.title.empty()) {
    const std::string title = options.title.empty() ? heading_of(runs) : options.title;
    out.put("<h1><bdi>" + escaped(page_text(title, 200)) + "</bdi></h1>\n");
  }
  if (several) {
    put_comparison(out, runs);
    out.put(kToolbar);
    out.put("<div class=\"charts overlaid\"></div>\n");
  }
  for (size_t i = 0; i < runs.size(); ++i) {
    const size_t before = out.view().size();
    out.put("<section class=run data-run=" + std::to_string(i) + ">\n");
    put_head(out, runs[i], several || !options.title.empty() ? "h2" : "h1");
    put_tiles(out, runs[i], facts[i]);
    put_verdict(out, runs[i].verdict);
    if (!several) out.put(kToolbar);
    out.put("<div class=band></div>\n");
    if (!several) out.put("<div class=\"charts own\"></div>\n");
    put_details(out, runs[i], i);
    out.put("</section>\n");
    sizes.push_back(out.view().size() - before);
  }
  out.put("</main>\n<footer>Recorded by tacho " TACHO_VERSION
          ". This page holds all of its data and loads nothing.</footer>\n");
  return sizes;
}

std::string page_title(std::span<const ReportRun> runs, const PageOptions& options) {
  if (!options.title.empty()) return options.title;
  return heading_of(runs) + " · tacho";
}

}  // namespace

std::unique_ptr<PageRows> page_rows_for(size_t run) {
  return run == 0 ? std::make_unique<PageRows>(kWholeRows, kPartRows)
                  : std::make_unique<PageRows>(kWholeFurtherRows, kPartFurtherRows);
}

std::string html_page(std::span<ReportRun> runs, const PageOptions& options) {
  std::vector<RunFacts> facts;
  for (const ReportRun& report : runs) {
    const auto lookup = [&](std::string_view column) { return statistics_of(report.stored, column); };
    facts.push_back(facts_of(report.stored.run, report.duration_s, lookup));
  }
  Writer out(256 * 1024);
  out.put(page_start(page_title(runs, options), kPageStyle, kPageScript));
  const std::vector<size_t> sizes = put_body(out, runs, facts, options);
  // What is left of each run's room goes to its charts. The page itself counts as the first run's.
  const size_t further = std::accumulate(sizes.begin() + 1, sizes.end(), size_t{0});
  const size_t first = out.view().size() - further + kPageScript.size() + kAround;
  std::string data = "{\"runs\":[";
  for (size_t i = 0; i < runs.size(); ++i) {
    const size_t room = i == 0 ? kPageBytes : kFurtherBytes, taken = i == 0 ? first : sizes[i] + kAround;
    data += (i > 0 ? "," : "") + page_data(runs[i], facts[i], room > taken ? room - taken : 0);
  }
  out.put("<script type=\"application/json\" id=data>");
  out.put(data);
  out.put("]}</script>\n<script>");
  out.put(kPageScript);
  out.put("</script>\n</body></html>\n");
  return std::string(out.view());
}

std::string html_placeholder(const Run& run) {
  Writer out;
  out.put(page_start("still recording · tacho", kPageStyle, kPageScript));
  out.put("<main><h1>Still recording</h1><p>This page is written when the run ends.");
  if (!run.id.empty())
    out.put(" If tacho was killed, make it from the run store: <code>tacho report " + escaped(run.id) + "</code>");
  out.put("</p></main></body></html>\n");
  return std::string(out.view());
}

}  // namespace tacho
