// The page's plots of one workflow over its time.
#include <algorithm>
#include <cmath>

#include "base/page_text.h"
#include "base/units.h"
#include "cromwell/analyze_axes.h"
#include "cromwell/analyze_series.h"

namespace tacho {
namespace {

constexpr std::array kSeriesTitles = {"Cores", "Memory", "Disk"},
                     kSeriesMeanings = {"in use", "in use, GB", "use of the working disks, GB"};

struct TimeUnit {
  const char* name;
  double seconds;
};

TimeUnit unit_for(double seconds) {
  if (seconds > 2 * 86'400) return {"days", 86'400};
  if (seconds > 2 * 3'600) return {"hours", 3'600};
  return seconds > 120 ? TimeUnit{"minutes", 60} : TimeUnit{"seconds", 1};
}

// Steps of which nothing is known are not joined.
std::string line_path(const PlotScale& scale, const std::vector<float>& values) {
  Writer path;
  bool pen_is_down = false;
  for (size_t step = 0; step < values.size(); ++step) {
    if (std::isnan(values[step])) {
      pen_is_down = false;
      continue;
    }
    path.put(pen_is_down ? "L" : "M");
    put_place(path, scale.x(static_cast<double>(step)));
    path.put(" ");
    put_place(path, scale.y(values[step]));
    // A step alone is a dot.
    const bool alone = !pen_is_down && (step + 1 == values.size() || std::isnan(values[step + 1]));
    if (alone) path.put("h.1");
    pen_is_down = true;
  }
  return std::string(path.view());
}

void put_line(Writer& out, const char* style, const std::string& path, const std::string& title = "") {
  if (path.empty()) return;
  out.put("<path class=");
  out.put(style);
  out.put(" d=\"" + path + (title.empty() ? "\"/>" : "\"><title>" + title + "</title></path>"));
}

std::string attempt_title(const CallAttempt& attempt, const AttemptTable& table) {
  std::string title = table.names()[attempt.task];
  if (attempt.shard >= 0) title += ", shard " + std::to_string(attempt.shard);
  return escaped(page_text(title + ", attempt " + std::to_string(attempt.attempt), 120));
}

double largest(const std::vector<float>& values) {
  float most = 0;
  for (const float value : values)
    if (value > most) most = value;
  return most;
}

std::string series_svg(const WorkflowSeries& series, const AttemptTable& table, size_t resource) {
  const std::vector<float>&used = series.used()[resource], &asked = series.asked()[resource];
  const double top = std::max(largest(used), largest(asked));
  const PlotScale scale{0, std::max<double>(1, static_cast<double>(series.steps() - 1)), top > 0 ? 1.06 * top : 1};
  const double step_s = static_cast<double>(series.step_us()) * 1e-6;
  const TimeUnit unit = unit_for(scale.x_to * step_s);
  Writer out;
  put_svg_start(out, std::string(kSeriesTitles[resource]) + " of the workflow over its time");
  put_y_axis(out, scale);
  // The figures are of a scale of their own: whole minutes, not whole steps.
  const PlotScale times{0, scale.x_to * step_s / unit.seconds, 1};
  put_x_axis(out, times, unit.name, human_number);
  put_line(out, "askedline", line_path(scale, asked));
  if (series.lines().size() > 1)
    for (const WorkflowSeries::Line& line : series.lines())
      put_line(out, "single", line_path(scale, line.used[resource]),
               attempt_title(table.attempts()[line.attempt], table));
  put_line(out, "sum", line_path(scale, used));
  out.put("</svg>\n");
  return std::string(out.view());
}

}  // namespace

std::string series_section(const WorkflowSeries& series, const AttemptTable& table) {
  Writer out;
  out.put("<section class=task><h2>Over time</h2>\n<p class=where>from " + series.start() + ", a point every " +
          human_duration(series.step_us() * 1'000) + "</p>\n<div class=charts>\n");
  for (size_t resource = 0; resource < kSeriesTitles.size(); ++resource) {
    out.put("<div class=chart><h3>" + std::string(kSeriesTitles[resource]) + "</h3> <span class=where>" +
            kSeriesMeanings[resource] + "</span>" + series_svg(series, table, resource));
    out.put("<div class=\"legend below\"><span><i class=used></i>all attempts together</span>");
    if (series.lines().size() > 1) out.put("<span><i class=single></i>one attempt</span>");
    out.put("<span><i class=asked></i>asked for</span></div></div>\n");
  }
  out.put("</div></section>\n");
  return std::string(out.view());
}

}  // namespace tacho
